"""Algorithms of structure learning behind one interface: a problem and a budget in, a found network out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from dvae.bayesnet.families import FamilyScores
from dvae.bayesnet.knowledge import Constraints
from dvae.bayesnet.local_search import REVERSE, SMALLEST_GAIN, Climb, Gains
from dvae.bayesnet.structure import best_network_of_tables
from dvae.errors import TaskError
from dvae.progress import Progress
from dvae.registry import Registry

MAX_EXACT = 20  # variables; time and memory double with each


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

    def step(self, **values: object) -> None:
        """Shows that a round is over."""
        if self.progress is not None:
            self.progress.update(1, score=self.best_score, **values)


class Algorithm(Protocol):
    """Improves the best network of a search until it is at its end, or the search is stopped."""

    def run(self, search: Search) -> None:
        """Searches."""
        ...


@dataclass(frozen=True)
class HillClimbing:
    """The best single change of an edge until none helps; each restart climbs again from the best, shaken.

    Shaken by as many random changes as there are variables.
    """

    restarts: int = 0

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise TaskError(f"restarts is {self.restarts}; it must be 0 or more")

    def run(self, search: Search) -> None:
        """Climbs, and climbs again."""
        climbed(search, search.constraints.start)
        for _ in range(self.restarts):
            if search.stopped():
                return
            climb = Climb(search.gains, search.best)
            climb.shake(climb.size, search.generator)
            climb.climb(search.stopped)
            search.offer(climb.parents)
            search.step()


@dataclass(frozen=True)
class Tabu:
    """Hill climbing that goes on downhill, to networks not seen lately, until `patience` steps bring nothing."""

    memory: int = 100
    patience: int = 100

    def run(self, search: Search) -> None:
        """Climbs and goes on."""
        climb = climbed(search, search.constraints.start)
        size = climb.size
        marks = np.random.default_rng(0).integers(1 << 62, size=(size, size), dtype=np.int64)  # Zobrist's
        state, recent, idle = np.int64(0), [np.int64(0)], 0
        while idle < self.patience and not search.stopped():
            gains = climb.move_gains()
            after = state ^ np.broadcast_to(marks, gains.shape)
            after = np.concatenate([after[:REVERSE], after[REVERSE:] ^ marks.T])
            gains[np.isin(after, recent)] = -np.inf
            best = int(gains.argmax())
            if gains.flat[best] == -np.inf:
                return
            climb.move(best)
            state = after.flat[best]
            recent = [*recent, state][-self.memory :]
            idle = 0 if search.offer(climb.parents) else idle + 1
            search.step()


@dataclass(frozen=True)
class Exact:
    """The best network of all, by dynamic programming over sets (Silander and Myllymäki, UAI 2006)."""

    def run(self, search: Search) -> None:
        """Finds the best network."""
        size = len(search.scores.names)
        if size > MAX_EXACT:
            raise TaskError(
                f"the exact algorithm is for at most {MAX_EXACT} variables, not {size}: it would need "
                f"{exact_memory(size) / 2**30:,.0f} GiB; choose another algorithm"
            )
        search.offer(best_network_of_tables(allowed_tables(search)))
        search.step()


def exact_memory(size: int) -> int:
    """The bytes that the exact algorithm needs for so many variables, at its peak, about."""
    return int(2**size) * (8 * size + 40)


def allowed_tables(search: Search) -> list[Any]:
    """For each variable, its score with every set of parents, -inf for those that the constraints exclude."""
    constraints, tables = search.constraints, search.scores.tables(search.constraints.max_parents)
    sets = np.arange(len(tables[0]))
    for variable, table in enumerate(tables):
        low = (1 << variable) - 1
        parents = sets & low | (sets & ~low) << 1
        allowed, required = constraints.allowed_masks[variable], constraints.required_masks[variable]
        table[((parents & ~allowed) != 0) | ((required & ~parents) != 0)] = -np.inf
    return tables


def climbed(search: Search, parents: Sequence[int]) -> Climb:
    """The top above a network, which is offered."""
    climb = Climb(search.gains, parents)
    climb.climb(search.stopped)
    search.offer(climb.parents)
    search.step()
    return climb


def _adapted(name: str, thing: Any) -> Callable[..., Algorithm]:
    if not callable(thing) or not hasattr(thing, "run"):
        raise TaskError(f"the algorithm {name!r} is no class with a method run(search)")
    return thing  # type: ignore[no-any-return]


ALGORITHMS: Registry[Callable[..., Algorithm]] = Registry("algorithm", "dvae.bn_algorithms", _adapted)
"""Algorithms by name: classes whose objects have `run(search)`."""
ALGORITHMS.register("hill-climbing", HillClimbing)
ALGORITHMS.register("tabu", Tabu)
ALGORITHMS.register("exact", Exact)
