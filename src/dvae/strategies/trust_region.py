"""Bayesian optimisation in a trust region of the latent space, over DAGs that really decode.

Each round: a surrogate of the score (`surrogate`) learns from all that is known. Candidates come from moving good
latents, by chance or by the difference of two others, and decoding them, and from single edits of the best DAGs.
What is known is left out; the rest is encoded, so that a candidate is judged as its own DAG, and the most promising are
moved and changed again, some generations long. Half of a round are the candidates with the best expectation, each
other is the best of one sample of the surrogate (Thompson sampling). The region widens after improvements and narrows
without them (Eriksson et al., TuRBO, NeurIPS 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.regression.features import one_hot_features
from dvae.strategies.archive import Archive
from dvae.strategies.base import Drawing, check_botorch, decoded_dags, draw_seed
from dvae.strategies.edits import changed
from dvae.strategies.surrogate import Process, Seen, Surrogate

NEIGHBOURS = 5


@dataclass(frozen=True)
class TrustRegionConfig:
    """Lengths are in standard deviations of the training latents."""

    centres: int = 8  # the best DAGs, around which candidates are drawn, and as many others
    pool: int = 200  # good DAGs from which the others, and differences, are taken
    candidates: int = 200  # latents moved and decoded in a generation
    generations: int = 3
    edits: int = 50  # single edits of the best DAGs that join a generation; 0: only what latents decode to
    first_length: float = 0.4
    shortest: float = 0.1
    longest: float = 0.8
    patience: int = 3  # rounds without an improvement before the region narrows
    process: Process = "graphs"  # what the Gaussian process sees of a DAG, while scores are few
    points: int = 400  # scored DAGs the process learns from: the best half, the rest at random
    fit_every: int = 5  # rounds between fits of the process's own settings
    greedy: float = 0.5  # share of a round that the process's mean chooses; each other DAG is one sample's best

    def __post_init__(self) -> None:
        check(0 < self.shortest <= self.first_length <= self.longest, "lengths must be in order and positive")
        counts = (self.centres, self.pool - 1, self.candidates, self.generations, self.points - 1, self.fit_every)
        check(all(count >= 1 for count in counts), "counts must be positive")
        check(self.edits >= 0, f"edits must not be negative: {self.edits}")
        check(0 <= self.greedy <= 1, f"greedy is a share, not {self.greedy}")


class TrustRegion(Drawing):
    """The default strategy."""

    description = "Bayesian optimisation near the best DAGs, over what really decodes: the default"
    needs_start = True

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, config: TrustRegionConfig | None = None) -> None:
        check_botorch("the strategy trust-region")
        super().__init__(archive, seed)
        self.vae, self.config = vae, config or TrustRegionConfig()
        self.length = self.config.first_length
        self.stale = 0
        self.rounds = 0
        self.seen = Seen.none()  # of the archive's DAGs
        self.settings: dict[str, Any] | None = None  # of the process, from the last fit

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        before = self.archive.best()
        new = self.archive.add(evaluations)
        if not new:
            return
        self.seen = self.seen.joined(self._encoded([evaluation.dag for evaluation in new]))
        after = self.archive.best()
        if before is None or after is None or before.score is None or after.score is None:
            return
        if after.score > before.score:
            self.stale, self.length = 0, min(1.5 * self.length, self.config.longest)
        else:
            self.stale += 1
            if self.stale >= self.config.patience:
                self.stale, self.length = 0, self.length / 1.5
                if self.length < self.config.shortest:
                    self.length = self.config.longest

    def state(self) -> dict[str, Any]:
        settings = None
        if self.settings is not None:
            settings = {key: (list(value.shape), value.flatten().tolist()) for key, value in self.settings.items()}
        return {
            **super().state(),
            "length": self.length,
            "stale": self.stale,
            "rounds": self.rounds,
            "settings": settings,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.length, self.stale, self.rounds = state["length"], state["stale"], state["rounds"]
        self.settings = None
        if state["settings"] is not None:
            self.settings = {
                key: torch.tensor(values, dtype=torch.float64).reshape(shape)
                for key, (shape, values) in state["settings"].items()
            }

    def ask(self, count: int) -> list[Dag]:
        """The most promising candidates near the best DAGs."""
        if len(self.archive) < 2:
            raise DvaeError("a trust region needs at least two scored DAGs to start from: tell it some first")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw_seed(self.generator))
            surrogate = self._surrogate()
            found = self._candidates(surrogate, count)
            chosen = self._chosen(surrogate, found, min(count, len(found.dags)))
        return self.archive.take([found.dags[place] for place in chosen], count)

    def _surrogate(self) -> Surrogate:
        scores = torch.tensor(self.archive.scores, dtype=torch.float64)
        best = scores.topk(min(self.config.points // 2, len(scores))).indices
        rest = torch.randperm(len(scores), generator=self.generator)[: self.config.points - len(best)]
        surrogate = Surrogate(self.seen, scores, torch.cat([best, rest]).unique(), self.config.process)
        self.settings = surrogate.prepare(self.settings, fit=self.rounds % self.config.fit_every == 0)
        self.rounds += 1
        return surrogate

    def _candidates(self, surrogate: Surrogate, count: int) -> _Candidates:
        """Distinct, valid, unknown DAGs around promising ones; wider where a narrow region holds too few."""
        known = torch.tensor(self.archive.scores, dtype=torch.float64)
        best = known.topk(min(self.config.pool, len(known))).indices
        good, parents = (
            self.seen.latents[best],
            [self.archive.dags[place] for place in best[: self.config.centres].tolist()],
        )
        found = _Candidates([], self.seen.at(slice(0)))
        promising, length = good, self.length
        for generation in range(1, 2 * self.config.generations + 1):
            moved = self._moved(self._centres(promising, good), good, length)
            decoded = decoded_dags(self.vae, moved, greedy=True)
            decoded += decoded_dags(self.vae, moved, seed=draw_seed(self.generator))
            decoded += self._edited(parents)
            fresh = self.archive.unknown([*found.dags, *decoded])[len(found.dags) :]
            if fresh:
                found = _Candidates(found.dags + fresh, found.seen.joined(self._encoded(fresh)))
                order = surrogate.values(found.seen)[0].argsort(descending=True)
                promising = found.seen.latents[order[: self.config.pool]]
                parents = [
                    *parents[: self.config.centres],
                    *(found.dags[place] for place in order[: self.config.centres]),
                ]
            enough = len(found.dags) >= 4 * count
            if enough and generation >= self.config.generations:
                break
            length *= 1.0 if enough else 1.5
        return found

    def _edited(self, parents: list[Dag]) -> list[Dag]:
        """Single edits: what a weak decoder does not reach."""
        chosen = torch.randint(len(parents), (self.config.edits,), generator=self.generator).tolist()
        return [changed(self.archive.task, parents[place], self.generator) for place in chosen]

    def _centres(self, promising: Tensor, good: Tensor) -> Tensor:
        """The best candidates and known DAGs, and some others of both, so that the search does not narrow too soon."""
        half = self.config.centres // 2
        everyone = torch.cat([promising, good])
        others = everyone[torch.randperm(len(everyone), generator=self.generator)[: self.config.centres]]
        return torch.cat([promising[:half], good[:half], others])

    def _moved(self, centres: Tensor, good: Tensor, length: float) -> Tensor:
        """The centres plus steps: half of them random, half the differences of two good DAGs that are close.

        What a change of a DAG does to its latent depends little on the rest of the DAG, where graph states are sums
        over nodes: the difference of two DAGs, added to a third, changes it in the same way.
        """  # candidate latent
        chosen = torch.randint(len(centres), (self.config.candidates,), generator=self.generator)
        deviation = self.vae.latent_std.double().cpu()
        half = self.config.candidates // 2
        steps = torch.cat([self._random_steps(half, length), self._differences(good / deviation, len(chosen) - half)])
        return centres[chosen] + steps * deviation

    def _random_steps(self, count: int, length: float) -> Tensor:
        """Of many sizes, along all or along few dimensions."""
        shape = (count, self.seen.latents.shape[1])
        noise = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        share = torch.rand(count, 1, generator=self.generator, dtype=torch.float64).clamp(min=0.1)
        mask = torch.rand(shape, generator=self.generator, dtype=torch.float64) < share
        size = length * torch.rand(count, 1, generator=self.generator, dtype=torch.float64).clamp(min=0.1)
        return size * noise * mask / share.sqrt()

    def _differences(self, good: Tensor, count: int) -> Tensor:
        distances = torch.cdist(good, good).fill_diagonal_(torch.inf)
        near = distances.topk(min(NEIGHBOURS, len(good) - 1), largest=False).indices
        first = torch.randint(len(good), (count,), generator=self.generator)
        second = near[first, torch.randint(near.shape[1], (count,), generator=self.generator)]
        return good[second] - good[first]

    def _chosen(self, surrogate: Surrogate, found: _Candidates, count: int) -> list[int]:
        """The places of `count` candidates: the best by expectation, then the best of one sample each."""
        if not count:
            return []
        greedy = round(count * self.config.greedy)
        mean, samples = surrogate.values(found.seen, count - greedy)
        chosen: list[int] = mean.topk(greedy).indices.tolist()
        for sample in samples:
            sample[chosen] = -torch.inf
            chosen.append(int(sample.argmax()))
        return chosen

    def _encoded(self, dags: list[Dag]) -> Seen:
        batch = self.vae.task.batch(dags)
        states = self.vae.graph_states(batch)
        with torch.no_grad():
            latents = self.vae.posterior_of(states).mean
        plain = one_hot_features(batch, self.vae.task.num_types)
        return Seen(*(part.double().cpu() for part in (states, latents, plain)))


class _Candidates(NamedTuple):
    dags: list[Dag]
    seen: Seen
