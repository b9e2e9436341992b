"""Tasks by name, and what all of them promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from dvae.dag import Dag, write_jsonl
from dvae.errors import CheckpointError, ConfigError, DvaeError, TaskError
from dvae.tasks import BayesNetTask, EnasTask, GenericTask, RawTask, Task, from_spec, get, to_spec

TASKS: dict[str, Task] = {
    "enas6": get("enas6"),
    "asia": get("asia"),
    "bn": get("bn:rain, sprinkler,wet"),
    "generic": GenericTask("g", ("<start>", "<end>", "a", 3), 6, virtual_start=True, virtual_end=True),
    "nasbench201": get("nasbench201"),
    "nasbench-graph": get("nasbench-graph:cora"),
    "enas6-surrogate": get("enas6-surrogate"),
    "raw": RawTask(5, 6),
    "raw, with hints": RawTask(10, 10, BayesNetTask.hints),
}


def test_the_named_tasks() -> None:
    assert isinstance(get("enas12"), EnasTask)
    assert get("enas12").max_nodes == 14
    assert get("bn:rain, sprinkler,wet").variables == ("rain", "sprinkler", "wet")  # type: ignore[attr-defined]
    assert get("asia").max_nodes == 10


@pytest.mark.parametrize(
    "name", ["", "enas", "enasx", "enas0", "enas99999", "Asia", "bn:", "bn:A", "bn:A,,B", "bn:A,A"]
)
def test_an_unknown_task_is_refused(name: str) -> None:
    with pytest.raises(TaskError):
        get(name)


def test_the_message_names_the_choices() -> None:
    with pytest.raises(TaskError, match=r"no task 'asai'; did you mean 'asia'\? choose one of enas6, .*asia"):
        get("asai")


def test_a_file_is_a_task(tmp_path: Path) -> None:
    dags = [Dag(("a", "b", 7), ((0, 2), (1, 2))), Dag((7,))]
    write_jsonl(tmp_path / "some.jsonl", dags)
    task = get(f"file:{tmp_path / 'some.jsonl'}")
    assert isinstance(task, GenericTask)
    assert all(map(task.is_valid, dags))
    assert task.max_nodes == 5


def test_a_file_that_is_not_there_or_not_good_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DvaeError, match=r"nothing\.jsonl"):
        get(f"file:{tmp_path / 'nothing.jsonl'}")
    (tmp_path / "bad.jsonl").write_text('{"types": ["a"], "edges": [[0, 0]]}\n')
    with pytest.raises(DvaeError, match=r"bad\.jsonl:1"):
        get(f"file:{tmp_path / 'bad.jsonl'}")


@pytest.mark.parametrize("name", TASKS)
def test_the_spec_makes_an_equal_task(name: str) -> None:
    task = TASKS[name]
    again = from_spec(to_spec(task))
    assert type(again) is type(task)
    assert again.spec() == task.spec()
    assert (again.name, again.max_nodes, again.vocabulary) == (task.name, task.max_nodes, task.vocabulary)
    assert again.rules == task.rules
    assert again.hints == task.hints, "a model saved for this task could not be built again"


@pytest.mark.parametrize(
    "spec", [{}, {"kind": "?"}, {"kind": "raw"}, {"kind": "bayesnet", "name": "x", "variables": 3}]
)
def test_a_spec_that_says_too_little_is_refused(spec: dict) -> None:
    with pytest.raises(CheckpointError, match="saved task"):
        from_spec(spec)


def test_a_task_without_a_sampler_says_so() -> None:
    with pytest.raises(TaskError, match="no sampler"):
        TASKS["generic"].sample(3, seed=0)


@pytest.mark.parametrize("name", ["enas6", "asia", "bn"])
def test_an_empty_sample_is_empty(name: str) -> None:
    assert TASKS[name].sample(0, seed=0) == []


@pytest.mark.parametrize("name", TASKS)
def test_a_task_names_itself(name: str) -> None:
    assert TASKS[name].name in repr(TASKS[name])


def test_a_function_that_needs_more_than_a_name_is_no_task() -> None:
    with pytest.raises(ConfigError, match=r"'os\.path:join' made no task when it was called: TypeError"):
        get("os.path:join")
