"""The DAG as a value: typed nodes in topological order, and edges between them."""

from __future__ import annotations

import heapq
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dvae.dag.columns import NO_COLUMNS, NO_PROPERTIES, Column, Value, checked_columns, checked_properties, taken
from dvae.errors import DagError

Label = str | int
Edge = tuple[int, int]


@dataclass(frozen=True, slots=True, repr=False)
class Dag:
    """An acyclic graph with a label (string or integer) on every node.

    Nodes may be given in any order: they are stably sorted so that every edge runs from a smaller to a larger
    index, which leaves a graph already in topological order as it is. Edges are kept sorted.

    `node` and `edge` are named columns with a value for each node or edge (a string is a category, a number a
    number, None absent); they are sorted along, and a column without any value is left out. `properties` are numbers
    that belong to the whole graph.

    Two `Dag`s are equal when types, edges and columns are. Properties are what was measured of a graph, not what it
    is: they take no part in equality and hashes. Whether two `Dag`s *mean* the same is a task's business (`Task.key`).
    """

    types: tuple[Label, ...]
    edges: tuple[Edge, ...] = ()
    node: Mapping[str, Column] = NO_COLUMNS
    edge: Mapping[str, Column] = NO_COLUMNS
    properties: Mapping[str, float] = field(default=NO_PROPERTIES, compare=False)

    def __post_init__(self) -> None:
        types = tuple(_label(label, node) for node, label in enumerate(self.types))
        if not types:
            raise DagError("a DAG needs at least one node")
        edges = _checked_edges(self.edges, len(types))
        order: Sequence[int] = range(len(types))
        if any(source > target for source, target in edges):
            order = topological_order(len(types), edges)
            rank = {node: position for position, node in enumerate(order)}
            types = tuple(types[node] for node in order)
            edges = [(rank[source], rank[target]) for source, target in edges]
        if self.node is not NO_COLUMNS or self.edge is not NO_COLUMNS or self.properties is not NO_PROPERTIES:
            self._set_columns(order)
        object.__setattr__(self, "types", types)
        object.__setattr__(self, "edges", tuple(sorted(edges)))

    def _set_columns(self, order: Sequence[int]) -> None:
        """Checks columns and properties and moves values to the new places of their nodes and edges."""
        rank = {node: position for position, node in enumerate(order)}
        edges = [(rank[source], rank[target]) for source, target in self.edges]
        places = sorted(range(len(edges)), key=edges.__getitem__)
        object.__setattr__(self, "node", taken(checked_columns(self.node, "node", len(order)), order))
        object.__setattr__(self, "edge", taken(checked_columns(self.edge, "edge", len(edges)), places))
        object.__setattr__(self, "properties", checked_properties(self.properties))

    def __len__(self) -> int:
        return len(self.types)

    def __repr__(self) -> str:
        shown = [f"types={self.types!r}", f"edges={self.edges!r}"]
        named = {"node": self.node, "edge": self.edge, "properties": self.properties}
        shown += [f"{name}={values!r}" for name, values in named.items() if values]
        return f"Dag({', '.join(shown)})"

    @property
    def has_columns(self) -> bool:
        """Whether its nodes or its edges have columns."""
        return bool(self.node) or bool(self.edge)

    def plain(self) -> Dag:
        """Its types and edges alone, without columns and properties."""
        return Dag(self.types, self.edges) if self.has_columns or self.properties else self

    def rebuilt(self, nodes: Sequence[int | None], types: Sequence[Label], edges: Sequence[Edge]) -> Dag:
        """Another graph made of this one: `nodes` says which node each new one was, None for one that is new.

        Nodes and edges that were here before keep their values; others have none. Properties are those of the whole
        and stay behind.
        """
        if not self.has_columns:
            return Dag(tuple(types), tuple(edges))
        place: dict[tuple[int | None, int | None], int] = {edge: at for at, edge in enumerate(self.edges)}
        places = [place.get((nodes[source], nodes[target])) for source, target in edges]
        return Dag(tuple(types), tuple(edges), taken(self.node, nodes), taken(self.edge, places))

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

    def layers(self) -> list[int]:
        """The length of the longest path to every node."""
        found = [0] * len(self)
        for node, before in enumerate(self.predecessors()):
            found[node] = max((found[source] + 1 for source in before), default=0)
        return found

    def sources(self) -> list[int]:
        """Nodes without predecessors."""
        targets = {target for _, target in self.edges}
        return [node for node in range(len(self)) if node not in targets]

    def sinks(self) -> list[int]:
        """Nodes without successors."""
        sources = {source for source, _ in self.edges}
        return [node for node in range(len(self)) if node not in sources]

    def canonical_key(self) -> tuple[tuple[object, ...], ...]:
        """A value that two DAGs share exactly when they are isomorphic, labels and columns included.

        Without columns it is types and edges; columns follow, names and values, where there are any.
        """
        order = canonical_order(self)
        rank = {node: position for position, node in enumerate(order)}
        edges = [(rank[source], rank[target]) for source, target in self.edges]
        key = tuple(self.types[node] for node in order), tuple(sorted(edges))
        if not self.has_columns:
            return key
        places = sorted(range(len(edges)), key=edges.__getitem__)
        columns = taken(self.node, order), taken(self.edge, places)
        return *key, *(tuple(sorted(named.items())) for named in columns)


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


