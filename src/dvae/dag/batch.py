"""Many DAGs as padded tensors: the only door between `Dag` and `Tensor`.

Types here are indices into a vocabulary; labels stay outside. Axis words: batch, node, hidden
(docs/notation.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag.column_tensors import ColumnTensors
from dvae.dag.limits import check_tensors
from dvae.dag.value import Dag, Label
from dvae.errors import DagError

COUNTED_AT_ONCE = 256  # graphs whose edges are counted together


@dataclass(frozen=True, slots=True)
class DagBatch:
    """DAGs of up to `max_nodes` nodes. Padding has type 0 and no edges; `num_nodes` says where it starts."""

    types: Tensor  # batch node, int64
    adjacency: Tensor  # batch node node, bool; [b, u, v] is the edge u -> v, so u < v
    num_nodes: Tensor  # batch, int64
    columns: ColumnTensors | None = None  # of nodes and edges, where the task has any
    properties: Tensor | None = None  # batch property, float64, NaN where missing; those of the task's schema

    @classmethod
    def from_dags(cls, dags: Sequence[Dag], index_of: dict[Label, int], max_nodes: int) -> DagBatch:
        """Pads `dags`, whose labels must all be in `index_of`, to `max_nodes` nodes."""
        longest = max((len(dag) for dag in dags), default=0)
        if longest > max_nodes:
            raise DagError(f"a DAG has {longest} nodes where at most {max_nodes} are allowed")
        check_tensors(len(dags), max_nodes)
        types = torch.zeros(len(dags), max_nodes, dtype=torch.int64)
        adjacency = torch.zeros(len(dags), max_nodes, max_nodes, dtype=torch.bool)
        num_nodes = torch.tensor([len(dag) for dag in dags], dtype=torch.int64)
        try:
            flat_types = [index_of[label] for dag in dags for label in dag.types]
        except KeyError as error:
            raise DagError(f"the type {error.args[0]!r} is not in the vocabulary") from None
        types[torch.arange(max_nodes) < num_nodes[:, None]] = torch.tensor(flat_types, dtype=torch.int64)
        edges = [(graph, *edge) for graph, dag in enumerate(dags) for edge in dag.edges]
        if edges:
            adjacency[tuple(torch.tensor(edges, dtype=torch.int64).unbind(1))] = True
        return cls(types, adjacency, num_nodes)

    def to_dags(self, labels: Sequence[Label]) -> list[Dag]:
        """The same graphs as values, padding left out."""
        types = self.types.tolist()
        num_nodes = self.num_nodes.tolist()
        edges: list[list[tuple[int, int]]] = [[] for _ in types]
        for graph, source, target in self.adjacency.nonzero().tolist():
            edges[graph].append((source, target))
        return [
            Dag(tuple(labels[index] for index in types[graph][: num_nodes[graph]]), tuple(edges[graph]))
            for graph in range(len(types))
        ]

    def __len__(self) -> int:
        return self.types.shape[0]

    @property
    def max_nodes(self) -> int:
        """The number of nodes that graphs are padded to."""
        return self.types.shape[1]

    @property
    def device(self) -> torch.device:
        """The device its tensors are on."""
        return self.types.device

    def to(self, device: torch.device | str) -> DagBatch:
        """The same graphs on another device."""
        columns = None if self.columns is None else self.columns.to(device)
        properties = None if self.properties is None else self.properties.to(device)
        structure = self.types.to(device), self.adjacency.to(device), self.num_nodes.to(device)
        return DagBatch(*structure, columns, properties)

    def select(self, index: Tensor | slice) -> DagBatch:
        """The graphs at `index`, a slice or an index tensor."""
        columns = None if self.columns is None else self.columns.select(index)
        properties = None if self.properties is None else self.properties[index]
        return DagBatch(self.types[index], self.adjacency[index], self.num_nodes[index], columns, properties)

    def split(self, size: int) -> Iterator[DagBatch]:
        """Consecutive parts of at most `size` graphs."""
        for start in range(0, len(self), size):
            yield self.select(slice(start, start + size))

    def padded(self, max_nodes: int) -> DagBatch:
        """The same graphs with room for `max_nodes` nodes."""
        room = max_nodes - self.max_nodes
        if room < 0:
            raise DagError(f"cannot pad {self.max_nodes} nodes to {max_nodes}")
        types = torch.nn.functional.pad(self.types, (0, room))
        adjacency = torch.nn.functional.pad(self.adjacency, (0, room, 0, room))
        columns = None if self.columns is None else self.columns.padded(room)
        return DagBatch(types, adjacency, self.num_nodes, columns, self.properties)

    def cut(self, max_nodes: int) -> DagBatch:
        """The same graphs with room for `max_nodes` nodes only, which they must have."""
        if len(self) and int(self.num_nodes.max()) > max_nodes:
            raise DagError(f"graphs with more than {max_nodes} nodes cannot be cut to so many")
        types, adjacency = self.types[:, :max_nodes], self.adjacency[:, :max_nodes, :max_nodes]
        columns = None if self.columns is None else self.columns.cut(max_nodes)
        return DagBatch(types.contiguous(), adjacency.contiguous(), self.num_nodes, columns, self.properties)

    def moved(self, order: Tensor) -> DagBatch:
        """The same graphs with their nodes in another order: `order` says which node comes at each place."""
        index = order[:, :, None].expand_as(self.adjacency)
        adjacency = self.adjacency.gather(1, index).gather(2, index.mT)
        columns = None if self.columns is None else self.columns.moved(order)
        return DagBatch(self.types.gather(1, order), adjacency, self.num_nodes, columns, self.properties)

    def edge_counts(self) -> Tensor:
        """How many edges each graph has."""  # batch
        # A sum over bits first makes eight bytes of each: of part of the graphs at a time.
        return torch.cat([part.flatten(1).sum(1) for part in self.adjacency.split(COUNTED_AT_ONCE)])

    def node_mask(self) -> Tensor:
        """Where a node is, and not padding."""  # batch node
        return torch.arange(self.max_nodes, device=self.device) < self.num_nodes[:, None]

    @staticmethod
    def cat(batches: Sequence[DagBatch]) -> DagBatch:
        """The graphs of several batches as one batch."""
        columns = [batch.columns for batch in batches if batch.columns is not None]
        properties = [batch.properties for batch in batches if batch.properties is not None]
        return DagBatch(
            torch.cat([batch.types for batch in batches]),
            torch.cat([batch.adjacency for batch in batches]),
            torch.cat([batch.num_nodes for batch in batches]),
            ColumnTensors.cat(columns) if len(columns) == len(batches) else None,
            torch.cat(properties) if len(properties) == len(batches) else None,
        )
