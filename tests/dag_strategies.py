"""Random DAGs for property tests."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from hypothesis import strategies as st

from dvae.dag import Dag, Label

PLAIN_LABELS: tuple[Label, ...] = ("a", "b", "c", 0, 1)

any_label: st.SearchStrategy[Label] = st.one_of(st.text(max_size=5), st.integers(-(2**70), 2**70))


@st.composite
def dags(
    draw: st.DrawFn,
    *,
    labels: st.SearchStrategy[Label] | Sequence[Label] = PLAIN_LABELS,
    min_nodes: int = 1,
    max_nodes: int = 7,
) -> Dag:
    """Any DAG of `min_nodes` to `max_nodes` nodes, its nodes in topological order."""
    label = labels if isinstance(labels, st.SearchStrategy) else st.sampled_from(list(labels))
    types = draw(st.lists(label, min_size=min_nodes, max_size=max_nodes))
    pairs = list(combinations(range(len(types)), 2))
    kept = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return Dag(tuple(types), tuple(pair for pair, keep in zip(pairs, kept, strict=True) if keep))


@st.composite
def networks(draw: st.DrawFn, variables: Sequence[str]) -> Dag:
    """A Bayesian network: every variable once, in any order."""
    shape = draw(dags(min_nodes=len(variables), max_nodes=len(variables)))
    return Dag(tuple(draw(st.permutations(list(variables)))), shape.edges)


@st.composite
def architectures(draw: st.DrawFn, operations: Sequence[str], max_layers: int = 8) -> Dag:
    """An ENAS architecture: a chain with skip connections between all but the output."""
    layers = draw(st.lists(st.sampled_from(list(operations)), min_size=1, max_size=max_layers))
    skips = [(u, v) for u, v in combinations(range(len(layers) + 1), 2) if v > u + 1]
    kept = draw(st.lists(st.booleans(), min_size=len(skips), max_size=len(skips)))
    chain = [(node, node + 1) for node in range(len(layers) + 1)]
    edges = chain + [skip for skip, keep in zip(skips, kept, strict=True) if keep]
    return Dag(("input", *layers, "output"), tuple(edges))


def renumbered(dag: Dag, order: Sequence[int]) -> Dag:
    """The same graph, its nodes given to `Dag` in another order: node `order[i]` comes at place i."""
    place = {node: index for index, node in enumerate(order)}
    edges = tuple((place[source], place[target]) for source, target in dag.edges)
    columns = {name: tuple(column[node] for node in order) for name, column in dag.node.items()}
    return Dag(tuple(dag.types[node] for node in order), edges, columns, dag.edge, dag.properties)


@st.composite
def columned_dags(draw: st.DrawFn, *, max_nodes: int = 5) -> Dag:
    """Any DAG with columns of any names, of nodes and of edges, and properties."""
    dag = draw(dags(max_nodes=max_nodes))
    name = st.text(min_size=1, max_size=4).filter(lambda text: text != "type")
    number = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
    kinds = (st.none() | st.text(max_size=4), st.none() | number)

    def columns(count: int) -> dict[str, tuple[Any, ...]]:
        names = draw(st.lists(name, max_size=2, unique=True))
        return {
            each: tuple(draw(st.lists(draw(st.sampled_from(kinds)), min_size=count, max_size=count))) for each in names
        }

    properties = draw(st.dictionaries(name, st.floats(allow_nan=False, allow_infinity=False), max_size=2))
    return Dag(dag.types, dag.edges, columns(len(dag)), columns(len(dag.edges)), properties)
