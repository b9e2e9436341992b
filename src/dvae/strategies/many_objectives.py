"""Any strategy for several objectives: each round climbs another scalarisation of them (ParEGO, Knowles, 2006)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from dvae.dag import Dag, ScoredDag
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.objectives import Objectives
from dvae.strategies.registry import StrategyEntry

KEPT_BEST, KEPT_OTHERS = 300, 200  # evaluations that a round's strategy is told, of many


class ManyObjectives:
    """Makes a strategy anew for each round, told all that is known by that round's weights."""

    def __init__(
        self, vae: VAE, archive: Archive, *, seed: int, entry: StrategyEntry, objectives: Objectives
    ) -> None:  # fmt: skip
        self.vae, self.archive, self.seed, self.entry, self.objectives = vae, archive, seed, entry, objectives
        self.told: list[ScoredDag] = []
        self.round = 0

    def ask(self, count: int) -> list[Dag]:
        """Candidates of a strategy that climbs this round's scalarisation."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.round)
        draws = -torch.rand(len(self.objectives.names), generator=generator).clamp(min=1e-9).log()
        weights = (draws / draws.sum()).tolist()  # uniform among weights that add up to 1
        self.round += 1
        inner = self.entry.make(self.vae, Archive(self.archive.task), seed=self.seed * 1_000_003 + self.round)
        inner.tell(self._known(weights, generator))
        return self.archive.take(inner.ask(2 * count), count)

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        """Remembers evaluations, whose DAGs have the values as properties."""
        self.told += self.archive.add(evaluations)

    def state(self) -> dict[str, Any]:
        """How many rounds were asked for."""
        return {"round": self.round}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on after so many rounds."""
        self.round = int(state["round"])

    def _known(self, weights: list[float], generator: torch.Generator) -> list[ScoredDag]:
        scored = [self.objectives.scored(item.dag, weights) for item in self.told]
        found = sorted((item for item in scored if item is not None), key=lambda item: item.score or 0.0)
        others = found[:-KEPT_BEST]
        chosen = torch.randperm(len(others), generator=generator)[:KEPT_OTHERS].tolist()
        # The worst first: a strategy that looks at the youngest then starts from the best.
        return [*(others[place] for place in sorted(chosen)), *found[-KEPT_BEST:]]


def for_objectives(entry: StrategyEntry, objectives: Objectives) -> StrategyEntry:
    """The strategy of `entry`, for several objectives or under constraints."""
    return replace(entry, maker=partial(ManyObjectives, entry=entry, objectives=objectives))
