"""What is fuzzed: a way of reading a file, examples of good files, and how they are changed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.mutations import Mutate


def _nothing(folder: Path) -> None:
    pass


@dataclass(frozen=True)
class Target:
    """`read` takes a folder that `prepare` filled and in which `file` was changed: it gives a value or a DvaeError."""

    name: str
    file: str
    read: Callable[[Path], Any]
    examples: tuple[bytes, ...]
    mutate: Mutate
    prepare: Callable[[Path], None] = _nothing
    share: float = 1.0  # of the inputs, as against other targets: slow ones have less


def all_targets(folder: Path, only: Collection[str] | None = None) -> list[Target]:
    """The targets of every module in `targets`; each has `targets(folder)`, whose folder is for examples."""
    found: list[Target] = []
    for path in sorted((Path(__file__).parent / "targets").glob("*.py")):
        if only is not None and path.stem not in only:
            continue
        module = importlib.import_module(f"fuzz.targets.{path.stem}")
        found += module.targets(folder)
    return found
