from __future__ import annotations

import pytest

from dvae.dag import Dag
from dvae.errors import DagError
from dvae.explorer import RequestError, Space
from dvae.explorer.edits import retype, toggle_edge

CHAIN = Dag(("input", "conv3", "max3", "output"), ((0, 1), (1, 2), (2, 3)))


def test_a_node_gets_another_type(enas: Space) -> None:
    assert retype(CHAIN, 1, "sep5", enas.task) == Dag(("input", "sep5", "max3", "output"), CHAIN.edges)
    with pytest.raises(RequestError, match="no type"):
        retype(CHAIN, 1, "conv9", enas.task)
    with pytest.raises(RequestError, match="no node 4"):
        retype(CHAIN, 4, "conv5", enas.task)


def test_variables_swap(asia: Space) -> None:
    dag = asia.known.dags[0]
    swapped = retype(dag, 0, str(dag.types[3]), asia.task)
    assert asia.task.is_valid(swapped)
    assert (swapped.types[0], swapped.types[3]) == (dag.types[3], dag.types[0])


def test_toggling_twice_changes_nothing() -> None:
    more = toggle_edge(CHAIN, 0, 2)
    assert (0, 2) in more.edges
    assert toggle_edge(more, 0, 2) == CHAIN


def test_an_edge_upwards_reorders_the_nodes() -> None:
    dag = Dag(("a", "b"), ())
    assert toggle_edge(dag, 1, 0) == Dag(("b", "a"), ((0, 1),))


def test_impossible_edges_are_refused_in_words() -> None:
    with pytest.raises(RequestError, match="to itself"):
        toggle_edge(CHAIN, 1, 1)
    with pytest.raises(RequestError, match="other way"):
        toggle_edge(CHAIN, 1, 0)
    with pytest.raises(DagError, match="cycle"):
        toggle_edge(CHAIN, 3, 0)
