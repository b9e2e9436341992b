"""What holds of every folding: nothing is lost, and the folded graph is a DAG."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dag_strategies import dags
from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.figures import fold
from dvae.figures.folding import DEPTH, LIMIT, group_name


def large_dag(count: int, seed: int = 0, reach: int = 6) -> Dag:
    """A long DAG with about 1.4 edges per node."""
    chance = random.Random(seed)
    edges = {(max(0, node - chance.randint(1, reach)), node) for node in range(1, count)}
    edges |= {(max(0, node - chance.randint(1, 4 * reach)), node) for node in range(1, count, 2)}
    return Dag(tuple(chance.choice("abcdefgh") for _ in range(count)), tuple(edges))


def random_dag(count: int, num_edges: int, seed: int = 0) -> Dag:
    chance = random.Random(seed)
    edges = {tuple(sorted(chance.sample(range(count), 2))) for _ in range(num_edges)}
    return Dag(tuple(chance.choice("abcdefgh") for _ in range(count)), tuple(edges))


@settings(max_examples=60, deadline=None)
@given(dags(max_nodes=14), st.integers(1, 8), st.data())
def test_every_node_is_in_one_group_and_every_edge_in_one_link(dag: Dag, limit: int, data: st.DataObject) -> None:
    folding = fold(dag, limit)
    largest = [group for group in folding.groups if len(group) > 1]
    opened = data.draw(st.sets(st.sampled_from([(g[0], len(g)) for g in largest]))) if largest else set()
    for shown in (folding, fold(dag, limit, opened)):
        assert sorted(node for group in shown.groups for node in group) == list(range(len(dag)))
        place = {node: number for number, group in enumerate(shown.groups) for node in group}
        between = [edge for edge in dag.edges if place[edge[0]] != place[edge[1]]]
        assert sum(count for _, count in shown.links) == len(between)
        assert all(source < target for (source, target), _ in shown.links)  # so it is a DAG, in this order


@pytest.mark.parametrize("dag", [large_dag(1000), large_dag(300), random_dag(1000, 1500), Dag(("a",) * 500)])
def test_a_large_dag_is_folded_into_few_groups_none_of_which_holds_it_all(dag: Dag) -> None:
    folding = fold(dag)
    assert len(folding) <= LIMIT
    if dag.edges:
        assert max(map(len, folding.groups)) < 0.5 * len(dag)
        assert len(folding) >= DEPTH // 2


def test_a_group_opens_and_what_was_in_it_opens_again() -> None:
    dag = large_dag(1000)
    folding = fold(dag)
    first = max(folding.groups, key=len)
    opened = {(first[0], len(first))}
    once = fold(dag, opened=opened)
    assert len(once) > len(folding)
    assert first not in once.groups
    within = max((group for group in once.groups if set(group) < set(first)), key=len)
    if len(within) > 1:
        assert within not in fold(dag, opened=opened | {(within[0], len(within))}).groups
    assert len(fold(Dag(("a",) * 500), opened={(0, 500)})) == 500


def test_a_small_dag_stays_as_it_is_and_no_group_is_no_drawing() -> None:
    dag = Dag(("a", "b"), ((0, 1),))
    assert fold(dag).groups == ((0,), (1,))
    with pytest.raises(DvaeError, match="at least one"):
        fold(dag, 0)


def test_groups_are_named_by_what_is_in_them() -> None:
    assert group_name(["add"]) == "add"
    assert group_name(["add"] * 3) == "add ×3"
    assert group_name(["add", "add", "mul"]) == "3 nodes: add 2, mul 1"
    assert group_name([1, 1, 2, 2, 3]).endswith("…")
