from __future__ import annotations

import dataclasses
from itertools import combinations, product
from typing import Any

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import any_label, dags, renumbered
from dvae.dag import Dag, to_networkx
from dvae.errors import DagError, DvaeError


def test_a_sorted_graph_stays_as_it_is() -> None:
    dag = Dag(("in", "b", "a", "out"), ((0, 2), (0, 1), (1, 3), (2, 3)))
    assert dag.types == ("in", "b", "a", "out")
    assert dag.edges == ((0, 1), (0, 2), (1, 3), (2, 3))
    assert len(dag) == 4


def test_lists_become_tuples() -> None:
    dag = Dag(["a", 1], [[0, 1]])  # type: ignore[arg-type]
    assert (dag.types, dag.edges) == (("a", 1), ((0, 1),))
    assert hash(dag) == hash(Dag(("a", 1), ((0, 1),)))


def test_sorting_moves_only_what_must_move() -> None:
    # 3 -> 0 is the only edge against the order: 0 waits for 3, then goes before 4.
    dag = Dag(("v0", "v1", "v2", "v3", "v4"), ((3, 0), (1, 4)))
    assert dag.types == ("v1", "v2", "v3", "v0", "v4")
    assert dag.edges == ((0, 4), (2, 3))


@pytest.mark.parametrize(
    ("types", "edges", "message"),
    [
        ((), (), "at least one node"),
        (("a", True), (), r"type of node 1 is True"),
        (("a", 1.0), (), r"type of node 1 is 1\.0"),
        ((None,), (), r"type of node 0 is None"),
        (("a", "b"), ((0, 2),), r"edge \(0, 2\) leaves the 2 nodes"),
        (("a", "b"), ((-1, 1),), r"edge \(-1, 1\) leaves"),
        (("a", "b"), ((0, 0),), "node 0 has an edge to itself"),
        (("a", "b"), ((0, 1), (0, 1)), r"edge \(0, 1\) is given twice"),
        (("a", "b"), ((0, 1), (1, 0)), "cycle"),
        (("a", "b", "c", "d"), ((0, 1), (1, 2), (2, 3), (3, 1)), r"cycle \(node 1 "),
        (("a", "b"), ((0, True),), "not a pair of node indices"),
        (("a", "b"), ((0, 1.0),), "not a pair of node indices"),
        (("a", "b"), ((0, 1, 1),), "not a pair of node indices"),
        (("a", "b"), (0,), "not a pair of node indices"),
        (("a", "b"), ("01",), "not a pair of node indices"),
    ],
)
def test_what_is_no_dag_is_refused(types: Any, edges: Any, message: str) -> None:
    with pytest.raises(DagError, match=message) as caught:
        Dag(types, edges)
    assert isinstance(caught.value, DvaeError)
    assert isinstance(caught.value, ValueError)


def test_a_refusal_stays_one_short_sentence() -> None:
    for types, edges in [(([0] * 10_000,), ()), (("a",), ([0] * 10_000,))]:
        with pytest.raises(DagError) as caught:
            Dag(types, edges)  # type: ignore[arg-type]
        assert len(str(caught.value)) < 200


def test_a_dag_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Dag(("a",)).types = ("b",)  # type: ignore[misc]


def test_integers_and_their_digits_are_different_labels() -> None:
    assert Dag((1,)) != Dag(("1",))
    assert Dag((1,)).canonical_key() != Dag(("1",)).canonical_key()


def test_neighbours_sources_and_sinks() -> None:
    dag = Dag(("a",) * 5, ((0, 2), (1, 2), (1, 3)))
    assert dag.predecessors() == [[], [], [0, 1], [1], []]
    assert dag.successors() == [[2], [2, 3], [], [], []]
    assert dag.sources() == [0, 1, 4]
    assert dag.sinks() == [2, 3, 4]


@given(dags(labels=any_label), st.data())
def test_any_order_of_the_nodes_gives_a_sorted_isomorphic_dag(dag: Dag, data: st.DataObject) -> None:
    other = renumbered(dag, data.draw(st.permutations(range(len(dag)))))
    assert all(source < target for source, target in other.edges)
    assert other.edges == tuple(sorted(other.edges))
    assert other.canonical_key() == dag.canonical_key()


@given(dags())
def test_sorting_twice_is_sorting_once(dag: Dag) -> None:
    again = Dag(dag.types, dag.edges[::-1])
    assert again == dag
    assert hash(again) == hash(dag)


@given(dags(max_nodes=5), dags(max_nodes=5))
def test_equal_means_equal_types_and_edges(first: Dag, second: Dag) -> None:
    assert (first == second) == (first.types == second.types and first.edges == second.edges)


def _all_dags(num_nodes: int, labels: str) -> list[Dag]:
    pairs = list(combinations(range(num_nodes), 2))
    return [
        Dag(types, tuple(pair for pair, keep in zip(pairs, kept, strict=True) if keep))
        for types in product(labels, repeat=num_nodes)
        for kept in product((False, True), repeat=len(pairs))
    ]


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 4])
def test_the_canonical_key_is_isomorphism(num_nodes: int) -> None:
    """Every DAG in topological order with labels x and y, sorted into classes by key and by networkx."""
    classes: dict[object, list[Dag]] = {}
    for dag in _all_dags(num_nodes, "xy"):
        classes.setdefault(dag.canonical_key(), []).append(dag)

    def isomorphic(first: Dag, second: Dag) -> bool:
        same_type = networkx.algorithms.isomorphism.categorical_node_match("type", None)
        graphs = to_networkx(first), to_networkx(second)
        return bool(networkx.is_isomorphic(*graphs, node_match=same_type))

    for members in classes.values():
        assert all(isomorphic(members[0], member) for member in members[1:])

    def rough(dag: Dag) -> tuple[object, int]:  # no two isomorphic DAGs differ in this
        return tuple(sorted(map(str, dag.types))), len(dag.edges)

    representatives = sorted((members[0] for members in classes.values()), key=rough)
    for first, second in combinations(representatives, 2):
        if rough(first) == rough(second):
            assert not isomorphic(first, second)


def test_the_number_of_unlabelled_dags_is_the_published_one() -> None:
    """OEIS A003087: unlabelled acyclic digraphs with 1, 2, 3, 4 and 5 nodes."""
    counts = [len({dag.canonical_key() for dag in _all_dags(size, "x")}) for size in (1, 2, 3, 4, 5)]
    assert counts == [1, 2, 6, 31, 302]
