"""Layers of a DAG and the order of the nodes within them (Sugiyama, Tagawa and Toda, 1981).

An edge that skips layers gets a *bend* in each layer it passes, so that every link joins neighbouring layers.
Vertices are the nodes 0..n-1 of the DAG followed by the bends.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from dvae.dag.value import Dag
from dvae.figures.ranking import short_layers
from dvae.figures.sifting import sift

Order = list[list[int]]  # the vertices of every layer, left to right
Frozen = tuple[tuple[int, ...], ...]  # the same, to look up

MAX_WIDTH = 12  # nodes that a layer may always hold
WIDTH_SHARE = 3  # a layer may also hold the square root of this many times all nodes
SHARED_BENDS_FROM = 4  # bends per node, above which the edges of one source run in one lane
WORK = 400_000  # vertex and link visits spent on sweeps before the best order so far is taken
SMALL = 400  # vertices up to which neighbours are also swapped one by one
EXACT = 300  # nodes up to which layers are the best of all, not merely good
SIFTED, SIFT_ROUNDS, SIFT_WORK = 6, 10, 150_000  # orders that are sifted, how often, and places tried for them all


@dataclass(frozen=True, slots=True)
class LayeredGraph:
    """A DAG whose every link joins two neighbouring layers."""

    num_nodes: int
    layer: tuple[int, ...]  # of every vertex
    chains: tuple[tuple[int, ...], ...]  # of every edge: its source, its bends, its target
    above: tuple[tuple[int, ...], ...]  # linked vertices one layer up
    below: tuple[tuple[int, ...], ...]  # linked vertices one layer down
    alone: frozenset[int]  # nodes that are the only ones of their layer

    def is_bend(self, vertex: int) -> bool:
        return vertex >= self.num_nodes


def layered_graph(dag: Dag) -> LayeredGraph:
    layers = assign_layers(dag)
    count = sum(layers[target] - layers[source] - 1 for source, target in dag.edges)
    return _with_bends(dag, layers, shared=count > SHARED_BENDS_FROM * len(dag))


def assign_layers(dag: Dag) -> list[int]:
    """Layers between which edges are short.

    In large DAGs they are longest paths, from which nodes sink where that shortens more edges than it stretches.
    Layers too wide for a picture are split into several, and nodes without edges fill the emptiest.
    """
    predecessors, successors = dag.predecessors(), dag.successors()
    if len(dag) <= EXACT:
        layers = short_layers(dag)
    else:
        layers = dag.layers()
        for node in reversed(range(len(dag))):
            if len(successors[node]) > len(predecessors[node]):
                layers[node] = min(layers[s] for s in successors[node]) - 1
    pull = [len(after) - len(before) for before, after in zip(predecessors, successors, strict=True)]
    alone = [node for node in range(len(dag)) if not predecessors[node] and not successors[node]]
    layers = _split_wide(layers, pull, set(alone))
    if alone:
        _spread_over_layers(alone, layers)
    return layers


def _split_wide(layers: list[int], pull: list[int], alone: set[int]) -> list[int]:
    """Layers with too many nodes in several rows: those drawn more up than down in the upper ones."""
    widest = max(MAX_WIDTH, math.ceil(math.sqrt(WIDTH_SHARE * len(layers))))
    rows: list[list[int]] = [[] for _ in range(max(layers) + 1)]
    for node in sorted(set(range(len(layers))) - alone, key=lambda node: (pull[node], node)):
        rows[layers[node]].append(node)
    split = [0] * len(layers)
    first = 0
    for row in rows:
        parts = max(1, math.ceil(len(row) / widest))
        for place, node in enumerate(row):
            split[node] = first + place * parts // len(row)
        first += parts
    return split


def _spread_over_layers(alone: list[int], layers: list[int]) -> None:
    """Nodes without edges fill up the emptiest layers: a block, not one long row."""
    depth = max(max(layers) + 1, round(math.sqrt(len(alone))))
    filled = [0] * depth
    for node in set(range(len(layers))) - set(alone):
        filled[layers[node]] += 1
    for node in alone:
        layers[node] = filled.index(min(filled))
        filled[layers[node]] += 1


def _with_bends(dag: Dag, layers: list[int], *, shared: bool) -> LayeredGraph:
    layer = list(layers)
    bends: dict[tuple[int, int, int], int] = {}
    chains: list[tuple[int, ...]] = []
    for source, target in dag.edges:
        chain = [source]
        for passed in range(layers[source] + 1, layers[target]):
            key = (source, -1 if shared else target, passed)
            if key not in bends:
                bends[key] = len(layer)
                layer.append(passed)
            chain.append(bends[key])
        chains.append((*chain, target))
    above: list[dict[int, None]] = [{} for _ in layer]
    below: list[dict[int, None]] = [{} for _ in layer]
    for links in chains:
        for upper, lower in pairwise(links):
            below[upper][lower] = None
            above[lower][upper] = None
    nodes_of = Counter(layers)
    return LayeredGraph(
        num_nodes=len(dag),
        layer=tuple(layer),
        chains=tuple(chains),
        above=tuple(map(tuple, above)),
        below=tuple(map(tuple, below)),
        alone=frozenset(node for node, own in enumerate(layers) if nodes_of[own] == 1),
    )


def crossings(graph: LayeredGraph, order: Order) -> int:
    """Pairs of links that cross."""
    total = 0
    for upper, lower in pairwise(order):
        place = {vertex: position for position, vertex in enumerate(lower)}
        seen: list[int] = []
        for vertex in upper:
            ends = sorted(place[end] for end in graph.below[vertex])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def best_orders(graph: LayeredGraph, keep: int) -> list[Order]:
    """Up to `keep` orders with the fewest crossings found, by barycentre sweeps from several starts, then sifting."""
    size = len(graph.layer) + sum(map(len, graph.below))
    sweeps_left = max(4, WORK // size)
    found: dict[Frozen, int] = {}
    for start in _starts(graph):
        for order in _sweeps(graph, start, min(12, sweeps_left)):
            found.setdefault(tuple(map(tuple, order)), crossings(graph, order))
            sweeps_left -= 1
        if sweeps_left <= 0:
            break
    if min(found.values()):
        found |= _sifted(graph, found)
    fewest = min(found.values())
    equal = [order for order, count in found.items() if count == fewest]
    # Orders found one after the other are alike: take some of them all over.
    return [[list(row) for row in order] for order in equal[:: math.ceil(len(equal) / keep)]]


def _sifted(graph: LayeredGraph, found: Mapping[Frozen, int]) -> dict[Frozen, int]:
    """The best orders with every vertex moved to its best place, and their crossings."""
    places = sum(len(row) ** 2 for row in next(iter(found)))
    rounds = SIFT_WORK // max(1, places)
    chance, better = random.Random(0), {}
    for frozen in sorted(found, key=found.__getitem__)[:SIFTED]:
        if rounds <= 0:
            break
        order = [list(row) for row in frozen]
        gone = sift(order, graph.above, graph.below, min(SIFT_ROUNDS, rounds), chance)
        better[tuple(map(tuple, order))] = found[frozen] - gone
        rounds -= SIFT_ROUNDS
    return better


def _starts(graph: LayeredGraph, shuffles: int = 10) -> Iterator[Order]:
    yield _depth_first(graph, list(range(len(graph.layer))))
    yield _depth_first(graph, list(range(len(graph.layer)))[::-1])
    draw = random.Random(0)
    for _ in range(shuffles):
        vertices = list(range(len(graph.layer)))
        draw.shuffle(vertices)
        yield _depth_first(graph, vertices)


def _depth_first(graph: LayeredGraph, vertices: list[int]) -> Order:
    """Layers filled in the order of a depth-first walk, which keeps connected things together."""
    order: Order = [[] for _ in range(max(graph.layer) + 1)]
    rank = {vertex: position for position, vertex in enumerate(vertices)}
    seen: set[int] = set()
    for root in vertices:
        if graph.above[root]:
            continue
        stack = [root]
        while stack:
            vertex = stack.pop()
            if vertex in seen:
                continue
            seen.add(vertex)
            order[graph.layer[vertex]].append(vertex)
            stack.extend(sorted(graph.below[vertex], key=rank.__getitem__, reverse=True))
    return order


def _sweeps(graph: LayeredGraph, order: Order, count: int) -> Iterator[Order]:
    for sweep in range(count):
        down = sweep % 2 == 0
        linked = graph.above if down else graph.below
        rows = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        order = [list(row) for row in order]
        for row in rows:
            fixed = {v: place for place, v in enumerate(order[row - 1 if down else row + 1])}
            order[row] = _by_barycentre(order[row], fixed, linked)
        if len(graph.layer) <= SMALL:
            _swap_neighbours(graph, order)
        yield order


def _by_barycentre(row: list[int], fixed: dict[int, int], linked: tuple[tuple[int, ...], ...]) -> list[int]:
    """The row sorted by the mean place of the linked vertices; vertices without links stay where they are."""
    mean = {v: sum(fixed[u] for u in linked[v]) / len(linked[v]) for v in row if linked[v]}
    moving = iter(sorted(mean, key=mean.__getitem__))
    return [next(moving) if vertex in mean else vertex for vertex in row]


def _swap_neighbours(graph: LayeredGraph, order: Order) -> None:
    """Exchange adjacent vertices while that removes crossings."""
    place = {vertex: position for row in order for position, vertex in enumerate(row)}
    better = True
    while better:
        better = False
        for row in order:
            for position in range(len(row) - 1):
                left, right = row[position], row[position + 1]
                gain = sum(
                    _crossed(side[left], side[right], place) - _crossed(side[right], side[left], place)
                    for side in (graph.above, graph.below)
                )
                if gain > 0:
                    row[position], row[position + 1] = right, left
                    place[left], place[right] = position + 1, position
                    better = True


def _crossed(left: tuple[int, ...], right: tuple[int, ...], place: dict[int, int]) -> int:
    return sum(place[a] > place[b] for a in left for b in right)
