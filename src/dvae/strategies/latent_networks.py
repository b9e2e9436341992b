"""A latent space that proposes Bayesian networks to a memetic search (`dvae.bayesnet.memetic`).

A small D-VAE is trained on the best networks so far, again and again while the search goes on. Proposals are decoded
from near their latents and from between two of them, in any order of the variables, within the constraints; the
search then climbs from them. Networks are written in the topological order that follows the best one's as far as it
can, so that equal networks are equal sequences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from dvae.bayesnet import Search
from dvae.bayesnet.counting import bits
from dvae.bayesnet.memetic import Elites, class_walk
from dvae.dag import Dag
from dvae.models import VAE, build
from dvae.tasks import BayesNetTask
from dvae.tasks.network_rules import NetworkRules
from dvae.training import fit


@dataclass
class LatentNetworks:
    """Proposes networks; asked between climbs, it answers None until there are networks enough to learn from."""

    model: str = "dvae"
    hidden: int = 64
    latent: int = 16
    epochs: int = 10  # of each training, over the best networks and as many relatives of theirs
    networks: int = 48  # to train on
    count: int = 32  # proposals after each training
    noise: float = 0.5  # deviations of the latents, about those of the best
    learning_rate: float = 3e-3
    fewest: int = 8  # networks to learn from
    seed: int = 0
    fits: int = 0
    _vae: VAE | None = field(default=None, repr=False)
    _waiting: list[list[int]] = field(default_factory=list, repr=False)

    def __call__(self, search: Search, elites: Elites) -> Sequence[int] | None:
        """A network worth climbing from, or None."""
        if len(elites.members) < self.fewest:
            return None
        if not self._waiting:
            self._waiting = self._proposals(search, elites)
        return self._waiting.pop()

    def _proposals(self, search: Search, elites: Elites) -> list[list[int]]:
        names = tuple(f"v{place}" for place in range(len(search.scores.names)))  # no clash with virtual nodes
        if self._vae is None:
            task = BayesNetTask("bn:" + ",".join(names), names)
            task.rules = NetworkRules.of(search.constraints)
            self._vae = build(self.model, task, hidden=self.hidden, latent=self.latent, seed=self.seed)
        vae = self._vae
        best = [list(parents) for _, parents in elites.members[: self.networks]]
        rank = _ranks(best[0])
        relatives = [class_walk(parents, search.constraints, search.generator) for parents in best]
        dags = [_dag(parents, names, rank) for parents in (*best, *relatives)]
        self.fits += 1
        fit(
            vae, dags, epochs=self.epochs, batch_size=16, learning_rate=self.learning_rate,
            seed=self.seed + self.fits, device="cpu", progress=False,
        )  # fmt: skip
        return [
            _parents(dag, names)
            for dag in vae.decode(self._latents(vae, dags[: len(best)]), valid=True, seed=self.fits)
        ]

    def _latents(self, vae: VAE, dags: Sequence[Dag]) -> torch.Tensor:
        """Half of them about single networks, better ones more often, half between two."""
        means = vae.encode(dags).mean
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.fits)
        places = (torch.rand(2, self.count, generator=generator).square() * len(dags)).long()
        share = torch.rand(self.count, 1, generator=generator)
        share[: self.count // 2] = 0
        between = means[places[0]] * (1 - share) + means[places[1]] * share
        return between + self.noise * vae.latent_std * torch.randn(between.shape, generator=generator)


def _ranks(parents: Sequence[int]) -> list[int]:
    """The place of each variable in a topological order."""
    order = _order(parents, list(range(len(parents))))
    return [order.index(place) for place in range(len(parents))]


def _order(parents: Sequence[int], rank: Sequence[int]) -> list[int]:
    """The topological order that takes, of all variables that may come next, that of the smallest rank."""
    placed, order, left = 0, [], sorted(range(len(parents)), key=rank.__getitem__)
    while left:
        node = next(place for place in left if not parents[place] & ~placed)
        left.remove(node)
        order.append(node)
        placed |= 1 << node
    return order


def _dag(parents: Sequence[int], names: Sequence[str], rank: Sequence[int]) -> Dag:
    order = _order(parents, rank)
    place = {node: number for number, node in enumerate(order)}
    edges = ((place[source], place[target]) for target in order for source in bits(parents[target]))
    return Dag(tuple(names[node] for node in order), tuple(edges))


def _parents(dag: Dag, names: Sequence[str]) -> list[int]:
    place = {name: number for number, name in enumerate(names)}
    masks = [0] * len(names)
    for source, target in dag.edges:
        masks[place[str(dag.types[target])]] |= 1 << place[str(dag.types[source])]
    return masks
