"""How sure the edges of a network are: how many networks, learned from resampled tables, have them.

As R's bnlearn counts: an edge without direction in a network's equivalence class is half an edge each way; an edge is
kept where its strength is above a threshold, estimated from all strengths (Scutari and Nagarajan, 2013).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from dvae.bayesnet.equivalence import Cpdag
from dvae.dag.lines import FilePath
from dvae.errors import FormatError, TaskError
from dvae.files import read_json, write_json

FORMAT = "dvae-confidence/1"
Pair = tuple[str, str]


@dataclass(frozen=True)
class EdgeConfidence:
    """The share of networks that join two variables, and the share of those in which the first is the parent."""

    first: str
    second: str
    strength: float
    forward: float


@dataclass(frozen=True)
class Confidence:
    """What many networks say of every pair of variables; pairs that none of them joins are left out."""

    variables: tuple[str, ...]
    networks: int
    edges: tuple[EdgeConfidence, ...]

    @classmethod
    def of_classes(cls, variables: Sequence[str], classes: Iterable[Cpdag]) -> Confidence:
        """What these equivalence classes agree on."""
        halves: Counter[Pair] = Counter()
        count = 0
        for found in classes:
            count += 1
            for source, target in found.directed:
                halves[source, target] += 2
            for first, second in found.undirected:
                halves[first, second] += 1
                halves[second, first] += 1
        if not count:
            raise TaskError("confidence needs at least one network")
        edges = []
        for first, second in combinations(variables, 2):
            there, back = halves[first, second], halves[second, first]
            if there + back:
                edges.append(EdgeConfidence(first, second, (there + back) / (2 * count), there / (there + back)))
        return cls(tuple(variables), count, tuple(edges))

    @cached_property
    def _by_pair(self) -> dict[Pair, EdgeConfidence]:
        return {(edge.first, edge.second): edge for edge in self.edges}

    def of(self, first: str, second: str) -> float:
        """The share of networks that join two variables, either way."""
        found = self._by_pair.get((first, second)) or self._by_pair.get((second, first))
        return 0.0 if found is None else found.strength

    def direction(self, source: str, target: str) -> float:
        """Of the networks that join two variables, the share in which `source` is the parent."""
        found = self._by_pair.get((source, target))
        if found is not None:
            return found.forward
        found = self._by_pair.get((target, source))
        return 0.5 if found is None else 1 - found.forward

    @cached_property
    def threshold(self) -> float:
        """The strength above which edges are kept: the step function nearest to the distribution of all strengths."""
        pairs = len(self.variables) * (len(self.variables) - 1) // 2
        strengths = np.zeros(max(pairs, 1))
        strengths[: len(self.edges)] = [edge.strength for edge in self.edges]
        steps = np.unique(np.concatenate([[0.0], strengths]))
        shares = np.searchsorted(np.sort(strengths), steps, side="right") / len(strengths)
        lengths = np.diff(np.append(steps, 1.0))
        # The constant nearest to a step function, in absolute terms, is its median over the line.
        order = np.argsort(shares)
        half = np.searchsorted(np.cumsum(lengths[order]), lengths.sum() / 2)
        level = shares[order][min(half, len(order) - 1)]
        return float(steps[np.argmax(shares >= level)])

    def averaged(
        self, threshold: float | None = None, allowed: Callable[[str, str], bool] = lambda source, target: True
    ) -> tuple[Pair, ...]:
        """The edges of the averaged network, which has no cycle: those above the threshold, the strongest first.

        An edge takes its likelier direction where that is more than chance, two standard errors from a half. The others
        are turned so that they add no v-structures, which would claim a direction after all. `allowed` says which
        directions there may be, such as none from a number to a state.
        """
        limit = self.threshold if threshold is None else threshold
        strong = sorted((edge for edge in self.edges if edge.strength > limit), key=lambda edge: -edge.strength)
        margin = 1 / math.sqrt(self.networks)
        growing = _Growing(self.variables, [(edge.first, edge.second) for edge in strong], allowed)
        undecided = []
        for edge in strong:
            if abs(edge.forward - 0.5) <= margin:
                undecided.append(edge)
            else:
                ways = [(edge.first, edge.second), (edge.second, edge.first)]
                growing.add(ways if edge.forward > 0.5 else ways[::-1])
        while undecided:
            costs = [
                (growing.cost(edge.first, edge.second), growing.cost(edge.second, edge.first)) for edge in undecided
            ]
            gaps = [0.0 if there == back else abs(there - back) for there, back in costs]
            place = gaps.index(max(gaps))
            edge, (there, back) = undecided.pop(place), costs[place]
            ways = [(edge.first, edge.second), (edge.second, edge.first)]
            growing.add(ways if (there, -edge.forward) <= (back, edge.forward - 1) else ways[::-1])
        rank = {name: number for number, name in enumerate(self.variables)}
        return tuple(sorted(growing.edges, key=lambda pair: (rank[pair[1]], rank[pair[0]])))


class _Growing:
    """A network to which edges are added: what lies below each variable, and whom it will be joined to."""

    def __init__(self, names: Sequence[str], pairs: Iterable[Pair], allowed: Callable[[str, str], bool]) -> None:
        self.edges: list[Pair] = []
        self._allowed = allowed
        self._below = {name: {name} for name in names}  # each with all its descendants
        self._parents: dict[str, set[str]] = {name: set() for name in names}
        self._near: dict[str, set[str]] = {name: set() for name in names}
        for first, second in pairs:
            self._near[first].add(second)
            self._near[second].add(first)

    def add(self, ways: Iterable[Pair]) -> None:
        """Adds an edge in the first direction that is possible, if one is."""
        for source, target in ways:
            if math.isfinite(self.cost(source, target)):
                self.edges.append((source, target))
                self._parents[target].add(source)
                for below in self._below.values():
                    if source in below:
                        below |= self._below[target]
                return

    def cost(self, source: str, target: str) -> float:
        """How many v-structures an edge would add; infinite where it would close a cycle or is not allowed."""
        if not self._allowed(source, target) or source in self._below[target]:
            return math.inf
        return float(len(self._parents[target] - self._near[source]))


def write_confidence(path: FilePath, confidence: Confidence) -> None:
    """Writes what is known of all edges to a JSON file."""
    edges = [[edge.first, edge.second, edge.strength, edge.forward] for edge in confidence.edges]
    plain = {"format": FORMAT, "variables": list(confidence.variables), "networks": confidence.networks}
    write_json(path, {**plain, "threshold": confidence.threshold, "edges": edges})


def read_confidence(path: FilePath) -> Confidence:
    """What `write_confidence` wrote."""
    plain: Any = read_json(path)
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise FormatError(f'{path}: this holds no confidence of edges; it lacks "format": "{FORMAT}"')
    try:
        variables = tuple(map(str, plain["variables"]))
        edges = tuple(
            EdgeConfidence(str(first), str(second), float(strength), float(forward))
            for first, second, strength, forward in plain["edges"]
        )
        count = int(plain["networks"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise FormatError(f"{path}: the confidence of edges in it is not as it was written") from None
    known = set(variables)
    if any(edge.first not in known or edge.second not in known for edge in edges):
        raise FormatError(f"{path}: an edge in it joins variables that it does not list")
    return Confidence(variables, count, edges)
