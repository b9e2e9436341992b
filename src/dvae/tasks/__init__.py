"""What a DAG means. `get` finds a task by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dvae.errors import CheckpointError, TaskError
from dvae.tasks.base import ModelHints, Task
from dvae.tasks.bayesnet import ASIA_VARIABLES, BayesNetTask
from dvae.tasks.enas import EnasTask
from dvae.tasks.generic import GenericTask
from dvae.tasks.raw import RawTask

__all__ = ["BayesNetTask", "EnasTask", "GenericTask", "ModelHints", "RawTask", "Task", "from_spec", "get"]

KINDS: dict[str, type[Task]] = {
    "enas": EnasTask,
    "bayesnet": BayesNetTask,
    "generic": GenericTask,
    "raw": RawTask,
}
NAMES = "enas6, enas12 (enasN for any depth), asia, bn:A,B,C (named variables), file:DAGS.jsonl"


def get(name: str) -> Task:
    """The task called `name`: one of the named ones, or `file:PATH` for the DAGs of a JSONL file."""
    if depth := re.fullmatch(r"enas(\d{1,4})", name):
        return EnasTask(int(depth.group(1)))
    if name == "asia":
        return BayesNetTask("asia", ASIA_VARIABLES)
    if name.startswith("bn:"):
        variables = [variable.strip() for variable in name.removeprefix("bn:").split(",")]
        if all(variables):
            return BayesNetTask(name, variables)
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
