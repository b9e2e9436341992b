"""The one call that goes against the flow of imports, given to its caller instead of imported by it.

`Task.dataset` is a thin call into the data room, which stands to the right of the tasks. `dvae/__init__.py` connects
the two before any other module of the package runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_dataset_maker: list[Callable[..., Any]] = []


def connect_datasets(maker: Callable[..., Any]) -> None:
    """Says who makes a task's data set."""
    _dataset_maker[:] = [maker]


def make_dataset(task: object, **options: Any) -> Any:
    return _dataset_maker[0](task, **options)
