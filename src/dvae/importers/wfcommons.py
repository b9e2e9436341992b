"""Workflows of WfCommons (WfFormat 1.2 to 1.6): tasks with how long they ran and how much they read and wrote."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from dvae.dag import Dag, Value
from dvae.dag.columns import columns_of, finite
from dvae.dag.limits import check_size
from dvae.errors import DagError, FormatError
from dvae.importers.files import FilePath, read_json

PARTED, ID = ("_", ".", "-"), "ID"  # before a number: mProject_ID0000007
RUNTIME, READ, WRITTEN, MEMORY = "runtime", "bytes_read", "bytes_written", "memory"


def from_wfcommons(path: FilePath) -> Dag:
    """The workflow of a JSON file: its tasks by kind, with the columns runtime, bytes and memory where they are known.

    The property `makespan` is how long the whole took; WfCommons writes 0 for what was generated and never ran.
    """
    content = read_json(path)
    if not is_wfcommons(content):
        raise FormatError(f'{path}: not a workflow of WfCommons (it has no "workflow" with tasks)')
    try:
        return _dag(content["workflow"])
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None


def is_wfcommons(content: Any) -> bool:
    """Whether a JSON value looks like a workflow of WfCommons."""
    workflow = content.get("workflow") if isinstance(content, dict) else None
    if not isinstance(workflow, dict):
        return False
    return any(isinstance(_inner(workflow).get(key), list) for key in ("tasks", "jobs"))


def _inner(workflow: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where the tasks are: version 1.5 keeps what was asked for and what was measured apart."""
    found = workflow.get("specification", workflow)
    return found if isinstance(found, dict) else {}


def _dag(workflow: Mapping[str, Any]) -> Dag:
    inner = _inner(workflow)
    tasks = {_id(task): task for task in _objects(inner, "tasks") or _objects(inner, "jobs")}
    if not tasks:
        raise DagError("the workflow has no task")
    check_size(len(tasks), 0)
    execution = workflow.get("execution")
    measured = {_id(task): task for task in _objects(execution if isinstance(execution, dict) else {}, "tasks")}
    sizes = {str(file.get("id")): file.get("sizeInBytes") for file in _objects(inner, "files")}
    place = {name: number for number, name in enumerate(tasks)}
    by_name = {task["name"]: name for name, task in tasks.items() if isinstance(task.get("name"), str)}
    edges = {(place[source], place[target]) for source, target in _edges(tasks, by_name)}
    check_size(len(tasks), len(edges))
    rows = [dict(_values({**tasks[name], **measured.get(name, {})}, tasks[name], sizes)) for name in tasks]
    types = tuple(_kind(name, task) for name, task in tasks.items())
    makespan = _number({**workflow, **(execution if isinstance(execution, dict) else {})}, "makespan") or None
    return Dag(types, tuple(sorted(edges)), columns_of(rows, ()), properties={"makespan": makespan})  # type: ignore[dict-item]


def _objects(parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = parent.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise DagError(f'"{key}" is not a list of objects')
    return found


def _id(task: Mapping[str, Any]) -> str:
    name = task.get("id", task.get("name"))
    if not isinstance(name, str):
        raise DagError(f"the task {reprlib.repr(dict(task))} has no id")
    return name


def _kind(name: str, task: Mapping[str, Any]) -> str:
    """What a task does: its category, or its name without the number that makes it unique.

    Where the id already is the name with a number (chr21, chr21_00000001), the name's own number stays.
    """
    given = task.get("category", task.get("name", name))
    text = given if isinstance(given, str) and given else name
    if name != text and name.startswith(text) and not name[len(text)].isdigit():
        return text
    return _without_numbers(text) or text


def _without_numbers(text: str) -> str:
    """The text before the numbers at its end. (A pattern would try all ways to divide many digits.)"""
    end = len(text)
    while end and text[end - 1].isdecimal():
        while end and text[end - 1].isdecimal():
            end -= 1
        end -= len(ID) if text.endswith(ID, 0, end) else 0
        end -= 1 if text.endswith(PARTED, 0, end) else 0
    return text[:end]


def _edges(tasks: Mapping[str, Mapping[str, Any]], by_name: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, task in tasks.items():
        for key in ("parents", "children"):
            others = task.get(key) or []
            if not isinstance(others, list):
                raise DagError(f'"{key}" of the task {reprlib.repr(name)} is not a list')
            for given in others:
                named = given if isinstance(given, str) else ""
                other = named if named in tasks else by_name.get(named)
                if other is None or other == name:
                    raise DagError(f"the task {reprlib.repr(name)} has no such {key}: {reprlib.repr(given)}")
                yield (other, name) if key == "parents" else (name, other)


def _values(
    task: Mapping[str, Any], asked: Mapping[str, Any], sizes: Mapping[str, Any]
) -> Iterator[tuple[str, Value]]:  # fmt: skip
    runtime, memory = _number(task, "runtime"), _number(task, "memory")
    if runtime is not None:
        yield RUNTIME, runtime
    if memory is not None:
        yield MEMORY, memory
    for column, key, link in ((READ, "inputFiles", "input"), (WRITTEN, "outputFiles", "output")):
        listed = asked.get(key)
        found = [sizes.get(name) for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        files = asked.get("files")
        if isinstance(files, list):
            found += [_number(file, "size") for file in files if isinstance(file, dict) and file.get("link") == link]
        known = [number for number in map(finite, found) if number is not None]
        if known:
            yield column, sum(known)


def _number(holder: Mapping[str, Any], name: str) -> float | int | None:
    """A number whose key may tell its unit, as newer versions have it."""
    keys = (name, f"{name}InSeconds", f"{name}InBytes")
    return next((number for key in keys if (number := finite(holder.get(key))) is not None), None)
