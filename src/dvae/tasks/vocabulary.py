"""Labels and the indices a model knows them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dvae.dag import Label
from dvae.errors import TaskError

START_INDEX = 0
END_INDEX = 1
START_LABEL = "<start>"
END_LABEL = "<end>"


@dataclass(frozen=True)
class Vocabulary:
    """All labels of a model's DAGs: the start node's first, the end node's second, then the others."""

    labels: tuple[Label, ...]

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels):
            raise TaskError("a vocabulary names every type once")
        if len(self.labels) < 2:
            raise TaskError("a vocabulary needs a start type and an end type")

    @cached_property
    def index_of(self) -> dict[Label, int]:
        return {label: index for index, label in enumerate(self.labels)}

    @property
    def start(self) -> Label:
        return self.labels[START_INDEX]

    @property
    def end(self) -> Label:
        return self.labels[END_INDEX]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def with_virtual_ends(cls, labels: Sequence[Label]) -> Vocabulary:
        """`labels` between a virtual start and a virtual end."""
        for reserved in (START_LABEL, END_LABEL):
            if reserved in labels:
                raise TaskError(f"the type {reserved!r} is reserved for the model's own node; rename it")
        return cls((START_LABEL, END_LABEL, *labels))
