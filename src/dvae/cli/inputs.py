"""Tasks and DAGs as a user names them on the command line."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import DagError, FormatError, TaskError

if TYPE_CHECKING:
    from dvae.dag import ScoredDag
    from dvae.tasks import Task

FILE_ENDINGS = (".jsonl", ".json", ".gz", ".txt")
PREFIXES = ("file:", "bn:", "nasbench201")


def is_file_name(text: str) -> bool:
    """Whether a word means a file of DAGs and not a task."""
    if text.startswith(PREFIXES):
        return False
    return text.endswith(FILE_ENDINGS) or os.sep in text or Path(text).is_file()


def task_name(text: str) -> str:
    """The name of the task that `text`, a task or a file of DAGs, means; paths are made absolute."""
    if is_file_name(text):
        text = f"file:{text}"
    if text.startswith("file:"):
        return f"file:{Path(text.removeprefix('file:')).absolute()}"
    if text.startswith("bn:"):
        from dvae.bayesnet.tables import absolute_name

        return absolute_name(text)
    return text


def get_task(name: str) -> Task:
    """The task called `name`; what is wrong with a file of DAGs is said with its name."""
    from dvae import tasks

    try:
        return tasks.get(name)
    except TaskError as error:
        path = name.removeprefix("file:")
        if path == name or path in str(error):
            raise
        raise FormatError(f"{path}: {error}") from None


def task_of_file(path: Path, task: str | None) -> Task:
    """The task named, or the smallest one that holds the DAGs of the file."""
    if task is not None:
        return get_task(task_name(task))
    if path.suffix == ".txt":
        raise TaskError(f"{path}: the original text format needs its task: add --task enas6 or --task asia")
    return get_task(f"file:{path}")


def read_dags(path: Path, task: Task) -> list[ScoredDag]:
    """The DAGs of a file; the error names the line of the first that `task` cannot hold."""
    items = task.read(path)
    try:
        task.batch([item.dag for item in items])
    except (TaskError, DagError):
        for place, item in enumerate(items):
            try:
                task.batch([item.dag])
            except (TaskError, DagError) as error:
                problem = error.problem if isinstance(error, TaskError) else str(error)
                raise FormatError.at(path, line_of(path, place), problem) from None
        raise
    return items


def line_of(path: Path, place: int) -> int:
    """The number of the line that holds the DAG at a place of the file."""
    from dvae.dag.lines import numbered_lines

    number, _ = next(islice(numbered_lines(path), place, None))
    return number
