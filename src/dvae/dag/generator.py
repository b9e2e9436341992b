"""Random DAGs of a given size, density and depth: for benchmarks, examples and tests of scale."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

from dvae.dag.value import Dag, Label
from dvae.errors import DagError

LABELS = ("a", "b", "c", "d", "e", "f")


def random_dags(
    count: int, nodes: int, *, edges_per_node: float = 1.2, depth: float = 0.5, labels: Sequence[Label] = LABELS,
    seed: int = 0,
) -> list[Dag]:  # fmt: skip
    """DAGs of `nodes` nodes each, with `edges_per_node * nodes` edges in `depth * nodes` levels, both rounded.

    A node's level is the length of the longest path to it. Levels have a node each, the other nodes are spread over
    them at random. Every node above the first level has an edge from the level before; the other edges go from any
    node to one of a higher level, first from those that have no successor. Types are drawn from `labels`.

    Where a DAG of that depth needs more edges, or has no room for so many, it gets as close as it can.
    """
    if count < 0 or nodes < 1:
        raise DagError(f"random DAGs need a count of 0 or more and 1 node or more, not {count} and {nodes}")
    if not 0 < depth <= 1 or edges_per_node < 0:
        raise DagError(f"depth lies between 0 and 1 and edges_per_node is 0 or more, not {depth} and {edges_per_node}")
    if not labels:
        raise DagError("random DAGs need a label at least")
    draw = random.Random(seed)
    return [_random_dag(nodes, round(edges_per_node * nodes), round(depth * nodes), labels, draw) for _ in range(count)]


def _random_dag(nodes: int, edges: int, depth: int, labels: Sequence[Label], draw: random.Random) -> Dag:
    levels = max(depth, 1)
    level_of = sorted([*range(levels), *(draw.randrange(levels) for _ in range(nodes - levels))])
    members: list[list[int]] = [[] for _ in range(levels)]
    for node, level in enumerate(level_of):
        members[level].append(node)
    found: set[tuple[int, int]] = set()
    for before, after in pairwise(members):
        sources = draw.sample(before, len(before))
        found.update((sources[place % len(sources)], node) for place, node in enumerate(draw.sample(after, len(after))))
    first_of = {level: group[0] for level, group in enumerate(members)}
    busy = {source for source, _ in found}
    loose = draw.sample([node for node in range(nodes) if node not in busy], nodes - len(busy))
    room = sum(nodes - first_of[level + 1] for level in level_of if level + 1 < levels)
    while len(found) < min(edges, room):
        source = loose.pop() if loose else draw.randrange(nodes)
        if level_of[source] + 1 < levels:
            found.add((source, draw.randrange(first_of[level_of[source] + 1], nodes)))
    return Dag(tuple(draw.choice(labels) for _ in range(nodes)), tuple(sorted(found)))
