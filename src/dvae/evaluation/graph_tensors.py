"""DAGs with columns as flat tensors: the nodes and edges of all graphs in a row, for regressors that pass messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from dvae.dag import Dag, Label
from dvae.tasks import Task


@dataclass(frozen=True)
class FlatGraphs:
    """Graphs one after another."""

    types: Tensor  # node
    categories: Tensor  # node column
    numbers: Tensor  # node number
    edges: Tensor  # 2 edge: places among all nodes
    graph_of: Tensor  # node
    sizes: Tensor  # graph
    edge_counts: Tensor  # graph
    typical_size: float

    def __len__(self) -> int:
        return len(self.sizes)

    def to(self, device: torch.device | str) -> FlatGraphs:
        """The same on another device."""
        tensors = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "typical_size"}
        return replace(self, **{name: tensor.to(device) for name, tensor in tensors.items()})

    def select(self, graphs: Tensor) -> FlatGraphs:
        """Some of the graphs."""
        nodes, owner = _ragged(self.sizes, graphs)
        wires, wire_owner = _ragged(self.edge_counts, graphs)
        old = self.sizes.cumsum(0) - self.sizes
        sizes = self.sizes[graphs]
        moved = (sizes.cumsum(0) - sizes) - old[graphs]
        return FlatGraphs(
            self.types[nodes],
            self.categories[nodes],
            self.numbers[nodes],
            self.edges[:, wires] + moved[wire_owner],
            owner,
            sizes,
            self.edge_counts[graphs],
            self.typical_size,
        )


def _ragged(sizes: Tensor, graphs: Tensor) -> tuple[Tensor, Tensor]:
    """Where the items of some graphs are, and which of these graphs each belongs to."""
    chosen = sizes[graphs]
    device = sizes.device
    owner = torch.arange(len(graphs), device=device).repeat_interleave(chosen)
    before = chosen.cumsum(0) - chosen
    first = (sizes.cumsum(0) - sizes)[graphs]
    return torch.arange(len(owner), device=device) - before[owner] + first[owner], owner


@dataclass(frozen=True)
class NodeInputs:
    """What a regressor sees of a node: its type, its categories, its numbers in standard deviations and as logarithms.

    Where a value is missing it is the mean, and one more number says so.
    """

    labels: tuple[Label, ...]
    category_columns: tuple[tuple[str, tuple[str, ...]], ...]
    number_columns: tuple[tuple[str, float, float, float, float], ...]  # name, mean, deviation, likewise of logarithms
    typical_size: float

    @classmethod
    def of(cls, task: Task, dags: Sequence[Dag]) -> NodeInputs:
        """Those of a task's DAGs; numbers are scaled by `dags`."""
        columns = task.schema.node
        categories = tuple((column.name, column.categories) for column in columns if column.kind == "category")
        numbers = []
        for column in columns:
            if column.kind == "number":
                known = [float(v) for dag in dags for v in dag.node.get(column.name, ()) if isinstance(v, int | float)]
                values = torch.tensor(known or [0.0], dtype=torch.float64)
                logs = _logarithm(values)
                scales = (float(some.std(correction=0)) or 1.0 for some in (values, logs))
                deviation, log_deviation = scales
                numbers.append((column.name, float(values.mean()), deviation, float(logs.mean()), log_deviation))
        size = sum(len(dag) for dag in dags) / max(1, len(dags))
        return cls(tuple(task.vocabulary.labels), categories, tuple(numbers), size)

    @property
    def num_types(self) -> int:
        """How many types there are, one for unknown ones included."""
        return len(self.labels) + 1

    @property
    def category_sizes(self) -> tuple[int, ...]:
        """How many codes every column of categories has, one for absent ones included."""
        return tuple(len(categories) + 1 for _, categories in self.category_columns)

    @property
    def num_numbers(self) -> int:
        """How many numbers a node has."""
        return 3 * len(self.number_columns)

    def flat(self, dags: Sequence[Dag]) -> FlatGraphs:
        """The graphs as tensors."""
        code = {label: place for place, label in enumerate(self.labels, start=1)}
        sizes = torch.tensor([len(dag) for dag in dags])
        edge_counts = torch.tensor([len(dag.edges) for dag in dags])
        types = torch.tensor([code.get(label, 0) for dag in dags for label in dag.types])
        firsts = (sizes.cumsum(0) - sizes).tolist()
        edges = [(first + s, first + t) for first, dag in zip(firsts, dags, strict=True) for s, t in dag.edges]
        return FlatGraphs(
            types,
            self._categories(dags, len(types)),
            self._numbers(dags, len(types)),
            torch.tensor(edges, dtype=torch.int64).reshape(-1, 2).T,
            torch.arange(len(dags)).repeat_interleave(sizes),
            sizes,
            edge_counts,
            self.typical_size,
        )

    def _categories(self, dags: Sequence[Dag], nodes: int) -> Tensor:
        found = torch.zeros(nodes, len(self.category_columns), dtype=torch.int64)
        for place, (name, categories) in enumerate(self.category_columns):
            code = {category: number for number, category in enumerate(categories, start=1)}
            values = (value for dag in dags for value in dag.node.get(name, (None,) * len(dag)))
            found[:, place] = torch.tensor([code.get(value, 0) for value in values])  # type: ignore[arg-type]
        return found

    def _numbers(self, dags: Sequence[Dag], nodes: int) -> Tensor:
        found = torch.zeros(nodes, max(1, self.num_numbers))
        for place, (name, mean, deviation, log_mean, log_deviation) in enumerate(self.number_columns):
            read = (value for dag in dags for value in dag.node.get(name, (None,) * len(dag)))
            values = torch.tensor([math.nan if v is None or isinstance(v, str) else float(v) for v in read])
            plain = ((values.double() - mean) / deviation).nan_to_num(0.0)
            logs = ((_logarithm(values.double()) - log_mean) / log_deviation).nan_to_num(0.0)
            found[:, 3 * place : 3 * place + 3] = torch.stack([plain, logs, values.isnan().double()], 1).float()
        return found


def _logarithm(values: Tensor) -> Tensor:
    return values.sign() * values.abs().log1p()
