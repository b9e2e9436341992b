"""Local search over networks: adding, deleting and reversing single edges, with every gain kept until it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dvae.bayesnet.counting import Floats, bits
from dvae.bayesnet.families import FamilyScores
from dvae.bayesnet.knowledge import Constraints, adjacency_of
from dvae.bayesnet.scores import Booleans

DECIMALS = 7  # of gains; what differs beyond them is equal, and rounding must not choose
SMALLEST_GAIN = 10.0**-DECIMALS
ADD, DELETE, REVERSE = range(3)


class Gains:
    """What changes of one variable's parents gain, -inf for those that the constraints exclude; all are kept."""

    def __init__(self, scores: FamilyScores, constraints: Constraints) -> None:
        self.scores, self.constraints = scores, constraints
        self.size = len(scores.names)
        self.evaluations = 0  # families scored
        self._columns: dict[tuple[int, int], Floats] = {}

    def column(self, target: int, parents: int) -> Floats:
        """The gain of adding or deleting each edge into `target`."""  # source
        key = (target, parents)
        found = self._columns.get(key)
        if found is None:
            found = self._columns[key] = self._computed(target, parents)
        return found

    def score(self, parents: Sequence[int]) -> float:
        """The score of a network."""
        return sum(self.scores.local(variable, mask) for variable, mask in enumerate(parents))

    def _computed(self, target: int, parents: int) -> Floats:
        constraints = self.constraints
        gains = np.full(self.size, -np.inf)
        now = self.scores.local(target, parents)
        if parents.bit_count() < constraints.max_parents:
            more = constraints.allowed[:, target].copy()
            more[list(bits(parents))] = False
            if count := int(np.count_nonzero(more)):
                gains[more] = self.scores.additions(target, parents)[more]
                self.evaluations += count
        for source in bits(parents & ~constraints.required_masks[target]):
            gains[source] = self.scores.local(target, parents ^ (1 << source))
            self.evaluations += 1
        return np.where(gains > -np.inf, gains - now, -np.inf)


class Climb:
    """A network on its way: the parents of every variable, and what every single change would gain."""

    def __init__(self, gains: Gains, parents: Sequence[int]) -> None:
        self.kept, self.size = gains, gains.size
        self.parents = list(parents)
        self.edges = adjacency_of(parents)
        self._reach: Booleans | None = None  # kept while edges are only added
        self.gains = np.stack([gains.column(target, mask) for target, mask in enumerate(parents)], axis=1)
        self._rounded = self.gains.round(DECIMALS)

    def score(self) -> float:
        return self.kept.score(self.parents)

    def climb(self, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Takes the best change until none helps, or until stopped; whether it came to the top."""
        while not stopped():
            best, gain = self.best_move()
            if not gain > SMALLEST_GAIN:
                return True
            self.move(best)
        return False

    def shake(self, count: int, generator: np.random.Generator) -> None:
        """Makes random changes that are allowed."""
        for _ in range(count):
            moves = np.flatnonzero(self.move_gains() > -np.inf)
            if len(moves):
                self.move(int(generator.choice(moves)))

    def best_move(self) -> tuple[int, float]:
        """The change that gains most, of equal ones the first in `move_gains`, and its gain; without the others."""
        reaches = self._reaches()
        adding = np.where(self.edges | reaches.T, -np.inf, self._rounded)
        best = int(adding.argmax())
        gain = float(adding.flat[best])
        sources, targets = np.nonzero(self.edges)
        if len(sources):
            deleting = self._rounded[sources, targets]
            turning = (self.gains[sources, targets] + self.gains[targets, sources]).round(DECIMALS)
            turning[(self.edges[sources] & reaches.T[targets]).any(1)] = -np.inf  # there is another way
            for kind, gains in ((DELETE, deleting), (REVERSE, turning)):
                place = int(gains.argmax())
                if gains[place] > gain:
                    gain = float(gains[place])
                    best = int((kind * self.size + sources[place]) * self.size + targets[place])
        return best, gain

    def move_gains(self) -> Floats:
        """The gain of every change that leaves no cycle, rounded; -inf for the others."""  # move source target
        reaches = self._reaches()
        gains = np.full((3, self.size, self.size), -np.inf)
        np.copyto(gains[ADD], self.gains, where=~self.edges & ~reaches.T)
        np.copyto(gains[DELETE], self.gains, where=self.edges)
        turned = self.edges & ~(self.edges.astype(np.float32) @ reaches.astype(np.float32) > 0)
        sources, targets = np.nonzero(turned)
        one, other = self.gains[sources, targets], self.gains[targets, sources]
        legal = (one > -np.inf) & (other > -np.inf)
        gains[REVERSE, sources[legal], targets[legal]] = one[legal] + other[legal]
        return gains.round(DECIMALS)

    def move(self, move: int) -> None:
        """Makes one change."""
        kind, source, target = self.parts(move)
        self._toggle(source, target)
        if kind == REVERSE:
            self._toggle(target, source)

    def parts(self, move: int) -> tuple[int, int, int]:
        """Which change, and from where to where."""
        kind, rest = divmod(move, self.size**2)
        return kind, *divmod(rest, self.size)

    def _toggle(self, source: int, target: int) -> None:
        self.parents[target] ^= 1 << source
        self.edges[source, target] ^= True
        if not self.edges[source, target]:
            self._reach = None
        elif self._reach is not None:
            above, below = self._reach[:, source].copy(), self._reach[target].copy()
            above[source] = below[target] = True
            self._reach |= above[:, None] & below
        self.gains[:, target] = self.kept.column(target, self.parents[target])
        self._rounded[:, target] = self.gains[:, target].round(DECIMALS)

    def _reaches(self) -> Booleans:
        """From which variables which others can be reached, along one edge or more."""  # source target
        if self._reach is None:
            reaches = self.edges.astype(np.float32)
            while True:
                further = np.minimum(reaches + reaches @ reaches, 1.0)
                if (further == reaches).all():
                    break
                reaches = further
            self._reach = reaches > 0
        return self._reach
