"""Task graphs in JSON, as schedulers write them: tasks with the names of those before or after them.

Understood are: Airflow's tasks (of its REST interface, or a DAG it has serialised), Dagster's assets, dbt's manifest,
graphs with `nodes` and `edges` or `links` (as networkx and many others write them), and any list or object of tasks
with one of the keys below.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dvae.dag import Dag, Value
from dvae.dag.columns import columns_of, finite
from dvae.dag.limits import check_size
from dvae.errors import DagError, FormatError
from dvae.importers.files import FilePath, read_json

LISTS = ("tasks", "nodes", "assetNodes", "assets", "ops", "steps", "jobs")
NAMES = ("id", "task_id", "name", "assetKey", "key", "unique_id")
TYPES = ("type", "operator_name", "operator", "_task_type", "task_type", "computeKind", "kind", "resource_type",
         "class_ref", "category", "label")  # fmt: skip
BEFORE = ("depends_on", "dependencies", "dependencyKeys", "upstream", "upstream_task_ids", "parents", "needs")
AFTER = ("downstream_task_ids", "downstream", "children", "dependedByKeys")
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
    tasks = _tasks(content)
    check_size(len(tasks), 0)
    place = {name: number for number, name in enumerate(tasks)}
    edges = {(place[source], place[target]) for source, target in _edges(content, tasks)}
    check_size(len(tasks), len(edges))
    types = [_type(name, task, type_from) for name, task in tasks.items()]
    return Dag(tuple(types), tuple(sorted(edges)), columns_of([dict(_numbers(task)) for task in tasks.values()], ()))


def _tasks(content: Any) -> dict[str, dict[str, Any]]:
    listed = _listed(content)
    pairs: Iterable[tuple[Any, Any]] = listed.items() if isinstance(listed, dict) else ((None, item) for item in listed)
    tasks: dict[str, dict[str, Any]] = {}
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


def _listed(content: Any) -> Any:
    if isinstance(content, dict):
        for wrapper in ("dag", "data", "graph"):  # Airflow's serialised DAG, GraphQL's answers
            inner = content.get(wrapper)
            if isinstance(inner, dict) and any(name in inner for name in LISTS):
                return _listed(inner)
        named = next((content[name] for name in LISTS if isinstance(content.get(name), list | dict)), None)
        if named is not None:
            more = content.get("sources")  # dbt keeps what it only reads apart
            return {**named, **more} if isinstance(named, dict) and isinstance(more, dict) else named
        if content and all(isinstance(value, dict | list) for value in content.values()):
            return content
    elif isinstance(content, list):
        return content
    raise DagError(f"there is no list of tasks in it (looked for {', '.join(LISTS)})")


def _name_of(task: Mapping[str, Any]) -> str:
    found = next((task[key] for key in NAMES if key in task), None)
    if found is None:
        raise DagError(f"the task {reprlib.repr(task)} has no name (looked for {', '.join(NAMES)})")
    return _reference(found)


def _reference(given: Any) -> str:
    """A name, or an object that holds one: {"path": ["a", "b"]}, {"id": ...}."""
    if isinstance(given, dict):
        given = next((given[key] for key in ("path", *NAMES, "task") if key in given), given)
    if isinstance(given, list) and given and all(isinstance(part, str) for part in given):
        given = "/".join(given)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise DagError(f"{reprlib.repr(given)} is no name of a task")
    return str(given)


def _edges(content: Any, tasks: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for name, task in tasks.items():
        for keys, before in ((BEFORE, True), (AFTER, False)):
            for other in _references(task, keys):
                if other not in tasks or other == name:
                    raise _unknown(name, other)
                yield (other, name) if before else (name, other)
    if isinstance(content, dict):
        for edge in next((content[key] for key in EDGES if isinstance(content.get(key), list)), ()):
            source, target = _ends(edge)
            for end in (source, target):
                if end not in tasks or source == target:
                    raise _unknown(source, target if source == target else end)
            yield source, target


def _unknown(name: str, other: str) -> DagError:
    what = "itself" if name == other else f"{reprlib.repr(other)}, which is not in the file"
    return DagError(f"the task {reprlib.repr(name)} is connected with {what}")


def _references(task: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    for key in keys:
        given = task.get(key)
        if isinstance(given, dict):  # dbt: {"macros": [...], "nodes": [...]}
            given = next((given[name] for name in ("nodes", "tasks") if name in given), list(given))
        if isinstance(given, str):
            given = [given]
        if isinstance(given, list):
            yield from map(_reference, given)


def _ends(edge: Any) -> tuple[str, str]:
    if isinstance(edge, dict):
        pair = next(((edge[a], edge[b]) for a, b in ENDS if a in edge and b in edge), None)
    else:
        pair = tuple(edge[:2]) if isinstance(edge, list) and len(edge) >= 2 else None
    if pair is None:
        raise DagError(f"the edge {reprlib.repr(edge)} has no source and target")
    return _reference(pair[0]), _reference(pair[1])


def _type(name: str, task: Mapping[str, Any], type_from: str | None) -> str:
    if type_from == "name":
        return name
    keys = TYPES if type_from is None else (type_from,)
    found = next((task[key] for key in keys if task.get(key) is not None), None)
    if isinstance(found, dict):  # Airflow: {"class_name": "BashOperator", "module_path": ...}
        found = found.get("class_name")
    if isinstance(found, str | int) and not isinstance(found, bool):
        return str(found)
    if type_from is not None:
        raise DagError(f"the task {reprlib.repr(name)} has no {type_from!r} that could be its type")
    return UNTYPED


def _numbers(task: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for key, value in task.items():
        if isinstance(value, int | float) and key not in (*NAMES, *TYPES) and finite(value) is not None:
            yield key, finite(value)
