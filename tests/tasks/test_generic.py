from __future__ import annotations

import json
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dag_strategies import dags, renumbered
from dvae.dag import Dag
from dvae.errors import TaskError
from dvae.tasks import GenericTask, from_spec, to_spec

OWN_ENDS = [Dag(("in", "a", "out"), ((0, 1), (1, 2))), Dag(("in", "b", "a", "out"), ((0, 1), (0, 2), (1, 3), (2, 3)))]


def infer(*dags: Dag) -> GenericTask:
    return GenericTask.infer("test", dags)


def test_own_ends_are_used_where_every_dag_has_them() -> None:
    task = infer(*OWN_ENDS)
    assert (task.virtual_start, task.virtual_end) == (False, False)
    assert task.vocabulary.labels == ("in", "out", "a", "b")
    assert task.max_nodes == 4
    assert task.wrap(OWN_ENDS[0]) == OWN_ENDS[0]


NEEDS_START = {
    "several sources": Dag(("in", "in", "out"), ((0, 2), (1, 2))),
    "another source": Dag(("a", "b", "out"), ((0, 1), (1, 2))),
    "its label elsewhere": Dag(("in", "in", "out"), ((0, 1), (1, 2))),
}
NEEDS_END = {
    "several sinks": Dag(("in", "out", "out"), ((0, 1), (0, 2))),
    "another sink": Dag(("in", "b", "a"), ((0, 1), (1, 2))),
    "its label elsewhere": Dag(("in", "out", "out"), ((0, 1), (1, 2))),
}


@pytest.mark.parametrize("name", NEEDS_START)
def test_one_dag_that_needs_a_virtual_start_gives_all_of_them_one(name: str) -> None:
    task = infer(*OWN_ENDS, NEEDS_START[name])
    assert (task.virtual_start, task.virtual_end) == (True, False)
    assert task.vocabulary.labels[:2] == ("<start>", "out")
    assert "in" in task.vocabulary.labels[2:]
    assert task.max_nodes == 5
    assert task.wrap(OWN_ENDS[0]) == Dag(("<start>", "in", "a", "out"), ((0, 1), (1, 2), (2, 3)))


@pytest.mark.parametrize("name", NEEDS_END)
def test_one_dag_that_needs_a_virtual_end_gives_all_of_them_one(name: str) -> None:
    task = infer(*OWN_ENDS, NEEDS_END[name])
    assert (task.virtual_start, task.virtual_end) == (False, True)
    assert task.vocabulary.labels[:2] == ("in", "<end>")
    assert task.wrap(OWN_ENDS[0]) == Dag(("in", "a", "out", "<end>"), ((0, 1), (1, 2), (2, 3)))


def test_single_nodes_stand_between_virtual_ends() -> None:
    task = infer(Dag(("a",)), Dag(("b",)))
    assert (task.virtual_start, task.virtual_end, task.max_nodes) == (True, True, 3)
    assert task.wrap(Dag(("a",))) == Dag(("<start>", "a", "<end>"), ((0, 1), (1, 2)))
    assert task.unwrap(task.wrap(Dag(("a",)))) == Dag(("a",))
    assert task.is_valid(Dag(("a",)))


def test_one_label_for_source_and_sink_cannot_mark_both() -> None:
    task = infer(Dag(("x", "a", "x"), ((0, 1), (1, 2))))
    assert (task.virtual_start, task.virtual_end) == (True, True)


def test_integers_and_strings_are_labels_and_sorted_alike() -> None:
    task = infer(Dag((10, "b", 9, "a")), Dag((-1,)))
    assert task.vocabulary.labels == ("<start>", "<end>", -1, 9, 10, "a", "b")
    assert task.unbatch(task.batch([Dag((10, "b"), ((0, 1),))])) == [Dag((10, "b"), ((0, 1),))]
    assert infer(Dag((1,)), Dag(("1",))).vocabulary.labels[2:] == (1, "1")


@pytest.mark.parametrize("label", ["<start>", "<end>"])
def test_the_models_own_labels_are_reserved(label: str) -> None:
    with pytest.raises(TaskError, match=f"'{label}' in test is reserved"):
        infer(Dag((label, "a", "b"), ((0, 1), (1, 2))))


