"""What separates two DAGs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dag_strategies import dags
from dvae.dag import Dag, difference
from dvae.dag.differences import Difference

NETWORK = Dag(("A", "B", "C"), ((0, 1), (1, 2)))


@settings(max_examples=100, deadline=None)
@given(dags(max_nodes=9), dags(max_nodes=9))
def test_the_edits_lead_from_one_dag_to_the_other(before: Dag, after: Dag) -> None:
    found = difference(before, after)
    assert made_from(found) == after.plain()
    changes = len(found.added_nodes) + len(found.removed_nodes) + len(found.retyped)
    assert len(found) == changes + len(found.added_edges) + len(found.removed_edges)


def made_from(found: Difference) -> Dag:
    """`after`, made of `before` and what is said of the difference."""
    types = {twin: found.before.types[node] for node, twin in found.pairs}
    types |= {twin: found.after.types[twin] for _, twin in found.retyped}
    types |= {node: found.after.types[node] for node in found.added_nodes}
    kept = {found.moved(edge) for edge in found.before.edges if edge not in found.removed_edges}
    edges = kept | set(found.added_edges)
    return Dag(tuple(types[node] for node in range(len(types))), tuple(edge for edge in edges if edge is not None))


@settings(max_examples=60, deadline=None)
@given(dags(max_nodes=10), st.randoms(use_true_random=False))
def test_a_dag_with_its_nodes_in_another_order_is_the_same(dag: Dag, chance: random.Random) -> None:
    order = list(range(len(dag)))
    chance.shuffle(order)
    place = {node: number for number, node in enumerate(order)}
    types = tuple(dag.types[node] for node in order)
    other = Dag(types, tuple((place[u], place[v]) for u, v in dag.edges))
    assert len(difference(dag, dag)) == 0
    if len(set(types)) == len(types):
        assert len(difference(dag, other)) == 0


def test_variables_go_by_their_names() -> None:
    found = difference(NETWORK, Dag(("C", "B", "D"), ((0, 1), (1, 2))))
    assert found.turned_edges == ((0, 1),)
    assert found.lines() == [
        "node 2: D is new",
        "node 0: A is gone",
        "edge 0: C → 1: B runs the other way",
        "edge 1: B → 2: D is new",
        "edge 0: A → 1: B is gone",
    ]


def test_a_layer_that_is_put_in_between_is_one_new_node() -> None:
    before = Dag(("in", "conv", "pool", "conv", "conv", "out"), tuple((k, k + 1) for k in range(5)))
    after = Dag(("in", "conv", "pool", "norm", "conv", "conv", "out"), tuple((k, k + 1) for k in range(6)))
    found = difference(before, after)
    assert found.added_nodes == (3,)
    assert (len(found), found.retyped) == (4, ())


def test_other_values_are_told_but_are_no_edit() -> None:
    before, after = (Dag(("A", "B"), ((0, 1),), {"size": (1, size)}) for size in (2, 3))
    found = difference(before, after)
    assert (len(found), found.lines()) == (0, ["node 1: B has other values"])


def test_the_difference_is_plain_values_for_programs() -> None:
    plain = difference(NETWORK, Dag(("A", "B"), ())).to_mapping()
    assert plain["edits"] == 3
    assert plain["removed_edges"] == [[0, 1], [1, 2]]


@pytest.mark.parametrize("count", [400])
def test_large_dags_are_compared_too(count: int) -> None:
    chance = random.Random(0)
    edges = {(max(0, node - chance.randint(1, 5)), node) for node in range(1, count)}
    dag = Dag(tuple(chance.choice("abcdef") for _ in range(count)), tuple(edges))
    fewer = Dag(dag.types[:-3], tuple(edge for edge in edges if edge[1] < count - 3))
    assert len(difference(fewer, dag)) <= 12
