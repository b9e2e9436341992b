"""DAGs to and from the values of other packages, and two notations in text: DOT and bnlearn's model strings.

Columns are attributes of nodes and edges there, properties attributes of the graph. Attributes whose values are
neither strings nor finite numbers (or None) are passed over.

networkx, igraph and torch_geometric are imported when a function needs them, never before.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import torch

from dvae.dag.columns import NO_ATTRIBUTES, check_no_column, columns_of, finite, values_at
from dvae.dag.dot import from_dot, to_dot
from dvae.dag.value import Dag, Label
from dvae.errors import DagError, FormatError
from dvae.extras import missing

__all__ = [
    "from_dot",
    "from_igraph",
    "from_modelstring",
    "from_networkx",
    "from_pyg",
    "to_dot",
    "to_igraph",
    "to_modelstring",
    "to_networkx",
    "to_pyg",
]

_SHOWN_OF_A_CYCLE = 6

_VARIABLE = r"[^\[\]|:]+"
_PARENTS = rf"{_VARIABLE}(?::{_VARIABLE})*"
_MODELSTRING_NODE = re.compile(rf"\[(?P<variable>{_VARIABLE})(?:\|(?P<parents>{_PARENTS}))?\]")


def to_networkx(dag: Dag) -> Any:
    """A `networkx.DiGraph` on the nodes 0, 1, ... with the attribute `type`; values that are absent are left out."""
    import networkx

    check_no_column(dag.node, "type", "networkx")
    graph = networkx.DiGraph(**dag.properties)
    graph.add_nodes_from((node, {"type": label, **values_at(dag.node, node)}) for node, label in enumerate(dag.types))
    graph.add_edges_from((*edge, values_at(dag.edge, place)) for place, edge in enumerate(dag.edges))
    return graph


def from_networkx(graph: Any) -> Dag:
    """A `networkx.DiGraph` with any nodes, each with the attribute `type`, taken in the graph's own order.

    Other attributes become columns, numbers of the graph itself properties.
    """
    if not graph.is_directed():
        raise DagError("the graph is undirected; a DAG needs a networkx.DiGraph")
    for node, attributes in graph.nodes(data=True):
        if "type" not in attributes:
            raise DagError(f"the node {node!r} has no attribute 'type'")
    named = dict(graph.nodes(data=True))
    edges = {(source, target): attributes for source, target, attributes in graph.edges(data=True)}
    types = {node: attributes["type"] for node, attributes in named.items()}
    return _from_named(types, graph.edges(), named, edges, graph.graph)


def to_igraph(dag: Dag) -> Any:
    """A directed `igraph.Graph` with the vertex attribute `type`; columns and properties are attributes, too."""
    import igraph

    check_no_column(dag.node, "type", "igraph")
    vertices = {"type": list(dag.types), **{name: list(column) for name, column in dag.node.items()}}
    edges = {name: list(column) for name, column in dag.edge.items()}
    return igraph.Graph(
        n=len(dag), edges=dag.edges, directed=True, graph_attrs=dict(dag.properties), vertex_attrs=vertices,
        edge_attrs=edges,
    )  # fmt: skip


def from_igraph(graph: Any) -> Dag:
    """A directed `igraph.Graph` whose vertices all have the attribute `type`; other attributes become columns."""
    if not graph.is_directed():
        raise DagError("the graph is undirected; a DAG needs an igraph.Graph(directed=True)")
    if "type" not in graph.vs.attributes():
        raise DagError("the vertices have no attribute 'type'")
    vertices = dict(enumerate(vertex.attributes() for vertex in graph.vs))
    edges = {edge.tuple: edge.attributes() for edge in graph.es}
    properties = {name: graph[name] for name in graph.attributes()}
    return _from_named(dict(enumerate(graph.vs["type"])), graph.get_edgelist(), vertices, edges, properties)


def to_pyg(dag: Dag, labels: Sequence[Label]) -> Any:
    """A `torch_geometric.data.Data` with `x`, one-hot over `labels`, `edge_index` and the list `types`.

    Columns are the dictionaries of lists `node_columns` and `edge_columns`, the latter in the order of `edge_index`;
    `properties` is a dictionary.
    """
    try:
        from torch_geometric.data import Data
    except ImportError:
        raise missing("torch-geometric", "pyg", "to_pyg") from None
    index_of = {label: index for index, label in enumerate(labels)}
    for label in dag.types:
        if label not in index_of:
            raise DagError(f"the type {label!r} is not among the labels")
    indices = torch.tensor([index_of[label] for label in dag.types])  # node
    return Data(
        x=torch.nn.functional.one_hot(indices, len(labels)).to(torch.float32),
        edge_index=torch.tensor(dag.edges, dtype=torch.int64).reshape(-1, 2).T.contiguous(),
        types=list(dag.types),
        **_pyg_columns(dag),
    )


def from_pyg(data: Any, labels: Sequence[Label] | None = None) -> Dag:
    """A `Data` with `types`, as `to_pyg` makes it; or, given `labels`, one with a one-hot `x` over them."""
    types = getattr(data, "types", None) if labels is None else _one_hot_labels(data.x, labels)
    if types is None:
        raise DagError("the Data has no attribute 'types'; pass labels= to read a one-hot x")
    edge_index = data.edge_index
    if edge_index is None or edge_index.shape[:-1] != (2,) or edge_index.is_floating_point():
        raise DagError("edge_index must be an integer tensor of shape (2, number of edges)")
    edges = [(source, target) for source, target in edge_index.T.tolist()]
    rows = [_rows(getattr(data, name, None), name, count) for name, count in
            (("node_columns", len(types)), ("edge_columns", len(edges)))]  # fmt: skip
    return _from_named(
        dict(enumerate(types)), edges, dict(enumerate(rows[0])), dict(zip(edges, rows[1], strict=True)),
        getattr(data, "properties", None) or {},
    )  # fmt: skip


def to_modelstring(dag: Dag) -> str:
    """bnlearn's notation of a network whose types are its variables: `[A][S][T|A][E|T:L]`."""
    for label in dag.types:
        if not isinstance(label, str) or not re.fullmatch(_VARIABLE, label):
            raise DagError(f"the type {label!r} is no variable of a model string: a string without [ ] | :")
    if len(set(dag.types)) < len(dag):
        raise DagError("a variable comes twice; a model string names every variable once")
    parts = []
    for label, parents in zip(dag.types, dag.predecessors(), strict=True):
        given = ":".join(str(dag.types[parent]) for parent in parents)
        parts.append(f"[{label}|{given}]" if given else f"[{label}]")
    return "".join(parts)


