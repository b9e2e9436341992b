"""What every registered task promises. An installed package's tasks enter by themselves, under their own names.

The names of a kind are its `Task.examples`; an outside kind without any is asked for under its registered name.
"""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable, Hashable
from functools import cache, wraps
from typing import ParamSpec

import pytest

from dvae.dag import Dag, Dataset
from dvae.errors import DvaeError, MissingError, TaskError
from dvae.tasks import TASKS, GenericTask, RawTask, Task, from_spec, get, to_spec
from dvae.tasks.registry import BUILT_IN

COUNT = 12
OWN_DAGS = (
    Dag(("in", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3))),
    Dag(("in", "b", "out"), ((0, 1), (1, 2))),
    Dag(("in", "a", "a", "b", "out"), ((0, 1), (1, 2), (0, 3), (2, 4), (3, 4))),
)
PIECES = (Dag(("a", 3)), Dag((3, "a", "b"), ((0, 2), (1, 2))), Dag(("b",)))
RAW_DAGS = (Dag((0, 2, 4, 1), ((0, 1), (0, 2), (1, 3), (2, 3))), Dag((0, 3, 1), ((0, 1), (1, 2))))
UNNAMED: dict[str, tuple[str, Task, tuple[Dag, ...]]] = {  # no name makes these: by kind, and with DAGs of theirs
    "own ends": ("generic", GenericTask.infer("own ends", OWN_DAGS), OWN_DAGS),
    "virtual ends": ("generic", GenericTask.infer("virtual ends", PIECES), PIECES),
    "original weights": ("raw", RawTask(5, 6), RAW_DAGS),
}
Arguments = ParamSpec("Arguments")


def names_of(kind: str) -> list[str]:
    found = TASKS.get(kind)
    return list(found.examples) or ([] if kind in BUILT_IN else [kind])


NAMED = [name for kind in TASKS.names() for name in names_of(kind)]
named_tasks = pytest.mark.parametrize("name", NAMED)
every_task = pytest.mark.parametrize("name", [*NAMED, *UNNAMED])
SLOW_SCORES = ("enas6-surrogate",)  # a forest is fitted first


@cache
def task_of(name: str) -> Task:
    return UNNAMED[name][1] if name in UNNAMED else get(name)


@cache
def dags_of(name: str) -> tuple[Dag, ...]:
    """Some valid DAGs: sampled, or of the data set."""
    task = task_of(name)
    if name in UNNAMED:
        return UNNAMED[name][2]
    try:
        return tuple(task.sample(COUNT, seed=0))
    except TaskError:  # it has no sampler
        return tuple(item.dag for item in dataset_of(task).everything)[:COUNT]


def dataset_of(task: Task, seed: int = 0) -> Dataset:
    try:
        return task.dataset(size=40, seed=seed)
    except TaskError as error:
        pytest.skip(str(error))


