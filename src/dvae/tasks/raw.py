"""Graphs exactly as a model holds them: integer types, nothing wrapped. For weights of the original code."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import asdict
from typing import Any

from torch import Tensor

from dvae.dag import Dag, DagBatch
from dvae.tasks.base import ModelHints, Task, packed_rows, well_formed
from dvae.tasks.rules import ConnectedRules
from dvae.tasks.vocabulary import Vocabulary


class RawTask(Task):
    """Types 0 (start), 1 (end), 2.. as stored in the original implementation's files."""

    rules = ConnectedRules()
    preset = "paper"

    def __init__(self, num_types: int, max_nodes: int, hints: ModelHints | None = None) -> None:
        self.name = f"raw:{num_types}:{max_nodes}"
        self.vocabulary = Vocabulary(tuple(range(num_types)))
        self.max_nodes = max_nodes
        self.hints = hints or ModelHints()

    @classmethod
    def from_name(cls, name: str) -> RawTask | None:
        return None  # made by the reader of original weights, never by name

    def spec(self) -> dict[str, Any]:
        sizes = {"num_types": self.num_types, "max_nodes": self.max_nodes}
        return {**sizes, "hints": asdict(self.hints)}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> RawTask:
        return cls(int(spec["num_types"]), int(spec["max_nodes"]), ModelHints(**spec["hints"]))

    def wrap(self, dag: Dag) -> Dag:
        return dag

    def unwrap(self, dag: Dag) -> Dag:
        return dag

    def valid(self, batch: DagBatch) -> Tensor:
        return well_formed(batch)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        return packed_rows(batch.num_nodes[:, None], batch.types, batch.adjacency)