def from_modelstring(text: str) -> Dag:
    """The network of a model string; variables in any order, parents before or after their children."""
    text = text.strip()
    parents_of: dict[str, list[str]] = {}
    position = 0
    while position < len(text):
        where = f"model string, column {position + 1}"
        match = _MODELSTRING_NODE.match(text, position)
        if match is None:
            raise FormatError(f"{where}: '[variable]' or '[variable|parent:parent]' is expected")
        if match["variable"] in parents_of:
            raise FormatError(f"{where}: the variable {match['variable']!r} comes twice")
        parents_of[match["variable"]] = match["parents"].split(":") if match["parents"] else []
        position = match.end()
    for variable, parents in parents_of.items():
        for parent in parents:
            if parent not in parents_of:
                raise FormatError(f"model string: {parent!r}, a parent of {variable!r}, is no variable")
    edges = ((parent, variable) for variable, parents in parents_of.items() for parent in parents)
    try:
        return _from_named({variable: variable for variable in parents_of}, edges)
    except DagError as error:
        raise FormatError(f"model string: {error}") from None


def _from_named(
    types: dict[Any, Label],
    edges: Iterable[Sequence[Hashable]],
    node_attributes: Mapping[Any, Mapping[str, Any]] = NO_ATTRIBUTES,
    edge_attributes: Mapping[Any, Mapping[str, Any]] = NO_ATTRIBUTES,
    graph_attributes: Mapping[str, Any] = NO_ATTRIBUTES,
) -> Dag:
    """A DAG on nodes with names, so that errors can speak of them as their owner does."""
    index_of = {name: index for index, name in enumerate(types)}
    for name, label in types.items():
        if isinstance(label, bool) or not isinstance(label, (str, int)):
            raise DagError(f"the type of node {name!r} is {label!r}; a type is a string or an integer")
    sources_of: dict[Hashable, set[Hashable]] = {name: set() for name in types}
    for source, target in edges:
        if source not in index_of or target not in index_of:
            raise DagError(f"the edge {source!r} -> {target!r} leaves the {len(types)} nodes of the graph")
        if source == target:
            raise DagError(f"the node {source!r} has an edge to itself")
        if source in sources_of[target]:
            raise DagError(f"the edge {source!r} -> {target!r} is given twice")
        sources_of[target].add(source)
    try:
        TopologicalSorter(sources_of).prepare()
    except CycleError as error:
        cycle = [repr(name) for name in error.args[1]]
        shown = cycle if len(cycle) <= _SHOWN_OF_A_CYCLE else [*cycle[:_SHOWN_OF_A_CYCLE], "..."]
        raise DagError(f"the graph has a cycle: {' -> '.join(shown)}") from None
    named = [(source, target) for target in types for source in sources_of[target]]
    return Dag(
        tuple(types.values()),
        tuple((index_of[source], index_of[target]) for source, target in named),
        columns_of([node_attributes.get(name, {}) for name in types]),
        columns_of([edge_attributes.get(pair, {}) for pair in named]),
        {name: value for name, value in graph_attributes.items() if finite(value) is not None},
    )


def _pyg_columns(dag: Dag) -> dict[str, Any]:
    named = {"node_columns": dag.node, "edge_columns": dag.edge}
    found: dict[str, Any] = {
        key: {name: list(column) for name, column in columns.items()} for key, columns in named.items() if columns
    }
    return found | ({"properties": dict(dag.properties)} if dag.properties else {})


def _rows(columns: Any, what: str, count: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{} for _ in range(count)]
    for name, column in (columns or {}).items():
        if len(column) != count:
            raise DagError(f"{what}[{name!r}] has {len(column)} values where {count} are expected")
        for row, value in zip(rows, column, strict=True):
            row[name] = value
    return rows


def _one_hot_labels(x: Any, labels: Sequence[Label]) -> list[Label]:
    if x is None or x.ndim != 2 or x.shape[1] != len(labels):
        raise DagError(f"x must be of shape (number of nodes, {len(labels)}), one-hot over the labels")
    if not bool((((x == 0) | (x == 1)).all(1) & ((x == 1).sum(1) == 1)).all()):
        raise DagError("x is not one-hot: every row must hold a single 1 among zeros")
    return [labels[index] for index in x.argmax(1).tolist()]
