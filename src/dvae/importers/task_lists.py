"""Where the tasks are in a JSON value: the list or object that schedulers and services wrap in others."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

from dvae.errors import DagError

LISTS = ("tasks", "nodes", "assetNodes", "assets", "solids", "ops", "steps", "jobs")
WRAPPERS = ("dag", "data", "graph")  # Airflow's serialised DAG, GraphQL's answers
NAMES = ("id", "task_id", "name", "assetKey", "key", "unique_id")
TYPES = ("type", "operator_name", "operator", "_task_type", "task_type", "computeKind", "kind", "resource_type",
         "class_ref", "category", "definition", "label")  # fmt: skip
BEFORE = ("depends_on", "dependencies", "dependencyKeys", "upstream", "upstream_task_ids", "parents", "needs")
AFTER = ("downstream_task_ids", "downstream", "children", "dependedByKeys")

Task = Mapping[str, Any]


def unwrapped(content: Any) -> Any:
    """What is inside the answer of a service: {"data": {"pipelineOrError": {"solids": [...]}}}."""
    if isinstance(content, dict) and not any(isinstance(content.get(name), list | dict) for name in LISTS):
        for wrapper in WRAPPERS:
            inner = content.get(wrapper)
            while isinstance(inner, dict):
                if any(name in inner for name in LISTS):
                    return unwrapped(inner)
                inner = next(iter(inner.values())) if len(inner) == 1 else None
    return content


def tasks_of(content: Any) -> dict[str, Task]:
    """The tasks of an unwrapped value, by name."""
    listed = _listed(content)
    pairs: Iterable[tuple[Any, Any]] = listed.items() if isinstance(listed, dict) else ((None, item) for item in listed)
    tasks: dict[str, Task] = {}
    for key, given in pairs:
        task = given.get("__var", given) if isinstance(given, dict) else given
        if isinstance(task, list) and key is not None:  # {"load": ["extract"]}
            task = {"depends_on": task}
        if not isinstance(task, dict):
            raise DagError(f"a task is an object, not {reprlib.repr(task)}")
        name = key if key is not None else _name_of(task)
        if name in tasks:
            raise DagError(f"the task {reprlib.repr(name)} is there twice")
        tasks[name] = task
    if not tasks:
        raise DagError("there is no task in it")
    return tasks


def names_of(tasks: Mapping[str, Task]) -> dict[str, str]:
    """The task that each name stands for: its own, and any other name that no second task has."""
    others: dict[str, set[str]] = {}
    for name, task in tasks.items():
        for key in NAMES:
            if isinstance(task.get(key), str | dict | list):
                others.setdefault(reference(task[key]), set()).add(name)
    alone = {other: next(iter(found)) for other, found in others.items() if len(found) == 1}
    return {**alone, **{name: name for name in tasks}}


def reference(given: Any) -> str:
    """A name, or an object that holds one: {"path": ["a", "b"]}, {"id": ...}, {"solid": {"name": ...}}."""
    if isinstance(given, dict):
        given = given.get("solid", given)
    if isinstance(given, dict):
        given = next((given[key] for key in ("path", *NAMES, "task") if key in given), given)
    if isinstance(given, list) and given and all(isinstance(part, str) for part in given):
        given = "/".join(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise DagError(f"{reprlib.repr(given)} is no name of a task")
    return str(given)


def _listed(content: Any) -> Any:
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        named = next((content[name] for name in LISTS if isinstance(content.get(name), list | dict)), None)
        if named is not None:
            more = content.get("sources")  # dbt keeps what it only reads apart
            return {**named, **more} if isinstance(named, dict) and isinstance(more, dict) else named
        if _is_map(content):
            return content
    raise DagError(f"there is no list of tasks in it (looked for {', '.join(LISTS)})")


def _is_map(content: Mapping[str, Any]) -> bool:
    """Whether it is {"load": ["extract"], ...} or {"load": {"depends_on": [...]}, ...}, and not just any object."""
    known = {*TYPES, *BEFORE, *AFTER, "__var"}
    values = list(content.values())
    if not all(isinstance(value, dict | list) for value in values):
        return False
    return any(isinstance(value, list) or not value or not known.isdisjoint(value) for value in values)


def _name_of(task: Task) -> str:
    found = next((task[key] for key in NAMES if key in task), None)
    if found is None:
        raise DagError(f"the task {reprlib.repr(task)} has no name (looked for {', '.join(NAMES)})")
    return reference(found)