def where_data_are(test: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Skips where a file or a package that the task needs is not here, and says which."""

    @wraps(test)
    def attempt(*arguments: Arguments.args, **keywords: Arguments.kwargs) -> None:
        try:
            test(*arguments, **keywords)
        except MissingError as error:
            pytest.skip(str(error))

    return attempt


def damaged(dag: Dag) -> list[Dag]:
    """DAGs that differ from a good one a little; most of them break a rule."""
    without_edge = [Dag(dag.types, tuple(edge for edge in dag.edges if edge != gone)) for gone in dag.edges]
    other_types = [
        Dag((*dag.types[:node], label, *dag.types[node + 1 :]), dag.edges)
        for node, label in itertools.product(range(len(dag)), (dag.types[0], dag.types[-1], "of no task"))
    ]
    shorter = [Dag(dag.types[:-1], tuple(edge for edge in dag.edges if edge[1] < len(dag) - 1))] if len(dag) > 1 else []
    return [*without_edge, *other_types, *shorter, Dag((dag.types[0],)), Dag(dag.types * 2, dag.edges)]


def reordered(dag: Dag, seed: int) -> Dag:
    """The same DAG with its nodes in another topological order."""
    chance, left, order = random.Random(seed), set(range(len(dag))), []
    while left:
        ready = sorted(node for node in left if not left & set(dag.predecessors()[node]))
        order.append(chance.choice(ready))
        left.remove(order[-1])
    rank = {node: place for place, node in enumerate(order)}
    return dag.rebuilt(order, [dag.types[node] for node in order], [(rank[u], rank[v]) for u, v in dag.edges])


def test_every_kind_has_an_example() -> None:
    with_names = {kind for kind in TASKS.names() if names_of(kind)}
    assert with_names | {kind for kind, _, _ in UNNAMED.values()} == set(TASKS.names())


@every_task
@where_data_are
def test_a_description_in_plain_values_makes_an_equal_task(name: str) -> None:
    task = task_of(name)
    again = from_spec(json.loads(json.dumps(to_spec(task), allow_nan=False)))
    for attribute in ("name", "full_name", "vocabulary", "max_nodes", "num_types", "hints", "look", "can_score"):
        assert getattr(again, attribute) == getattr(task, attribute), attribute
    assert type(again) is type(task)
    assert to_spec(again) == to_spec(task)


@named_tasks
@where_data_are
def test_its_full_name_makes_it_again(name: str) -> None:
    assert to_spec(get(task_of(name).full_name)) == to_spec(task_of(name))


@every_task
@where_data_are
def test_what_a_model_sees_comes_back(name: str) -> None:
    task, dags = task_of(name), dags_of(name)
    batch = task.batch(dags)
    assert len(batch) == len(dags)
    assert batch.max_nodes == task.max_nodes
    back = task.unbatch(batch)
    assert [sorted(map(str, dag.types)) for dag in back] == [sorted(map(str, dag.types)) for dag in dags]
    assert task.keys_of(back) == task.keys_of(dags)


@every_task
@where_data_are
def test_a_key_is_the_dags_own(name: str) -> None:
    task, dags = task_of(name), dags_of(name)
    keys = task.keys_of(dags)
    assert all(isinstance(key, Hashable) for key in keys)
    assert keys == [
        task.key(Dag(dag.types, dag.edges, dag.node, dag.edge)) for dag in dags
    ]  # whatever stands beside it in a batch
    assert len(set(keys)) > 1
    if task.hints.node_order != "given":  # then the order of nodes means nothing
        assert [task.key(reordered(dag, seed=1)) for dag in dags] == keys


@every_task
@where_data_are
def test_validity_is_one_thing_and_has_a_reason(name: str) -> None:
    task, dags = task_of(name), dags_of(name)
    assert all(task.is_valid(dag) for dag in dags)
    for dag in itertools.chain(dags, *map(damaged, dags[:3])):
        why = task.why_invalid(dag)
        assert task.is_valid(dag) == (why is None)
        assert why is None or len(why) > 10
        try:
            batch = task.batch([dag])
        except DvaeError:  # a model could not even see it
            assert why is not None
        else:
            assert bool(task.valid(batch)[0]) == (why is None)


@every_task
@where_data_are
def test_a_batch_is_valid_graph_by_graph(name: str) -> None:
    task, dags = task_of(name), dags_of(name)
    assert task.valid(task.batch(dags)).tolist() == [True] * len(dags)


@every_task
@where_data_are
def test_what_is_written_can_be_read(name: str) -> None:
    task = task_of(name)
    assert len(task.notation) > 5
    for dag in dags_of(name):
        assert task.key(task.parse(task.format(dag))) == task.key(dag)
    with pytest.raises(DvaeError, match="here: "):
        task.parse("no DAG at all", "here")


@every_task
@where_data_are
def test_nodes_have_names_of_their_own(name: str) -> None:
    for dag in dags_of(name):
        names = task_of(name).node_names(dag)
        assert len(set(names)) == len(names) == len(dag)


@every_task
@where_data_are
def test_exports_are_texts(name: str) -> None:
    task = task_of(name)
    formats = task.exports()
    assert len({each.key for each in formats}) == len(formats)
    for each in formats:
        assert each.label
        assert each.ending.startswith(".")
        assert each.write(dags_of(name)[0]).strip()


@every_task
@where_data_are
def test_samples_are_valid_fit_and_repeat(name: str) -> None:
    task = task_of(name)
    try:
        dags = task.sample(COUNT, seed=3)
    except TaskError as error:
        pytest.skip(str(error))
    assert len(dags) == COUNT
    assert dags == task.sample(COUNT, seed=3)
    assert dags != task.sample(COUNT, seed=4)
    assert all(task.is_valid(dag) for dag in dags)
    assert task.batch(dags).max_nodes <= task.max_nodes


@every_task
@where_data_are
def test_parts_of_its_data_are_slices_and_repeat(name: str) -> None:
    task = task_of(name)
    data, again = dataset_of(task, seed=5), dataset_of(task, seed=5)
    assert data == again
    assert data.fingerprint == again.fingerprint
    parts = [data.train, data.validation, data.test]
    assert sum((part.dags for part in parts), ()) == data.everything.dags
    assert sum((part.scores for part in parts), ()) == data.everything.scores
    assert len(data.train) > 0
    assert len(data.test) > 0
    assert all(task.is_valid(dag) for dag in data.everything.dags[:COUNT])


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW_SCORES else name for name in [*NAMED, *UNNAMED]]
)
@where_data_are
def test_scores_are_numbers_of_the_dag_alone(name: str) -> None:
    task, dags = task_of(name), list(dags_of(name))
    if not task.can_score:
        with pytest.raises(TaskError, match=r"score"):
            task.scores(dags)
        return
    scores = task.scores(dags)
    assert len(scores) == len(dags)
    assert all(isinstance(score, float) and math.isfinite(score) for score in scores)
    assert task.scores(dags[::-1]) == pytest.approx(scores[::-1], rel=1e-9)
    assert task.score(dags[0]) == pytest.approx(scores[0], rel=1e-9)
    best = task.known_optimum()
    assert best is None or best >= max(scores) - 1e-9
