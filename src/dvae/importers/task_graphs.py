"""Task graphs in JSON, as schedulers write them: tasks with the names of those before or after them.

Understood are: Airflow's tasks (of its REST interface, or a DAG it has serialised), Dagster's assets and the solids of
its jobs (answers of its GraphQL), dbt's manifest, graphs with `nodes` and `edges` or `links` (as networkx and many
others write them), and any list or object of tasks with one of the keys in `task_lists`. A task may have several names,
such as an id and a key, and others may call it by any of them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from dvae.dag import Dag, Value
from dvae.dag.columns import columns_of, finite
from dvae.dag.limits import check_size
from dvae.errors import DagError, FormatError
from dvae.importers.files import FilePath, read_json
from dvae.importers.task_lists import AFTER, BEFORE, NAMES, TYPES, Task, names_of, reference, tasks_of, unwrapped

EDGES, ENDS = ("edges", "links"), (("source", "target"), ("from", "to"), ("source_id", "target_id"))
UNTYPED = "task"


def from_task_json(path: FilePath, *, type_from: str | None = None) -> Dag:
    """The graph of a JSON file of tasks; `type_from` names the key that says what a task is.

    Numbers of a task (retries, minutes, ...) are columns.
    """
    content = read_json(path)
    try:
        return task_graph(content, type_from=type_from)
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None


def task_graph(content: Any, *, type_from: str | None = None) -> Dag:
    """The graph that a JSON value of tasks describes."""
    inner = unwrapped(content)
    tasks = tasks_of(inner)
    check_size(len(tasks), 0)
    place = {name: number for number, name in enumerate(tasks)}
    edges = {(place[source], place[target]) for source, target in _edges(inner, tasks)}
    check_size(len(tasks), len(edges))
    types = [_type(name, task, type_from) for name, task in tasks.items()]
    return Dag(tuple(types), tuple(sorted(edges)), columns_of([dict(_numbers(task)) for task in tasks.values()], ()))


def _edges(content: Any, tasks: Mapping[str, Task]) -> Iterator[tuple[str, str]]:
    names = names_of(tasks)
    for name, task in tasks.items():
        for other in _before(task):
            yield _other(names, name, other), name
        for other in _references(task, AFTER):
            yield name, _other(names, name, other)
    if isinstance(content, dict):
        for edge in next((content[key] for key in EDGES if isinstance(content.get(key), list)), ()):
            source, target = _ends(edge)
            known = names.get(source)
            if known is None:
                raise DagError(f"an edge begins at {reprlib.repr(source)}, which is not in the file")
            yield known, _other(names, known, target)


def _other(names: Mapping[str, str], name: str, given: str) -> str:
    """The task that a second one calls `given`."""
    other = names.get(given)
    if other is None or other == name:
        what = "itself" if other == name else f"{reprlib.repr(given)}, which is not in the file"
        raise DagError(f"the task {reprlib.repr(name)} is connected with {what}")
    return other


def _before(task: Task) -> Iterator[str]:
    yield from _references(task, BEFORE)
    inputs = task.get("inputs")  # a solid of Dagster: [{"dependsOn": [{"solid": {"name": ...}}]}]
    for each in inputs if isinstance(inputs, list) else ():
        if isinstance(each, dict):
            yield from _references(each, ("dependsOn",))


def _references(task: Task, keys: tuple[str, ...]) -> Iterator[str]:
    for key in keys:
        given = task.get(key)
        if isinstance(given, dict):  # dbt: {"macros": [...], "nodes": [...]}
            given = next((given[name] for name in ("nodes", "tasks") if name in given), list(given))
        if isinstance(given, str):
            given = [given]
        if isinstance(given, list):
            yield from map(reference, given)


def _ends(edge: Any) -> tuple[str, str]:
    if isinstance(edge, dict):
        pair = next(((edge[a], edge[b]) for a, b in ENDS if a in edge and b in edge), None)
    else:
        pair = tuple(edge[:2]) if isinstance(edge, list) and len(edge) >= 2 else None
    if pair is None:
        raise DagError(f"the edge {reprlib.repr(edge)} has no source and target")
    return reference(pair[0]), reference(pair[1])


def _type(name: str, task: Task, type_from: str | None) -> str:
    if type_from == "name":
        return name
    keys = TYPES if type_from is None else (type_from,)
    found = next((task[key] for key in keys if task.get(key) is not None), None)
    if isinstance(found, dict):  # Airflow: {"class_name": "BashOperator", ...}; Dagster: {"name": "clean", ...}
        found = found.get("class_name", found.get("name"))
    if isinstance(found, str | int) and not isinstance(found, bool):
        return str(found)
    if type_from is not None:
        raise DagError(f"the task {reprlib.repr(name)} has no {type_from!r} that could be its type")
    return UNTYPED


def _numbers(task: Task) -> Iterator[tuple[str, Value]]:
    for key, value in task.items():
        if isinstance(value, int | float) and key not in (*NAMES, *TYPES) and finite(value) is not None:
            yield key, finite(value)
