"""Which node of one DAG is which of another: what two DAGs have in common is found before what separates them.

Nodes whose labels are unique in both DAGs go by their labels, as variables do. Others are paired greedily: first those
with the same ancestors and descendants, then those with the same ancestors or the same descendants, then whatever has
most neighbours in common. Pairing node by node in their order is tried too, and the pairing with fewer edits is taken,
where another type counts as two: a node that goes and one that comes. The smallest number of edits of all is NP-hard
to find; this one is an upper bound.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from dvae.dag.value import Dag

Pairs = dict[int, int]  # from nodes of one DAG to nodes of another


def aligned(one: Dag, other: Dag) -> Pairs:
    """The nodes of `one` that are found again in `other`."""
    if len(set(one.types)) == len(one) and len(set(other.types)) == len(other):
        place = {label: node for node, label in enumerate(other.types)}
        return {node: place[label] for node, label in enumerate(one.types) if label in place}
    in_order = {node: node for node in range(min(len(one), len(other)))}
    found = _Greedy(one, other).pairs()
    return min((found, in_order), key=lambda pairs: edits(one, other, pairs) + retyped(one, other, pairs))


def edits(one: Dag, other: Dag, pairs: Pairs) -> int:
    """Nodes that come, go or change their type, and edges that come or go, under a pairing."""
    nodes = len(one) + len(other) - 2 * len(pairs)
    nodes += retyped(one, other, pairs)
    there = set(other.edges)
    kept = sum((pairs.get(source, -1), pairs.get(target, -1)) in there for source, target in one.edges)
    return nodes + len(one.edges) + len(other.edges) - 2 * kept


def retyped(one: Dag, other: Dag, pairs: Pairs) -> int:
    """How many pairs have two types."""
    return sum(one.types[node] != other.types[twin] for node, twin in pairs.items())


class _Greedy:
    """Pairs that grow from what is certainly the same to what has neighbours in common."""

    def __init__(self, one: Dag, other: Dag) -> None:
        self._dags = one, other
        self._links = tuple((dag.predecessors(), dag.successors()) for dag in self._dags)
        self._pairs: Pairs = {}
        self._taken: set[int] = set()

    def pairs(self) -> Pairs:
        ups = [_signatures(dag, links[0], range(len(dag))) for dag, links in zip(self._dags, self._links, strict=True)]
        downs = [
            _signatures(dag, links[1], reversed(range(len(dag))))
            for dag, links in zip(self._dags, self._links, strict=True)
        ]
        self._by_key([list(zip(up, down, strict=True)) for up, down in zip(ups, downs, strict=True)])
        self._by_key(ups)
        self._by_key(downs)
        self._by_neighbours(lambda node, twin: self._dags[0].types[node] == self._dags[1].types[twin])
        self._by_key([dag.types for dag in self._dags])
        self._by_neighbours(lambda node, twin: True)
        return dict(sorted(self._pairs.items()))

    def _pair(self, node: int, twin: int) -> None:
        self._pairs[node] = twin
        self._taken.add(twin)

    def _by_key(self, keys: Sequence[Sequence[Hashable]]) -> None:
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for twin in reversed(range(len(self._dags[1]))):
            if twin not in self._taken:
                waiting[keys[1][twin]].append(twin)
        for node in range(len(self._dags[0])):
            if node not in self._pairs and waiting.get(keys[0][node]):
                self._pair(node, waiting[keys[0][node]].pop())

    def _by_neighbours(self, fits: Callable[[int, int], bool]) -> None:
        """The pair with most neighbours in common first; every pair may bring others nearer together."""
        common: dict[tuple[int, int], int] = defaultdict(int)
        queue: list[tuple[int, int, int]] = []

        def brought_nearer(node: int, twin: int) -> None:
            for pair in self._around(node, twin):
                if fits(*pair):
                    common[pair] += 1
                    heapq.heappush(queue, (-common[pair], *pair))

        for node, twin in self._pairs.items():
            brought_nearer(node, twin)
        while queue:
            _, node, twin = heapq.heappop(queue)
            if node not in self._pairs and twin not in self._taken:
                self._pair(node, twin)
                brought_nearer(node, twin)

    def _around(self, node: int, twin: int) -> Iterator[tuple[int, int]]:
        """Unpaired nodes on the same side of two that are paired."""
        for side in (0, 1):
            for near in self._links[0][side][node]:
                if near not in self._pairs:
                    yield from ((near, far) for far in self._links[1][side][twin] if far not in self._taken)


def _signatures(dag: Dag, links: Sequence[Sequence[int]], order: Iterator[int] | range) -> list[int]:
    """For every node a number that tells its type and, through `links`, all that is behind them."""
    found = [0] * len(dag)
    for node in order:
        found[node] = hash((dag.types[node], tuple(sorted(found[near] for near in links[node]))))
    return found
