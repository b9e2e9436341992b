"""Every kind of task by name, outside ones included; tasks from names and from saved descriptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dvae.bayesnet.tables import split_order, with_order
from dvae.dag import Dataset, DataSource, ScoredDag
from dvae.dag.lines import line_of
from dvae.errors import CheckpointError, ConfigError, DvaeError, FormatError, MisfitError, MissingError, TaskError
from dvae.registry import Registry, path_of, suggestion
from dvae.tasks.base import Task
from dvae.tasks.bayesnet import BayesNetTask
from dvae.tasks.circuits import CircuitsTask
from dvae.tasks.enas import EnasTask
from dvae.tasks.enas_surrogate import EnasSurrogateTask
from dvae.tasks.expressions import ExpressionsTask
from dvae.tasks.generic import GenericTask
from dvae.tasks.nasbench201 import NasBench201Task
from dvae.tasks.nasbench_graph import NasBenchGraphTask
from dvae.tasks.raw import RawTask

NAMES = (
    "enas6, enas12 (enasN for any depth), enas6-surrogate, nasbench201, nasbench-graph:cora, circuits, expressions, "
    "asia, asia-bnlearn, bn:A,B,C (named variables), bn:FILE.csv (the columns of a table), file:DAGS.jsonl"
)
BUILT_IN: dict[str, type[Task]] = {
    "bayesnet": BayesNetTask,
    "circuits": CircuitsTask,
    "enas": EnasTask,
    "enas-surrogate": EnasSurrogateTask,
    "expressions": ExpressionsTask,
    "nasbench-graph": NasBenchGraphTask,
    "nasbench201": NasBench201Task,
    "generic": GenericTask,
    "raw": RawTask,
}
MAX_TASK_NODES = 1_000_000  # of a saved task; what fits into memory is checked where DAGs become tensors
EXAMPLES = tuple(name for kind in BUILT_IN.values() for name in kind.examples)


def _adapted(name: str, thing: Any) -> type[Task] | Task:
    """A class of tasks, or one task; a function without arguments may make it."""
    if isinstance(thing, type) and issubclass(thing, Task):
        return thing
    try:
        made = thing() if callable(thing) and not isinstance(thing, Task) else thing
    except DvaeError:
        raise
    except Exception as error:  # code from outside
        raise ConfigError(f"{name!r} made no task when it was called: {type(error).__name__}: {error}") from error
    if not isinstance(made, Task):
        raise ConfigError(f"{name!r} is no task: it must be a dvae.tasks.Task, or a class or function that makes one")
    return made


TASKS: Registry[type[Task] | Task] = Registry("task", "dvae.tasks", _adapted)
for _kind, _class in BUILT_IN.items():
    TASKS.register(_kind, _class)


def get(name: str | Task, *, order: Sequence[str] | None = None) -> Task:
    """The task called `name`: a built-in one, one of an installed package, or `package.module:name`.

    `file:PATH` is the task of the DAGs of a JSONL file, `bn:FILE.csv` that of networks over the columns of a table,
    scored on it. The variables' `order` may stand in the name, too (`bn:FILE.csv?order=A,B,C`); without one it is
    estimated by hill climbing.
    """
    if isinstance(name, Task):
        return name
    ordered = name if order is None else with_order(split_order(name)[0], order)
    for kind in BUILT_IN.values():
        found = kind.from_name(ordered)
        if found is not None:
            return found
    base, named_order = split_order(ordered)
    if named_order is not None:
        raise TaskError(f"an order is for tasks of Bayesian networks, such as bn:FILE.csv, not for {base!r}")
    return _outside(name)


def from_spec(spec: Mapping[str, Any]) -> Task:
    """The task that `to_spec` described."""
    try:
        kind = TASKS.get(str(spec["kind"]))
        task = kind if isinstance(kind, Task) else kind.from_spec(spec)
        _check_sizes(task)
        return task
    except MissingError as error:
        raise MissingError(f"the saved task cannot be made again: {error}") from None
    except KeyError as error:
        raise CheckpointError(f"the saved task cannot be read: it does not say its {error}") from error
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError, MemoryError) as error:
        raise CheckpointError(f"the saved task cannot be read: {error}") from error


def _check_sizes(task: Task) -> None:
    if not 1 <= task.max_nodes <= MAX_TASK_NODES or task.num_types > MAX_TASK_NODES:
        raise TaskError(f"its DAGs would have {task.max_nodes} nodes of {task.num_types} types")


def to_spec(task: Task) -> dict[str, Any]:
    """Plain values from which `from_spec` makes the task again."""
    kind = next((name for name, known in BUILT_IN.items() if type(task) is known), path_of(type(task)))
    return {"kind": kind, **task.spec()}


def read_dags(task: Task, path: str | Path) -> list[ScoredDag]:
    """The DAGs of a file; the error names the line of the first that `task` cannot hold."""
    items = task.read(path)
    try:
        task.batch([item.dag for item in items])
    except MisfitError as error:
        raise FormatError.at(path, line_of(path, error.number), error.problem) from None
    return items


def load_dataset(task: Task, source: DataSource) -> Dataset:
    """The data set of `task` that `source` describes."""
    if source.file is None:
        data = task.dataset(size=source.size, seed=source.seed)
    else:
        data = Dataset.split(source.file, read_dags(task, source.file), source.size)
    if isinstance(source.validation, float):
        data = data.with_validation(source.validation)
    elif source.validation is not None:
        kept_back = read_dags(task, source.validation)
        data = Dataset.of(data.name, data.train, [item.dag for item in kept_back], data.test)
    return Dataset(data.name, data.everything, data.train_size, data.validation_size, source)


def _outside(name: str) -> Task:
    head = name.partition(":")[0]
    if head in TASKS.names() and head not in BUILT_IN:
        kind = TASKS.get(head)
    elif (":" in name and "." in head) or (name in TASKS.names() and name not in BUILT_IN):
        kind = TASKS.get(name)
        return kind if isinstance(kind, Task) else kind()
    else:
        outside = [each for each in TASKS.names() if each not in BUILT_IN]
        choices = ", ".join([NAMES, *outside])
        close = suggestion(name, [*EXAMPLES, *outside]).partition(" There are")[0]
        advice = f"{close} " if close.startswith("did you mean") else ""
        raise TaskError(f"there is no task {name!r}; {advice}choose one of {choices}, or package.module:name")
    found = kind if isinstance(kind, Task) else kind.from_name(name)
    if found is None:
        raise TaskError(f"{name!r} is no task that {head} knows")
    return found
