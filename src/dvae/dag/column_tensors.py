"""The columns of many DAGs as padded tensors, beside a `DagBatch`.

A value is a code: 0 is absent, 1 the first category of its column, or the first option of its grid of numbers, and so
on. Numbers are kept beside their codes. Edges come as lists, since few of all pairs of nodes are edges.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn import functional

from dvae.dag.columns import Column, Value
from dvae.dag.schema import ColumnSchema, Schema
from dvae.dag.value import Dag

ABSENT = 0
SAME_NUMBER = 1e-6
UNKNOWN = -1  # neither seen nor scored by a model: what a column says of a node that was changed


@dataclass(frozen=True, slots=True)
class ColumnTensors:
    """Codes and numbers of nodes and edges; padding is absent, and `edge_there` says which edges are there."""

    node_codes: Tensor  # batch node column, int64
    node_numbers: Tensor  # batch node column, float64; NaN where there is no number
    sources: Tensor  # batch edge, int64
    targets: Tensor  # batch edge, int64
    edge_there: Tensor  # batch edge, bool
    edge_codes: Tensor  # batch edge column, int64
    edge_numbers: Tensor  # batch edge column, float64

    @classmethod
    def from_dags(cls, dags: Sequence[Dag], schema: Schema, max_nodes: int) -> ColumnTensors:
        """The columns of DAGs that fit the schema, those of nodes padded to `max_nodes`."""
        room = max((len(dag.edges) for dag in dags), default=0)
        ends = torch.zeros(len(dags), room, 2, dtype=torch.int64)
        there = torch.zeros(len(dags), room, dtype=torch.bool)
        for graph, dag in enumerate(dags):
            if dag.edges:
                ends[graph, : len(dag.edges)] = torch.tensor(dag.edges)
                there[graph, : len(dag.edges)] = True
        node_codes, node_numbers = _tensors([dag.node for dag in dags], schema.node, max_nodes)
        edge_codes, edge_numbers = _tensors([dag.edge for dag in dags], schema.edge, room)
        return cls(node_codes, node_numbers, ends[..., 0], ends[..., 1], there, edge_codes, edge_numbers)

    @classmethod
    def empty(cls, adjacency: Tensor, schema: Schema) -> ColumnTensors:
        """The edges of graphs, and columns without any value."""
        count, nodes, _ = adjacency.shape
        graph, source, target = adjacency.nonzero(as_tuple=True)
        degrees = adjacency.flatten(1).sum(1)
        room = int(degrees.max()) if count else 0
        place = torch.arange(len(graph), device=graph.device) - (degrees.cumsum(0) - degrees)[graph]
        sources, targets = (torch.zeros(count, room, dtype=torch.int64, device=graph.device) for _ in range(2))
        sources[graph, place], targets[graph, place] = source, target
        there = torch.arange(room, device=graph.device) < degrees[:, None]

        def blank(*shape: int) -> tuple[Tensor, Tensor]:
            codes = torch.zeros(shape, dtype=torch.int64, device=graph.device)
            return codes, torch.full(shape, math.nan, dtype=torch.float64, device=graph.device)

        node, edge = blank(count, nodes, len(schema.node)), blank(count, room, len(schema.edge))
        return cls(*node, sources, targets, there, *edge)

    def onto(self, dags: Sequence[Dag], schema: Schema) -> list[Dag]:
        """The DAGs of the batch with their columns."""
        node = _columns(self.node_codes, self.node_numbers, schema.node)
        edge = _columns(self.edge_codes, self.edge_numbers, schema.edge)
        sources, targets = self.sources.tolist(), self.targets.tolist()
        found = []
        for graph, dag in enumerate(dags):
            place = {ends: at for at, ends in enumerate(zip(sources[graph], targets[graph], strict=True))}
            there = [place[ends] for ends in dag.edges] if schema.edge else []
            of_nodes = {name: column[: len(dag)] for name, column in node[graph].items()}
            of_edges = {name: tuple(column[at] for at in there) for name, column in edge[graph].items()}
            found.append(Dag(dag.types, dag.edges, of_nodes, of_edges))
        return found

    def to(self, device: torch.device | str) -> ColumnTensors:
        """The same on another device."""
        return ColumnTensors(*(getattr(self, field.name).to(device) for field in fields(self)))

    def select(self, index: Tensor | slice) -> ColumnTensors:
        """Those of the graphs at `index`."""
        return ColumnTensors(*(getattr(self, field.name)[index] for field in fields(self)))

    def padded(self, room: int) -> ColumnTensors:
        """With room for so many more nodes."""
        codes = functional.pad(self.node_codes, (0, 0, 0, room))
        numbers = functional.pad(self.node_numbers, (0, 0, 0, room), value=math.nan)
        return ColumnTensors(
            codes, numbers, self.sources, self.targets, self.edge_there, self.edge_codes, self.edge_numbers
        )

    def cut(self, max_nodes: int) -> ColumnTensors:
        """The same columns with room for `max_nodes` nodes."""
        codes, numbers = (values[:, :max_nodes].contiguous() for values in (self.node_codes, self.node_numbers))
        return replace(self, node_codes=codes, node_numbers=numbers)

    def moved(self, order: Tensor) -> ColumnTensors:
        """With the nodes in another order: `order` says which node comes at each place."""  # batch node
        rank = order.argsort(1)
        index = order[..., None].expand_as(self.node_codes)
        return ColumnTensors(
            self.node_codes.gather(1, index), self.node_numbers.gather(1, index), rank.gather(1, self.sources),
            rank.gather(1, self.targets), self.edge_there, self.edge_codes, self.edge_numbers,
        )  # fmt: skip

    @staticmethod
    def cat(parts: Sequence[ColumnTensors]) -> ColumnTensors:
        """Those of several batches as one."""
        room = max(part.sources.shape[1] for part in parts)
        wide = [part._with_edge_room(room - part.sources.shape[1]) for part in parts]
        return ColumnTensors(
            *(torch.cat([getattr(part, field.name) for part in wide]) for field in fields(ColumnTensors))
        )

    def _with_edge_room(self, room: int) -> ColumnTensors:
        pad = functional.pad
        return ColumnTensors(
            self.node_codes, self.node_numbers, pad(self.sources, (0, room)), pad(self.targets, (0, room)),
            pad(self.edge_there, (0, room)), pad(self.edge_codes, (0, 0, 0, room)),
            pad(self.edge_numbers, (0, 0, 0, room), value=math.nan),
        )  # fmt: skip


def code_of(column: ColumnSchema, value: Value) -> int:
    """The code of a value that fits the column."""
    if value is None:
        return ABSENT
    return column.index_of[value] if isinstance(value, str) else 1 + column.grid.option_of(value)


def num_codes(column: ColumnSchema) -> int:
    """How many codes a column has, absent counted."""
    return 1 + (len(column.categories) if column.kind == "category" else column.grid.num_options)


def _tensors(rows: Sequence[Mapping[str, Column]], columns: Sequence[ColumnSchema], room: int) -> tuple[Tensor, Tensor]:
    codes = torch.zeros(len(rows), room, len(columns), dtype=torch.int64)
    numbers = torch.full((len(rows), room, len(columns)), math.nan, dtype=torch.float64)
    for at, column in enumerate(columns):
        known: dict[Value, int] = {}
        for graph, row in enumerate(rows):
            values = row.get(column.name)
            if not values:
                continue
            for value in values:
                if value not in known:
                    known[value] = code_of(column, value)
            codes[graph, : len(values), at] = torch.tensor([known[value] for value in values])
            if column.kind == "number":
                plain = [math.nan if value is None else float(value) for value in values]
                numbers[graph, : len(values), at] = torch.tensor(plain, dtype=torch.float64)
    return codes, numbers


def _columns(codes: Tensor, numbers: Tensor, columns: Sequence[ColumnSchema]) -> list[dict[str, Column]]:
    """For every graph, its columns by name."""
    found: list[dict[str, Column]] = [{} for _ in range(len(codes))]
    for at, column in enumerate(columns):
        for row, some, given in zip(found, codes[..., at].tolist(), numbers[..., at].tolist(), strict=True):
            row[column.name] = tuple(_value(column, *pair) for pair in zip(some, given, strict=True))
    return found


def _value(column: ColumnSchema, code: int, number: float) -> Value:
    if code <= ABSENT:
        return None
    if column.kind == "category":
        return column.categories[code - 1]
    values = column.grid.values
    if code <= len(values) and math.isclose(number, values[code - 1], rel_tol=SAME_NUMBER):
        number = values[code - 1]  # which a model in single precision knows less exactly
    return int(number) if column.grid.integer and number.is_integer() else number
