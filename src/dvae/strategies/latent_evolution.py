"""Evolution with three kinds of children: single edits, grafts of other DAGs' parts, and what moved latents decode to.

A model trained on many DAGs knows which parts go together, which edits of one DAG do not; edits reach what a model
decodes badly. Both are parents' neighbours, and selection does not ask where a child comes from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch

from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import ATTEMPTS, Drawing, decoded_dags, draw_below, draw_seed
from dvae.strategies.edits import changed
from dvae.strategies.grafts import grafted, parts_of

SAME = 1e-9  # scores that differ by less, relatively, are one


@dataclass(frozen=True)
class LatentEvolutionConfig:
    """Shares of the children, and how far latents move, in standard deviations of the training latents."""

    population: int = 50  # the best DAGs, among which tournaments are held
    tournament: int = 5
    latents: float = 0.4  # share of the children that latents decode to
    grafts: float = 0.4  # share that has a part of another DAG; the rest are single edits
    part_nodes: int = 4  # of the parts that are grafted, at most
    shortest: float = 0.1
    longest: float = 1.0

    def __post_init__(self) -> None:
        check(self.population >= 2 and self.tournament >= 1, "a population has two DAGs or more, a tournament one")
        check(min(self.latents, self.grafts) >= 0 and self.latents + self.grafts <= 1, "shares add up to 1 at most")
        check(0 < self.shortest <= self.longest, "lengths must be in order and positive")


class LatentEvolution(Drawing):
    """Evolution in both spaces, that of DAGs and that of latents."""

    description = "evolution: single edits, parts of other DAGs, and what moved latents decode to"
    needs_start = True

    def __init__(
        self, vae: VAE, archive: Archive, *, seed: int = 0, config: LatentEvolutionConfig | None = None
    ) -> None:
        super().__init__(archive, seed)
        self.vae, self.config = vae, config or LatentEvolutionConfig()
        self.parts: dict[Dag, None] = {}  # distinct parts of all DAGs told, in the order they came

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        for item in self.archive.add(evaluations):
            self.parts.update(dict.fromkeys(parts_of(item.dag, self.config.part_nodes)))

    def ask(self, count: int) -> list[Dag]:
        """Children of the winners of small tournaments, of each kind as many as its share."""
        if len(self.archive) < 2:
            raise DvaeError("latent-evolution needs at least two scored DAGs to start from: tell it some first")
        best = self._population()
        parts = list(self.parts)
        found: list[Dag] = []
        for _ in range(ATTEMPTS):
            if len(found) == count:
                break
            missing = count - len(found)
            decoded = int((torch.rand(missing, generator=self.generator) < self.config.latents).sum())
            found += self._take(self._decoded(best, decoded), decoded) if decoded else []
            found += self._take([self._changed(best, parts) for _ in range(missing - decoded)], missing - decoded)
        return found

    def _take(self, dags: list[Dag], count: int) -> list[Dag]:
        return self.archive.take([dag for dag in dags if self.archive.task.is_valid(dag)], count)

    def _parent(self, best: list[int]) -> Dag:
        """The winner of a tournament; `best` are places in the archive, the best first."""
        return self.archive.dags[best[min(self._below(len(best)) for _ in range(self.config.tournament))]]

    def _population(self) -> list[int]:
        """Places of the best DAGs, the best first; of equal scores the smallest: most likely they mean one thing."""
        dags, scores = self.archive.dags, self.archive.scores
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], len(dags[place]), place))
        chosen: list[int] = []
        for place in order:
            if not chosen or scores[chosen[-1]] - scores[place] > SAME * max(1.0, abs(scores[place])):
                chosen.append(place)
            if len(chosen) == self.config.population:
                break
        return chosen

    def _changed(self, best: list[int], parts: list[Dag]) -> Dag:
        parent, task = self._parent(best), self.archive.task
        share = self.config.grafts / max(1 - self.config.latents, 1e-9)
        if float(torch.rand(1, generator=self.generator)) < share:
            return grafted(task, parent, parts[self._below(len(parts))], self.generator)
        child = changed(task, parent, self.generator)
        return changed(task, child, self.generator) if self._below(3) == 0 else child

    def _decoded(self, best: list[int], count: int) -> list[Dag]:
        """Children of twice as many latents: some are known."""
        parents = [self._parent(best) for _ in range(2 * count)]
        latents = self.vae.encode(parents).mean
        low, high = self.config.shortest, self.config.longest
        length = low * (high / low) ** torch.rand(len(parents), 1, generator=self.generator)
        noise = torch.randn(latents.shape, generator=self.generator)
        moved = latents + (length * noise).to(latents) * self.vae.latent_std
        return decoded_dags(self.vae, moved, seed=draw_seed(self.generator))

    def _below(self, limit: int) -> int:
        return draw_below(limit, self.generator)
