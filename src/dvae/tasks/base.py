"""What a DAG means: its vocabulary, its size, which DAGs are valid and which are the same.

A user sees domain DAGs; a model sees DAGs with exactly one start node (type 0, first) and one end node (type 1,
last). A task stands between the two: `batch` wraps and indexes, `unbatch` goes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from dvae import wiring
from dvae.dag import Dag, DagBatch, ScoredDags
from dvae.errors import DagError, TaskError
from dvae.tasks.rules import DecodingRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary


@dataclass(frozen=True)
class ModelHints:
    """What the paper found to fit this kind of DAG; the default of every model built for the task."""

    aggregation: Literal["gated-sum", "gated-sum-position", "gated-sum-types"] = "gated-sum"
    bidirectional: bool = False
    readout: Literal["end", "sum", "both"] = "end"
    edge_context: bool = False  # the edge network also sees h_0, and is half as wide
    graph_state: Literal["last", "sum"] = "last"
    end_edges: Literal["loose-ends", "sampled"] = "loose-ends"
    gcn_rounds: int = 3
    batch_size: int = 32
    epochs: int = 300


class Task(ABC):
    """A space of DAGs. Instances are immutable; `spec` is all that is needed to make an equal one."""

    name: str
    vocabulary: Vocabulary
    max_nodes: int  # of a model's DAG, start and end node counted
    hints: ModelHints = ModelHints()
    rules: DecodingRules
    higher_is_better: bool = True
    predictivity_limit: int | None = None  # how many graphs a regressor is trained on, where the paper limits it

    @property
    def num_types(self) -> int:
        return len(self.vocabulary)

    @property
    def full_name(self) -> str:
        """The name from which `dvae.tasks.get` makes this very task again, with nothing left to estimate."""
        return self.name

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Plain values from which `dvae.tasks.from_spec` makes this task again."""

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Task: ...

    @abstractmethod
    def wrap(self, dag: Dag) -> Dag:
        """A user's DAG as a model sees it."""

    @abstractmethod
    def unwrap(self, dag: Dag) -> Dag:
        """A model's DAG as a user sees it; one that cannot be unwrapped comes back as it is."""

    @abstractmethod
    def valid(self, batch: DagBatch) -> Tensor:
        """Which of a model's DAGs obey the rules of the task."""  # batch, bool

    @abstractmethod
    def keys(self, batch: DagBatch) -> list[Hashable]:
        """One key a graph; two of a model's DAGs are the same exactly when their keys are equal."""

    def batch(self, dags: Sequence[Dag]) -> DagBatch:
        """A user's DAGs as tensors for a model of this task."""
        wrapped = []
        for number, dag in enumerate(dags):
            unknown = next((label for label in dag.types if label not in self.vocabulary.index_of), None)
            if unknown is not None:
                known = ", ".join(map(str, self.vocabulary.labels[:12]))
                raise TaskError(
                    f"DAG {number} has a node of type {unknown!r}, unknown to {self.name} (it knows {known})"
                )
            whole = self.wrap(dag)
            if len(whole) > self.max_nodes:
                raise TaskError(
                    f"DAG {number} has {len(whole)} nodes for the model, but {self.name} allows {self.max_nodes}"
                )
            wrapped.append(whole)
        return DagBatch.from_dags(wrapped, self.vocabulary.index_of, self.max_nodes)

    def unbatch(self, batch: DagBatch) -> list[Dag]:
        """A model's DAGs as a user sees them."""
        return [self.unwrap(dag) for dag in batch.to_dags(self.vocabulary.labels)]

    def is_valid(self, dag: Dag) -> bool:
        try:
            batch = self.batch([dag])
        except (TaskError, DagError):
            return False
        return bool(self.valid(batch)[0])

    def keys_of(self, dags: Sequence[Dag]) -> list[Hashable]:
        """What makes each of a user's DAGs itself in this task."""
        return self.keys(self.batch(dags)) if dags else []

    def key(self, dag: Dag) -> Hashable:
        """What makes a DAG itself in this task."""
        return self.keys_of([dag])[0]

    def scores(self, dags: Sequence[Dag]) -> list[float]:
        """How good the DAGs are, higher is better, where the task can tell."""
        raise TaskError(f"{self.name} has no score of its own; scores come with its DAGs, or from a function of yours")

    def score(self, dag: Dag) -> float:
        """How good a DAG is, higher is better, where the task can tell."""
        return self.scores([dag])[0]

    @property
    def can_score(self) -> bool:
        """Whether `scores` can score DAGs, known or new."""
        return type(self).scores is not Task.scores

    def known_optimum(self) -> float | None:
        """The exact best score of all DAGs, where the task can compute it."""
        return None

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Random DAGs of the task, as a model sees them, where the task has a sampler."""
        raise TaskError(f"{self.name} has no sampler of its own; its DAGs come from a file")

    def sample(self, count: int, seed: int) -> list[Dag]:
        """Random DAGs of the task, where it has a sampler."""
        return self.unbatch(self.sample_batch(count, seed))

    def dataset(self, size: int | None = None, seed: int = 0) -> ScoredDags:
        """The task's data set, split into train and test; sampled where there is no fixed one."""
        made: ScoredDags = wiring.make_dataset(self, size=size, seed=seed)
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, num_types={self.num_types}, max_nodes={self.max_nodes})"


def well_formed(batch: DagBatch, *, all_fed: bool = True, all_used: bool = True) -> Tensor:
    """One start node, one end node, every other node with predecessors (`all_fed`) and successors (`all_used`).

    Acyclicity needs no check: in a `DagBatch` edges run from smaller to larger indices.
    """  # batch, bool
    mask = batch.node_mask()
    start = (batch.types == START_INDEX) & mask
    end = (batch.types == END_INDEX) & mask
    has_predecessor = batch.adjacency.any(dim=1)
    has_successor = batch.adjacency.any(dim=2)
    fed = has_predecessor | start | ~mask
    used = has_successor | end | ~mask
    valid = (start.sum(1) == 1) & (end.sum(1) == 1)
    if all_fed:
        valid &= fed.all(1)
    if all_used:
        valid &= used.all(1)
    return valid


def packed_rows(*columns: Tensor) -> list[Hashable]:
    """Rows of small non-negative integers as bytes, one a graph: equal bytes, equal rows."""
    joined = torch.cat([column.flatten(1).to(torch.int32) for column in columns], dim=1)
    rows = joined.cpu().numpy()
    return [row.tobytes() for row in rows]