def test_no_dag_is_no_task() -> None:
    with pytest.raises(TaskError, match="no DAG"):
        infer()


def test_end_edges_are_sampled_only_where_loose_ends_do_not_say_them() -> None:
    assert not infer(*OWN_ENDS).sampled_end_edges
    also = Dag(("in", "a", "b", "out"), ((0, 1), (1, 2), (1, 3), (2, 3)))
    task = infer(*OWN_ENDS, also)
    assert task.sampled_end_edges
    assert task.hints.end_edges == "sampled"
    virtual = infer(also, Dag(("in", "a"), ((0, 1),)))  # the virtual end takes loose ends only, by construction
    assert virtual.virtual_end
    assert not virtual.sampled_end_edges


@given(st.lists(dags(), min_size=1, max_size=6))
def test_inferred_tasks_hold_their_dags_and_give_them_back(items: list[Dag]) -> None:
    labels = {label for dag in items for label in dag.types}
    assume(len(labels) != 2)  # two kinds of node, each an end of its own, leave nothing between
    task = infer(*items)
    assert all(map(task.is_valid, items))
    back = task.unbatch(task.batch(items))
    assert [task.key(dag) for dag in back] == [task.key(dag) for dag in items]
    assert [dag.canonical_key() for dag in back] == [dag.canonical_key() for dag in items]
    if task.virtual_end:
        assert back == items


@given(st.lists(dags(), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_isomorphic_dags_have_one_key_all_at_once_and_one_by_one(items: list[Dag], chance: random.Random) -> None:
    task = GenericTask("all", ("<start>", "<end>", "a", "b", "c", 0, 1), 9, virtual_start=True, virtual_end=True)
    mixed = [renumbered(dag, chance.sample(range(len(dag)), len(dag))) for dag in items]
    keys = task.keys(task.batch(items + mixed))
    assert keys[: len(items)] == keys[len(items) :]
    assert keys == [task.key(dag) for dag in items + mixed]
    for one, key in zip(items, keys, strict=False):
        for other, other_key in zip(items, keys, strict=False):
            assert (key == other_key) == (one.canonical_key() == other.canonical_key())


def test_no_graphs_have_no_keys() -> None:
    task = infer(*OWN_ENDS)
    assert task.keys(task.batch([])) == []
    assert task.unbatch(task.batch([])) == []


INVALID = {
    "two starts": Dag(("in", "in", "a", "out"), ((0, 2), (1, 2), (2, 3))),
    "two ends": Dag(("in", "a", "out", "out"), ((0, 1), (1, 2), (1, 3))),
    "no end": Dag(("in", "a", "b"), ((0, 1), (1, 2))),
    "no start": Dag(("a", "out"), ((0, 1),)),
    "a node without predecessors": Dag(("in", "a", "b", "out"), ((0, 1), (1, 3), (2, 3))),
    "a node without successors": Dag(("in", "a", "b", "out"), ((0, 1), (0, 2), (1, 3))),
    "an unknown type": Dag(("in", "z", "out"), ((0, 1), (1, 2))),
    "too many nodes": Dag(("in", "a", "a", "a", "out"), ((0, 1), (1, 2), (2, 3), (3, 4))),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name: str) -> None:
    assert not infer(*OWN_ENDS).is_valid(INVALID[name])


def test_the_end_may_stand_anywhere_a_topological_order_allows() -> None:
    """A sink that is not the last node of a file's DAG is the end all the same."""
    task = GenericTask("test", ("in", "out", "a"), 4, virtual_start=False, virtual_end=False)
    loose = Dag(("in", "out", "a"), ((0, 1),))  # a is a second sink
    assert not task.is_valid(loose)
    moved = renumbered(OWN_ENDS[0], [2, 0, 1])
    assert moved == OWN_ENDS[0]
    assert infer(*OWN_ENDS).is_valid(moved)


def test_the_spec_makes_an_equal_task_also_through_json() -> None:
    for task in (infer(*OWN_ENDS), infer(Dag((3, "a"), ((0, 1),)), Dag(("b",)))):
        again = from_spec(json.loads(json.dumps(to_spec(task))))
        assert isinstance(again, GenericTask)
        assert again.spec() == task.spec()
        assert again.vocabulary == task.vocabulary
        assert again.hints == task.hints
