"""A search for a network under way: what all algorithms of structure learning share."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dvae.bayesnet.families import FamilyScores
from dvae.bayesnet.knowledge import Constraints
from dvae.bayesnet.local_search import SMALLEST_GAIN, Climb, Gains
from dvae.progress import Progress


@dataclass(frozen=True)
class TracePoint:
    """The best score after some seconds and so many family scores."""

    seconds: float
    evaluations: int
    score: float


@dataclass
class Search:
    """One search under way: what is scored, what is allowed, when to stop, and the best network so far."""

    scores: FamilyScores
    constraints: Constraints
    seed: int = 0
    seconds: float | None = None
    progress: Progress | None = None
    best: tuple[int, ...] = ()
    best_score: float = -math.inf
    trace: list[TracePoint] = field(default_factory=list)
    proposals: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started = time.monotonic()
        self.gains = Gains(self.scores, self.constraints)
        self.generator = np.random.default_rng(self.seed)
        self.offer(self.constraints.start)

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started

    def stopped(self) -> bool:
        """Whether the time is up."""
        return self.seconds is not None and self.elapsed >= self.seconds

    def offer(self, parents: Sequence[int]) -> bool:
        """Takes a network for the best one if it is; whether it is."""
        score = self.gains.score(parents)
        better = score > self.best_score + SMALLEST_GAIN or not self.best
        if better:
            self.best, self.best_score = tuple(parents), score
            self.trace.append(TracePoint(self.elapsed, self.gains.evaluations, score))
        return better

    def count(self, kind: str, better: bool) -> None:
        """Keeps book of proposals: how many of a kind there were, and how many led to a better network."""
        tried, helped = self.proposals.get(kind, (0, 0))
        self.proposals[kind] = tried + 1, helped + better

    def step(self, **values: object) -> None:
        """Shows that a round is over."""
        if self.progress is not None:
            self.progress.update(1, score=self.best_score, **values)


class Algorithm(Protocol):
    """Improves the best network of a search until it is at its end, or the search is stopped."""

    def run(self, search: Search) -> None:
        """Searches."""
        ...


def climbed(search: Search, parents: Sequence[int]) -> Climb:
    """The top above a network, which is offered."""
    climb = Climb(search.gains, parents)
    climb.climb(search.stopped)
    search.offer(climb.parents)
    search.step()
    return climb