def canonical_order(dag: Dag) -> list[int]:
    """The nodes in the order of their canonical ranks, by BLISS.

    Columns only decide between nodes that types and edges do not tell apart, so that a node keeps its rank when a
    value changes. Such nodes are those of one orbit of the automorphism group.
    """
    shades = _colours([_label_order(label) for label in dag.types])
    if not dag.has_columns:
        return _bliss_order(dag, shades)
    orbit = _orbits(dag, shades)
    first: dict[int, int] = {}
    for rank, node in enumerate(_bliss_order(dag, shades)):
        first.setdefault(orbit[node], rank)
    keys = [(first[orbit[node]], _column_keys(dag.node, node)) for node in range(len(dag))]
    wires = _colours([_column_keys(dag.edge, at) for at in range(len(dag.edges))]) if dag.edge else None
    return _bliss_order(dag, _colours(keys), wires)


def _bliss_order(dag: Dag, shades: Sequence[int], wires: Sequence[int] | None = None) -> list[int]:
    graph, colours = _undirected(dag, shades, wires)
    graph.vs["node"] = range(len(colours))
    # igraph 1.0 turned the meaning of a permutation round; what it does with its own holds in all versions.
    canonical = graph.permute_vertices(graph.canonical_permutation(color=colours))
    return [node for node in canonical.vs["node"] if node < len(dag)]


def _orbits(dag: Dag, shades: Sequence[int]) -> list[int]:
    """For every node the smallest node that an automorphism takes it to."""
    graph, colours = _undirected(dag, shades, None)
    generators = graph.automorphism_group(color=colours)
    return joined(len(dag), ((node, generator[node]) for generator in generators for node in range(len(dag))))


def joined(num_nodes: int, pairs: Iterable[Edge]) -> list[int]:
    """For every node the smallest of those that pairs join it to, directly or through others."""
    root = list(range(num_nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for pair in pairs:
        one, other = sorted(map(find, pair))
        root[other] = one
    return [find(node) for node in range(num_nodes)]


def _undirected(dag: Dag, shades: Sequence[int], wires: Sequence[int] | None) -> tuple[Any, list[int]]:
    """An undirected graph with colours that has the automorphisms of `dag`, its nodes first.

    BLISS as igraph offers it looks at undirected graphs, so every node v becomes a path in(v) - v - out(v) of
    three colours and every edge u -> w a link out(u) - in(w): the directions are in the colours. With `wires`, the
    colours of the edges, a node stands on that link.
    """
    try:
        import igraph
    except ImportError:
        from dvae.errors import MissingError

        raise MissingError("comparing DAGs up to isomorphism needs the package igraph") from None

    count, free = len(dag), max(shades) + 1
    links = [(node, count + node) for node in range(count)]
    links += [(node, 2 * count + node) for node in range(count)]
    colours = [*shades, *[free] * count, *[free + 1] * count, *[free + 2 + wire for wire in wires or ()]]
    for place, (source, target) in enumerate(dag.edges):
        ends, middle = (2 * count + source, count + target), 3 * count + place
        links += [ends] if wires is None else [(ends[0], middle), (middle, ends[1])]
    return igraph.Graph(n=len(colours), edges=links), colours


def _colours(keys: Sequence[tuple[Any, ...]]) -> list[int]:
    palette = {key: colour for colour, key in enumerate(sorted(set(keys)))}
    return [palette[key] for key in keys]


def _column_keys(columns: Mapping[str, Column], place: int) -> tuple[tuple[object, ...], ...]:
    """The values at a place in an order that sorts: absent ones, numbers, strings."""
    return tuple(_value_order(columns[name][place]) for name in sorted(columns))


def _value_order(value: Value) -> tuple[int, float, str]:
    if value is None:
        return 0, 0.0, ""
    return (2, 0.0, value) if isinstance(value, str) else (1, float(value), "")


def _label_order(label: Label) -> tuple[bool, str, int]:
    return (isinstance(label, str), str(label), 0 if isinstance(label, str) else label)
