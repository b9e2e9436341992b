"""Greedy structure learning: the best single change of an edge, until none is left that helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dvae.bayesnet.counting import Floats, bits
from dvae.bayesnet.scores import Booleans, NetworkScores, ScoreName
from dvae.bayesnet.structure import FoundNetwork, check_limit
from dvae.errors import TaskError

DECIMALS = 7  # of gains; what differs beyond them is equal, and rounding must not choose
SMALLEST_GAIN = 10.0**-DECIMALS


@dataclass(frozen=True)
class ClimbedNetwork(FoundNetwork):
    """The best network of all climbs; `evaluations` counts the networks that were compared on the way."""

    evaluations: int


def hill_climb(
    scores: NetworkScores,
    restarts: int = 0,
    seed: int = 0,
    max_parents: int | None = None,
    *,
    name: ScoreName = "bic",
) -> ClimbedNetwork:
    """Adds, deletes or reverses one edge at a time, from the empty network on.

    Each restart climbs again from the best network so far, after as many random changes as there are variables:
    fewer fall back to where they came from, more take longer and find no more (measured on insurance and alarm).
    """
    if restarts < 0:
        raise TaskError(f"restarts is {restarts}; it must be 0 or more")
    check_limit(max_parents)
    size = len(scores.names)
    generator = np.random.default_rng(seed)
    best = _Climb(scores, name, [0] * size, max_parents)
    best.go()
    evaluations = best.evaluations
    for _ in range(restarts):
        climb = _Climb(scores, name, best.parents, max_parents)
        climb.shake(size, generator)
        climb.go()
        evaluations += climb.evaluations
        if climb.score() > best.score() + SMALLEST_GAIN:
            best = climb
    return ClimbedNetwork(scores.dag(best.parents), best.score(), evaluations)


class _Climb:
    """One climb: the parents of every variable, and what every single change would gain."""

    def __init__(self, scores: NetworkScores, name: ScoreName, parents: list[int], max_parents: int | None) -> None:
        self.scores, self.name = scores, name
        self.size = len(parents)
        self.parents = list(parents)
        self.max_parents = self.size if max_parents is None else max_parents
        self.gains = np.full((self.size, self.size), -np.inf)  # of adding or deleting the edge source -> target
        self.evaluations = 1
        for variable in range(self.size):
            self._refresh(variable)

    def score(self) -> float:
        return sum(self.scores.local_of(self.name, variable, mask) for variable, mask in enumerate(self.parents))

    def go(self) -> None:
        """Climbs to the top."""
        while True:
            legal = self._legal()
            self.evaluations += int(legal.sum())
            gains = np.where(legal, self._move_gains(), -np.inf).round(DECIMALS)  # of equal changes, the first
            best = int(gains.argmax())
            if not gains.flat[best] > SMALLEST_GAIN:
                return
            self._move(best)

    def shake(self, count: int, generator: np.random.Generator) -> None:
        """Makes random legal changes."""
        for _ in range(count):
            moves = np.flatnonzero(self._legal())
            if len(moves):
                self._move(int(generator.choice(moves)))

    def _legal(self) -> Booleans:
        """Which edges may be added, deleted and reversed."""  # move source target
        edges = self._adjacency()
        reaches = edges
        for _ in range(self.size.bit_length()):
            reaches = reaches | (reaches.astype(np.float32) @ reaches.astype(np.float32) > 0)
        another_way = edges.astype(np.float32) @ reaches.astype(np.float32) > 0
        room = np.array([mask.bit_count() < self.max_parents for mask in self.parents])
        add = ~edges & ~reaches.T & ~np.eye(self.size, dtype=np.bool_) & room
        reverse = edges & ~another_way & room[:, None]
        return np.stack([add, edges, reverse])

    def _move_gains(self) -> Floats:
        return np.stack([self.gains, self.gains, self.gains + self.gains.T])

    def _move(self, move: int) -> None:
        kind, source, target = (int(part) for part in np.unravel_index(move, (3, self.size, self.size)))
        self.parents[target] ^= 1 << source
        self._refresh(target)
        if kind == 2:
            self.parents[source] ^= 1 << target
            self._refresh(source)

    def _refresh(self, target: int) -> None:
        """The gains of all changes to one variable's parents."""
        mask = self.parents[target]
        now = self.scores.local_of(self.name, target, mask)
        for source in range(self.size):
            present = mask >> source & 1
            if source != target and (present or mask.bit_count() < self.max_parents):
                changed = self.scores.local_of(self.name, target, mask ^ (1 << source))
                self.gains[source, target] = changed - now
            else:
                self.gains[source, target] = -np.inf

    def _adjacency(self) -> Booleans:
        edges = np.zeros((self.size, self.size), dtype=np.bool_)
        for target, mask in enumerate(self.parents):
            edges[list(bits(mask)), target] = True
        return edges
