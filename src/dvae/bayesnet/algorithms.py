"""Algorithms of structure learning behind one interface: a problem and a budget in, a found network out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dvae.bayesnet.local_search import REVERSE, Climb
from dvae.bayesnet.memetic import Memetic
from dvae.bayesnet.search import Algorithm, Search, climbed
from dvae.bayesnet.structure import best_network_of_tables
from dvae.errors import TaskError
from dvae.registry import Registry

MAX_EXACT = 20  # variables; time and memory double with each


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
        check_exact(len(search.scores.names))
        search.offer(best_network_of_tables(allowed_tables(search)))
        search.step()


def check_exact(size: int) -> None:
    """Refuses too many variables for the exact algorithm."""
    if size > MAX_EXACT:
        raise TaskError(
            f"the exact algorithm is for at most {MAX_EXACT} variables, not {size}: it would need "
            f"{exact_memory(size) / 2**30:,.1f} GiB and hours; choose another algorithm"
        )


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


def _adapted(name: str, thing: Any) -> Callable[..., Algorithm]:
    if not callable(thing) or not hasattr(thing, "run"):
        raise TaskError(f"the algorithm {name!r} is no class with a method run(search)")
    return thing  # type: ignore[no-any-return]


ALGORITHMS: Registry[Callable[..., Algorithm]] = Registry("algorithm", "dvae.bn_algorithms", _adapted)
"""Algorithms by name: classes whose objects have `run(search)`."""
ALGORITHMS.register("hill-climbing", HillClimbing)
ALGORITHMS.register("tabu", Tabu)
ALGORITHMS.register("exact", Exact)
ALGORITHMS.register("memetic", Memetic)
