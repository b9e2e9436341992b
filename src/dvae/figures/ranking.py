"""Layers of a DAG whose edges are short: the least sum of the layers that edges span (Gansner et al., 1993, rank).

From the highest possible layers, the set of nodes whose moving down by one shortens the edges most is moved as long as
there is one. Such a set takes along whatever is right below its nodes, so it is a closure of largest weight (out- less
in-degree), which a minimum cut finds. The sum is discretely convex, so the last layers are the best of all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from dvae.dag.value import Dag


def short_layers(dag: Dag) -> list[int]:
    """Layers with the least total span of all edges; nodes without edges stay in the first."""
    layers = dag.layers()
    weights = [0] * len(dag)
    for source, target in dag.edges:
        weights[source] += 1
        weights[target] -= 1
    while True:
        tight = [(u, v) for u, v in dag.edges if layers[v] == layers[u] + 1]
        moving = _heaviest_closure(weights, tight)
        if not moving:
            return layers
        # All the way down to the next edge that becomes tight; in between nothing changes.
        room = [layers[v] - layers[u] - 1 for u, v in dag.edges if u in moving and v not in moving]
        for node in moving:
            layers[node] += min(room)


def _heaviest_closure(weights: Sequence[int], needs: Sequence[tuple[int, int]]) -> set[int]:
    """The smallest set of largest weight that has v wherever it has u, for all (u, v) of `needs`; empty if none weighs.

    A minimum cut: positive weights flow from the start, negative ones to the end, and along needs without limit.
    """
    start, end = len(weights), len(weights) + 1
    room: list[dict[int, float]] = [{} for _ in range(len(weights) + 2)]

    def link(source: int, target: int, capacity: float) -> None:
        room[source][target] = room[source].get(target, 0) + capacity
        room[target].setdefault(source, 0)

    for node, weight in enumerate(weights):
        if weight > 0:
            link(start, node, weight)
        elif weight < 0:
            link(node, end, -weight)
    for source, target in needs:
        link(source, target, float("inf"))
    while True:
        before = _reached(room, start)
        if end not in before:
            return set(before) - {start}
        path = [end]
        while path[-1] != start:
            path.append(before[path[-1]])
        flow = min(room[source][target] for target, source in pairwise(path))
        for target, source in pairwise(path):
            room[source][target] -= flow
            room[target][source] += flow


def _reached(room: Sequence[dict[int, float]], start: int) -> dict[int, int]:
    """Where flow can still go from the start, and from where it comes there."""
    before = {start: start}
    queue = deque([start])
    while queue:
        here = queue.popleft()
        for there, capacity in room[here].items():
            if capacity > 0 and there not in before:
                before[there] = here
                queue.append(there)
    return before
