"""What a DAG means. `get` finds a task by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from dvae.bayesnet.tables import split_order
from dvae.errors import CheckpointError, TaskError
from dvae.tasks import enas_surrogate
from dvae.tasks.base import ModelHints, Task
from dvae.tasks.bayesnet import BayesNetTask, network_task
from dvae.tasks.enas import EnasTask
from dvae.tasks.enas_surrogate import EnasSurrogateTask
from dvae.tasks.generic import GenericTask
from dvae.tasks.nasbench201 import NasBench201Task
from dvae.tasks.nasbench_graph import PREFIX as GRAPH_PREFIX
from dvae.tasks.nasbench_graph import NasBenchGraphTask
from dvae.tasks.raw import RawTask
from dvae.tasks.tabular import TabularTask

__all__ = [
    "BayesNetTask",
    "EnasSurrogateTask",
    "EnasTask",
    "GenericTask",
    "ModelHints",
    "NasBench201Task",
    "NasBenchGraphTask",
    "RawTask",
    "TabularTask",
    "Task",
    "from_spec",
    "get",
]

KINDS: dict[str, type[Task]] = {
    "enas": EnasTask,
    "enas-surrogate": EnasSurrogateTask,
    "nasbench201": NasBench201Task,
    "nasbench-graph": NasBenchGraphTask,
    "bayesnet": BayesNetTask,
    "generic": GenericTask,
    "raw": RawTask,
}
NAMES = (
    "enas6, enas12 (enasN for any depth), enas6-surrogate, nasbench201, nasbench-graph:cora, asia, asia-bnlearn, "
    "bn:A,B,C (named variables), "
    "bn:FILE.csv (the columns of a table), file:DAGS.jsonl"
)


def get(name: str, *, order: Sequence[str] | None = None) -> Task:
    """The task called `name`: one of the named ones, or `file:PATH` for the DAGs of a JSONL file.

    `bn:FILE.csv` is the task of networks over the columns of a table, scored on it. Its variables' `order` may stand
    in the name, too (`bn:FILE.csv?order=A,B,C`); without one it is estimated by hill climbing.
    """
    networks = network_task(name, order)
    if networks is not None:
        return networks
    base, named_order = split_order(name)
    if order is not None or named_order is not None:
        raise TaskError(f"an order is for tasks of Bayesian networks, such as bn:FILE.csv, not for {base!r}")
    if depth := re.fullmatch(r"enas(\d{1,4})", name):
        return EnasTask(int(depth.group(1)))
    if name == enas_surrogate.NAME:
        return EnasSurrogateTask()
    if name.startswith(GRAPH_PREFIX):
        return NasBenchGraphTask(name.removeprefix(GRAPH_PREFIX))
    cells = NasBench201Task.named(name)
    if cells is not None:
        return cells
    if name.startswith("file:"):
        from dvae.dag.jsonl import read_jsonl

        path = name.removeprefix("file:")
        return GenericTask.infer(name, (item.dag for item in read_jsonl(path)))
    raise TaskError(f"there is no task {name!r}; choose one of {NAMES}")


def from_spec(spec: Mapping[str, Any]) -> Task:
    """The task that `Task.spec` described."""
    try:
        return KINDS[spec["kind"]].from_spec(spec)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"the saved task cannot be read: {error}") from error
