"""What a DAG means: its vocabulary, its size, which DAGs are valid and which are the same.

A user sees domain DAGs; a model sees DAGs with exactly one start node (type 0, first) and one end node (type 1,
last). A task stands between the two: `batch` wraps and indexes, `unbatch` goes back.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from dvae.dag import (
    ColumnTensors,
    Dag,
    DagBatch,
    DagSet,
    Dataset,
    DataSource,
    Schema,
    ScoredDag,
    from_dot,
    from_modelstring,
    load_dags,
)
from dvae.dag.dataset import TRAIN_SHARE
from dvae.dag.jsonl import format_line, parse_line
from dvae.errors import DagError, FormatError, MisfitError, TaskError
from dvae.regression.features import one_hot_features
from dvae.tasks.graph_rules import GraphRules
from dvae.tasks.rules import DecodingRules, GrowthRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary


@dataclass(frozen=True)
class ModelHints:
    """What the paper found to fit this kind of DAG; the default of every model built for the task."""

    aggregation: str = "gated-sum"  # a name that `dvae.models.AGGREGATIONS` knows
    bidirectional: bool = False
    readout: str = "end"  # a name that `dvae.models.READOUTS` knows
    edge_context: bool = False  # the edge network also sees h_0, and is half as wide
    graph_state: Literal["last", "sum"] = "last"
    end_edges: Literal["loose-ends", "sampled"] = "loose-ends"
    gcn_rounds: int = 3
    dagnn_bidirectional: bool = False  # as published: on Bayesian networks only
    node_order: Literal["given", "types", "canonical"] = "given"  # in which sequence encoders read (`node_order`)
    batch_size: int = 32
    epochs: int = 300


@dataclass(frozen=True)
class Look:
    """How DAGs of a task are drawn."""

    palette: Literal["types", "architecture"] = "types"
    shape: Literal["box", "circle"] = "box"
    arrangement: Literal["layers", "column", "ring"] = "layers"


@dataclass(frozen=True)
class ExportFormat:
    """A kind of file that one DAG of a task can become; `write` gives its text."""

    key: str
    label: str
    ending: str
    write: Callable[[Dag], str]


class Task(ABC):
    """A space of DAGs. Instances are immutable; `spec` is all that is needed to make an equal one.

    A task of your own defines `name`, `vocabulary`, `max_nodes`, `rules` and the abstract methods; everything else
    has a default.
    """

    examples: ClassVar[tuple[str, ...]] = ()  # names of tasks of this kind; they enter tests/contracts/test_tasks.py
    name: str
    vocabulary: Vocabulary
    max_nodes: int  # of a model's DAG, start and end node counted
    hints: ModelHints = ModelHints()
    rules: DecodingRules | GrowthRules
    graph_rules: GraphRules | None = None  # of a user's own DAGs, which are written or inferred
    schema: Schema = Schema()  # of the columns of its DAGs; a task without one does not see columns
    look: Look = Look()
    notation: ClassVar[str] = "a JSONL line or DOT"  # what `parse` reads, in words
    preset: Literal["auto", "paper"] = "auto"  # settings that training takes where none are given
    varies_in_size: bool = True  # whether valid DAGs may have different numbers of nodes
    predictivity_limit: int | None = None  # training DAGs that the predictivity of latents is measured with
    features_are_bits: bool = True  # whether `features` are zeros and ones
    latent_per_feature: bool = False  # whether `features` tell a DAG, so that as many latents are enough
    data_is_complete: bool = False  # whether its data set holds every DAG: a search that knew them all would end

    @property
    def num_types(self) -> int:
        """The number of node types, start and end counted."""
        return len(self.vocabulary)

    @property
    def can_score(self) -> bool:
        """Whether `scores` gives the score of every valid DAG, at once."""
        return False

    @property
    def full_name(self) -> str:
        """The name from which `dvae.tasks.get` makes this very task again, with nothing left to estimate."""
        return self.name

    @classmethod
    def from_name(cls, name: str) -> Task | None:
        """The task that `name` means, if it means one of this kind.

        An outside task registered as `mine` is asked for `mine` and `mine:ARGUMENT`; what follows the colon is the
        only argument of its constructor, unless this method is overridden.
        """
        _, colon, argument = name.partition(":")
        made: Task = cls(argument) if colon else cls()  # type: ignore[call-arg]
        return made

    def spec(self) -> dict[str, Any]:
        """Plain values from which `from_spec` makes this task again."""
        return {}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Task:
        """The task that `spec` described; by default its values are the arguments of the constructor."""
        return cls(**{key: value for key, value in spec.items() if key != "kind"})

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
        """One key per graph; two of a model's DAGs are the same exactly when their keys are equal."""

    def batch(self, dags: Sequence[Dag]) -> DagBatch:
        """A user's DAGs as tensors for a model of this task."""
        wrapped = []
        for number, dag in enumerate(dags):
            unknown = next((label for label in dag.types if label not in self.vocabulary.index_of), None)
            if unknown is not None:
                known = ", ".join(map(str, self.vocabulary.labels[:12]))
                raise MisfitError(number, f"has a node of type {unknown!r}, unknown to {self.name} (it knows {known})")
            try:
                whole = self.wrap(dag)
            except TaskError as error:
                raise MisfitError(number, f"is none of {self.name}: {error}") from None
            if len(whole) > self.max_nodes:
                raise MisfitError(
                    number, f"has {len(whole)} nodes for the model, but {self.name} allows {self.max_nodes}"
                )
            wrapped.append(whole)
            problem = self.schema.problem(dag) if self.schema else None
            if problem is not None:
                raise MisfitError(number, f"does not fit {self.name}: it {problem}")
        batch = DagBatch.from_dags(wrapped, self.vocabulary.index_of, self.max_nodes)
        if self.schema:
            batch = replace(batch, columns=ColumnTensors.from_dags(wrapped, self.schema, self.max_nodes))
        if self.schema.properties:
            names = [one.name for one in self.schema.properties]
            rows = [[dag.properties.get(name, math.nan) for name in names] for dag in dags]
            values = torch.tensor(rows, dtype=torch.float64).reshape(len(dags), len(names))
            batch = replace(batch, properties=values)
        return batch

    def recipe(self, device: str) -> Mapping[str, object]:
        """Settings of a run, by their full names, that were measured to be good on a device (`cpu`, `cuda`).

        The preset `auto` takes them, but for those that are given.
        """
        return {}

    def features(self, batch: DagBatch) -> Tensor:
        """Plain features of a model's DAGs, which a latent head predicts: here, types and edges by position.

        Shapes must not depend on the data, only on the number of graphs.
        """  # batch feature
        return one_hot_features(batch, self.num_types)

    def unbatch(self, batch: DagBatch) -> list[Dag]:
        """A model's DAGs as a user sees them."""
        dags = batch.to_dags(self.vocabulary.labels)
        if self.schema and batch.columns is not None:
            dags = batch.columns.onto(dags, self.schema)
        return [self.unwrap(dag) for dag in dags]

    def read(self, path: str | Path) -> list[ScoredDag]:
        """The DAGs of a file, in a format of this task."""
        return load_dags(path)

    def parse(self, text: str, where: str = "your text") -> Dag:
        """The DAG that somebody typed; errors open with `where`."""
        text = text.strip()
        if text.startswith("{"):
            return parse_line(" ".join(text.splitlines()), where).dag
        if text.startswith("[["):
            return self.parse_rows(" ".join(text.splitlines()), where)
        if text.startswith("["):
            return from_modelstring("".join(text.split()))
        if text.split("{")[0].split()[:1] in (["digraph"], ["strict"], ["graph"]):
            return from_dot(text)
        raise FormatError(f"{where}: this is no DAG in a notation known here; type {self.notation}")

    def parse_rows(self, text: str, where: str) -> Dag:
        """The DAG of one line in the original implementation's format, where the task has one."""
        raise FormatError(
            f"{where}: rows of numbers mean something for ENAS and Bayesian networks; {self.name} is neither"
        )

    def format(self, dag: Dag) -> str:
        """The DAG in the shortest notation of the task that holds it; `parse` reads it back."""
        return format_line(dag)

    def node_names(self, dag: Dag) -> list[Hashable]:
        """What makes a node the same node in two DAGs: here, its position."""
        return list(range(len(dag)))

    def exports(self) -> tuple[ExportFormat, ...]:
        """Formats that DAGs of this task can be written in, beside those for all DAGs."""
        return ()

    def is_valid(self, dag: Dag) -> bool:
        """Whether a user's DAG obeys the rules of the task."""
        try:
            batch = self.batch([dag])
        except (TaskError, DagError):
            return False
        return bool(self.valid(batch)[0])

    def why_invalid(self, dag: Dag) -> str | None:
        """The rule that a DAG breaks, in words; None if it breaks none."""
        try:
            batch = self.batch([dag])
        except MisfitError as error:
            return error.problem
        return None if bool(self.valid(batch)[0]) else f"it breaks the rules of {self.name}"

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

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """Random DAGs of the task, as a model sees them, where the task has a sampler."""
        raise TaskError(f"{self.name} has no sampler of its own; its DAGs come from a file")

    def sample(self, count: int, seed: int) -> list[Dag]:
        """Random DAGs of the task, where it has a sampler."""
        return self.unbatch(self.sample_batch(count, seed))

    def known_optimum(self) -> float | None:
        """The best score of all, where the task can compute it."""
        return None

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """The task's own data set, split into parts; sampled where there is no fixed one."""
        raise TaskError(f"{self.name} has no data set of its own; give a file")

    def sampled_dataset(self, size: int, seed: int) -> Dataset:
        """A data set of random DAGs without scores, nine tenths of them for training."""
        source = DataSource(size=size, seed=seed)
        dags = self.sample(size, seed)
        return Dataset(f"{self.name} sampled, seed {seed}", DagSet.of(dags), int(size * TRAIN_SHARE), source=source)

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
    """Rows of small non-negative integers as bytes, one per graph: equal bytes, equal rows."""
    joined = torch.cat([column.flatten(1).to(torch.int32) for column in columns], dim=1)
    rows = joined.cpu().numpy()
    return [row.tobytes() for row in rows]
