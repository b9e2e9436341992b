"""The DAG as a value: typed nodes in topological order, and edges between them."""

from __future__ import annotations

import heapq
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dvae.errors import DagError

Label = str | int
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Dag:
    """An acyclic graph with a label (string or integer) on every node.

    Nodes may be given in any order: they are stably sorted so that every edge runs from a smaller to a larger
    index, which leaves a graph already in topological order as it is. Edges are kept sorted. Two `Dag`s are
    equal when both tuples are; whether they *mean* the same is a task's business (`Task.key`).
    """

    types: tuple[Label, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        types = tuple(_label(label, node) for node, label in enumerate(self.types))
        if not types:
            raise DagError("a DAG needs at least one node")
        edges = _checked_edges(self.edges, len(types))
        if any(source > target for source, target in edges):
            order = topological_order(len(types), edges)
            rank = {node: position for position, node in enumerate(order)}
            types = tuple(types[node] for node in order)
            edges = [(rank[source], rank[target]) for source, target in edges]
        object.__setattr__(self, "types", types)
        object.__setattr__(self, "edges", tuple(sorted(edges)))

    def __len__(self) -> int:
        return len(self.types)

    def predecessors(self) -> list[list[int]]:
        """The sorted predecessors of every node."""
        lists: list[list[int]] = [[] for _ in self.types]
        for source, target in self.edges:
            lists[target].append(source)
        return lists

    def successors(self) -> list[list[int]]:
        """The sorted successors of every node."""
        lists: list[list[int]] = [[] for _ in self.types]
        for source, target in self.edges:
            lists[source].append(target)
        return lists

    def sources(self) -> list[int]:
        """Nodes without predecessors."""
        targets = {target for _, target in self.edges}
        return [node for node in range(len(self)) if node not in targets]

    def sinks(self) -> list[int]:
        """Nodes without successors."""
        sources = {source for source, _ in self.edges}
        return [node for node in range(len(self)) if node not in sources]

    def canonical_key(self) -> tuple[tuple[Label, ...], tuple[Edge, ...]]:
        """A value that two DAGs share exactly when they are isomorphic, labels included."""
        return _canonical_key(self)


def topological_order(num_nodes: int, edges: Iterable[Edge]) -> list[int]:
    """The topological order that moves nodes least: always the smallest index that is ready."""
    successors: list[list[int]] = [[] for _ in range(num_nodes)]
    waiting = [0] * num_nodes
    for source, target in edges:
        successors[source].append(target)
        waiting[target] += 1
    ready = [node for node in range(num_nodes) if waiting[node] == 0]
    order: list[int] = []
    while ready:
        node = heapq.heappop(ready)
        order.append(node)
        for target in successors[node]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heapq.heappush(ready, target)
    if len(order) < num_nodes:
        stuck = next(node for node in range(num_nodes) if waiting[node] > 0)
        raise DagError(f"the graph has a cycle (node {stuck} is on one or after one)")
    return order


def _label(label: object, node: int) -> Label:
    if isinstance(label, bool) or not isinstance(label, (str, int)):
        raise DagError(f"the type of node {node} is {reprlib.repr(label)}; a type is a string or an integer")
    return label


def _checked_edges(edges: Sequence[Edge], num_nodes: int) -> list[Edge]:
    seen: set[Edge] = set()
    for edge in edges:
        try:
            source, target = edge
        except (TypeError, ValueError):
            raise DagError(f"the edge {reprlib.repr(edge)} is not a pair of node indices") from None
        for end in (source, target):
            if isinstance(end, bool) or not isinstance(end, int):
                raise DagError(f"the edge {reprlib.repr(edge)} is not a pair of node indices")
            if not 0 <= end < num_nodes:
                raise DagError(f"the edge ({source}, {target}) leaves the {num_nodes} nodes of the graph")
        if source == target:
            raise DagError(f"node {source} has an edge to itself")
        if (source, target) in seen:
            raise DagError(f"the edge ({source}, {target}) is given twice")
        seen.add((source, target))
    return list(seen)


def _canonical_key(dag: Dag) -> tuple[tuple[Label, ...], tuple[Edge, ...]]:
    """Canonical labelling by BLISS.

    BLISS as igraph offers it looks at undirected graphs, so every node v becomes a path in(v) - v - out(v) of
    three colours and every edge u -> w a link out(u) - in(w): the directions are in the colours.
    """
    try:
        import igraph
    except ImportError:
        from dvae.errors import MissingError

        raise MissingError("comparing DAGs up to isomorphism needs the package igraph") from None

    count = len(dag)
    palette = {label: colour for colour, label in enumerate(sorted(set(dag.types), key=_label_order))}
    links = [(node, count + node) for node in range(count)]
    links += [(node, 2 * count + node) for node in range(count)]
    links += [(2 * count + source, count + target) for source, target in dag.edges]
    colours = [palette[label] for label in dag.types]
    colours += [len(palette)] * count + [len(palette) + 1] * count
    graph = igraph.Graph(n=3 * count, edges=links, vertex_attrs={"node": range(3 * count)})
    # igraph 1.0 turned the meaning of a permutation round; what it does with its own holds in all versions.
    canonical = graph.permute_vertices(graph.canonical_permutation(color=colours))
    order = [node for node in canonical.vs["node"] if node < count]
    rank = {node: position for position, node in enumerate(order)}
    edges = tuple(sorted((rank[source], rank[target]) for source, target in dag.edges))
    return tuple(dag.types[node] for node in order), edges


def _label_order(label: Label) -> tuple[bool, str, int]:
    return (isinstance(label, str), str(label), 0 if isinstance(label, str) else label)
