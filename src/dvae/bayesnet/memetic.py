"""Memetic structure learning: something proposes networks, hill climbing finishes them, the best are remembered.

A proposal of its own is one of the best networks after a walk within its equivalence class, with some of its edges
lost. The walk reverses covered edges (Chickering, 1995): a score-equivalent score stays the same, and the climb has
other neighbours. Other proposals come from outside (`propose`), such as a latent space fitted to the best networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from dvae.bayesnet.counting import bits
from dvae.bayesnet.knowledge import Constraints
from dvae.bayesnet.local_search import SMALLEST_GAIN
from dvae.bayesnet.search import Search, climbed
from dvae.errors import TaskError

Parents: TypeAlias = tuple[int, ...]

WALK = 4  # reversals tried in a walk, per variable
MAX_LOST = 1.0  # share of edges that a proposal loses: any up to this (0.5 gets stuck on insurance and child)
NEARBY = 0.3  # how often edges are lost around one variable only
FROM_BEST = 0.8  # how often a proposal starts from the best network


@dataclass
class Elites:
    """The best networks so far, best first; of networks with equal scores one is kept."""

    size: int
    members: list[tuple[float, Parents]] = field(default_factory=list)

    def add(self, score: float, parents: Sequence[int]) -> bool:
        """Keeps a network if it is among the best and new."""
        if len(self.members) == self.size and score < self.members[-1][0]:
            return False
        if any(abs(score - known) <= SMALLEST_GAIN for known, _ in self.members):
            return False
        self.members = sorted([*self.members, (score, tuple(parents))], key=lambda member: -member[0])[: self.size]
        return True


Propose: TypeAlias = Callable[[Search, Elites], Sequence[int] | None]
"""A network worth climbing from, given the best so far, or None. It need not keep to the constraints."""


@dataclass(frozen=True)
class Memetic:
    """Proposes and climbs until `patience` rounds in a row bring nothing, or until the search's seconds are over.

    `propose` is asked in a share of the rounds.
    """

    patience: int = 60
    elites: int = 100
    propose: Propose | None = None
    share: float = 0.5

    def __post_init__(self) -> None:
        if self.patience < 1 or self.elites < 1:
            raise TaskError(f"patience is {self.patience} and elites is {self.elites}; both must be 1 or more")

    def run(self, search: Search) -> None:
        """Searches."""
        elites, idle = Elites(self.elites), 0
        climbed(search, search.constraints.start)
        elites.add(search.best_score, search.best)
        while not search.stopped() and (search.seconds is not None or idle < self.patience):
            kind, parents = self._proposal(search, elites)
            score = search.best_score
            climb = climbed(search, parents)
            found = climb.score()
            elites.add(found, climb.parents)
            better = search.best_score > score
            idle = 0 if better else idle + 1
            search.count(kind, better)

    def _proposal(self, search: Search, elites: Elites) -> tuple[str, Sequence[int]]:
        if self.propose is not None and search.generator.random() < self.share:
            proposed = self.propose(search, elites)
            if proposed is not None:
                return "proposed", search.constraints.repaired(proposed)
        generator, members = search.generator, elites.members
        chosen = 0 if generator.random() < FROM_BEST else int(generator.integers(len(members)))
        walked = class_walk(members[chosen][1], search.constraints, generator)
        return "perturbed", thinned(walked, search.constraints, generator)


def class_walk(parents: Sequence[int], constraints: Constraints, generator: np.random.Generator) -> list[int]:
    """Another network of the same equivalence class, by random reversals of covered edges."""
    kept = list(parents)
    for first, second in generator.random((WALK * len(kept), 2)).tolist():
        target = int(first * len(kept))
        mask = kept[target]
        if not mask:
            continue
        above = list(bits(mask))
        source = above[int(second * len(above))]
        if mask != kept[source] | 1 << source:  # not covered
            continue
        if not constraints.required_masks[target] >> source & 1 and constraints.allowed_masks[source] >> target & 1:
            kept[target] ^= 1 << source
            kept[source] |= 1 << target
    return kept


def thinned(parents: Sequence[int], constraints: Constraints, generator: np.random.Generator) -> list[int]:
    """A network without some of its edges: anywhere, or between the neighbours of one variable."""
    near = (1 << len(parents)) - 1
    if generator.random() < NEARBY:
        centre = int(generator.integers(len(parents)))
        children = sum(1 << target for target, mask in enumerate(parents) if mask >> centre & 1)
        near = 1 << centre | parents[centre] | children
    share = generator.random() * MAX_LOST
    kept = list(parents)
    for target in bits(near):
        for source in bits(kept[target] & near & ~constraints.required_masks[target]):
            if generator.random() < share:
                kept[target] ^= 1 << source
    return kept
