"""Scores that are known before a search: which of them it is told."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from dvae.dag import DagSet, ScoredDag
from dvae.tasks import Task

MAX_KNOWN = 5_000  # told without being asked to: strategies encode them all, and learn from them in every round


class KnownScores(NamedTuple):
    """What a search is told, worst first, and the best of all that is known."""

    told: list[ScoredDag]
    best: ScoredDag | None
    total: int

    @property
    def words(self) -> str:
        """How many scores are known, in one sentence."""
        if len(self.told) == self.total:
            return f"{self.total:,} known scores"
        return f"{len(self.told):,} of {self.total:,} known scores"


def known_scores(
    items: Sequence[ScoredDag], count: int | None = None, *, seed: int = 0, higher_is_better: bool = True
) -> KnownScores:
    """A random `count` of the scored ones; None: all, or of very many the best half of `MAX_KNOWN` and a random rest.

    The worst come first: a strategy that looks at the youngest then starts from the best.
    """
    sign = 1 if higher_is_better else -1
    scored = sorted((item for item in items if item.score is not None), key=lambda item: sign * (item.score or 0.0))
    best = scored[-1] if scored else None
    chance = random.Random(seed)
    if count is not None:
        places = chance.sample(range(len(scored)), min(count, len(scored)))
    elif len(scored) > MAX_KNOWN:
        rest = len(scored) - MAX_KNOWN // 2
        places = [*chance.sample(range(rest), MAX_KNOWN - MAX_KNOWN // 2), *range(rest, len(scored))]
    else:
        places = list(range(len(scored)))
    return KnownScores([scored[place] for place in sorted(places)], best, len(scored))


def scored_by(task: Task, data: DagSet) -> list[ScoredDag]:
    """The DAGs of a data set with the task's own scores, whatever scores the data have."""
    return [ScoredDag(dag, score) for dag, score in zip(data.dags, task.scores(data.dags), strict=True)]
