"""Sampling graphs node by node: a type, then the edges into it. All graphs grow at once.

Every decoder says how the next node is distributed (`Sampler.type_scores`, `Sampler.write_edges`); what all share is
here: types and edges that a task demands, the end node with its loose ends, and when a graph is finished.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, choose, finish, obey
from dvae.models.decoders.rows import Rows, RowTensor
from dvae.models.parts import Sampling
from dvae.tasks.rules import PartialGraphs, as_growth_rules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX

BUDGET_BYTES = {"cpu": 1 << 25, "cuda": 1 << 33}  # of the working tensors of one call of `sample`
MIN_ROWS = 16


def rows_within_budget(device: torch.device, numbers_per_row: int) -> int:
    """How many graphs to sample at once when each needs so many numbers of four bytes."""
    return max(MIN_ROWS, BUDGET_BYTES.get(device.type, BUDGET_BYTES["cuda"]) // (4 * numbers_per_row))


class GraphRows(Rows):
    """Graphs under construction, at first of a start node alone. `num_nodes` is 0 while a graph is unfinished."""

    types = RowTensor()  # row node
    adjacency = RowTensor()  # row node node
    num_nodes = RowTensor()  # row
    growing = RowTensor()  # row: whether edges into the newest node are chosen

    def __init__(self, num_rows: int, copies: int, max_nodes: int, device: torch.device) -> None:
        super().__init__(num_rows, copies, device)
        self.types = torch.full((num_rows, max_nodes), START_INDEX, device=device)
        self.adjacency = torch.zeros(num_rows, max_nodes, max_nodes, dtype=torch.bool, device=device)
        self.num_nodes = torch.zeros(num_rows, dtype=torch.int64, device=device)
        self.growing = torch.ones(num_rows, dtype=torch.bool, device=device)


R = TypeVar("R", bound=GraphRows)


class Sampler(ABC, Generic[R]):
    """One run of a generative process. A decoder's sampler keeps what it knows of its graphs in `rows`."""

    obeys_edge_rules: ClassVar[bool] = False  # whether `write_edges` itself keeps to what a task allows and demands

    def __init__(self, rows: R, max_nodes: int, sampling: Sampling, end_edges: EndEdges) -> None:
        self.rows, self.max_nodes, self.sampling, self.end_edges = rows, max_nodes, sampling, end_edges
        self.rules = None if sampling.rules is None else as_growth_rules(sampling.rules)

    @abstractmethod
    def type_scores(self, position: int) -> Tensor:
        """Scores of the types of node `position`; asked once per position, before its edges."""  # row type
        ...

    @abstractmethod
    def write_edges(self, position: int) -> None:
        """Chooses, in `rows.adjacency`, the edges into node `position` of the rows that are growing."""

    def is_finished(self, position: int) -> bool:
        """Whether no graph has a node at `position` to come."""
        return bool((self.rows.num_nodes > 0).all())

    def run(self) -> DagBatch:
        """The finished graphs. The last possible node is the end."""
        rows, end_chooses = self.rows, self.end_edges == "sampled"
        for position in range(1, self.max_nodes):
            if self.is_finished(position):
                break
            types = self._choose_types(position)
            unfinished = rows.num_nodes == 0
            ending = unfinished & (types == END_INDEX)
            rows.types[:, position] = torch.where(unfinished, types, 0)
            rows.growing = unfinished if end_chooses else unfinished & ~ending
            if end_chooses or position < self.max_nodes - 1:
                self.write_edges(position)
                if self.rules is not None and not self.obeys_edge_rules:
                    obey(self.graphs(position + 1), rows.growing, self.rules)
            finish(rows.types, rows.adjacency, rows.num_nodes, position)
        return DagBatch(rows.types, rows.adjacency, rows.num_nodes).select(rows.row_of)

    def graphs(self, nodes: int) -> PartialGraphs:
        """The first nodes of all rows, as rules look at them."""
        return PartialGraphs(self.rows.types[:, :nodes], self.rows.adjacency[:, :nodes, :nodes])

    def _choose_types(self, position: int) -> Tensor:
        """The type of the next node of every row, after branching; finished rows get the end type."""
        rows, sampling, is_last = self.rows, self.sampling, position == self.max_nodes - 1
        if is_last and self.end_edges == "loose-ends":
            return torch.full_like(rows.num_nodes, END_INDEX)
        scores = self.type_scores(position)
        if is_last:
            return torch.full_like(rows.num_nodes, END_INDEX)
        if self.rules is not None:
            allowed = self.rules.next_types(self.graphs(position), scores.shape[1])
            allowed[:, END_INDEX] |= ~allowed.any(1)  # a graph that cannot go on ends
            scores = scores.masked_fill(~allowed, -torch.inf)
        choice = choose(scores, sampling, rows.row_of)
        choice = torch.where((rows.num_nodes > 0)[rows.row_of], END_INDEX, choice)
        return rows.branch(choice)
