"""Sampling graphs node by node, for decoders that write a node as a string: its type, then its edges.

All graphs grow at once. A decoder says how the next node is distributed (`NodeWriter`); what all share is here: types
and edges a task demands, the end node with its loose ends, and when a graph is finished.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, add_required, choose, finish
from dvae.models.decoders.rows import Rows
from dvae.models.parts import Sampling
from dvae.tasks.vocabulary import END_INDEX, START_INDEX


class NodeWriter(Protocol):
    """A decoder at work on the graphs of `rows`."""

    def type_scores(self, position: int) -> Tensor:
        """Scores of the types of node `position`; asked once a position, before its edges."""  # row type
        ...

    def write_edges(self, position: int) -> None:
        """Chooses the edges into node `position` of the rows that are growing, in rows["adjacency"]."""
        ...


def start_rows(num_rows: int, copies: int, max_nodes: int, device: torch.device) -> Rows:
    """Graphs of a start node alone. `num_nodes` is 0 while a graph is unfinished."""
    rows = Rows(num_rows, copies, device)
    rows["types"] = torch.full((num_rows, max_nodes), START_INDEX, device=device)
    rows["adjacency"] = torch.zeros(num_rows, max_nodes, max_nodes, dtype=torch.bool, device=device)
    rows["num_nodes"] = torch.zeros(num_rows, dtype=torch.int64, device=device)
    rows["growing"] = torch.ones(num_rows, dtype=torch.bool, device=device)
    return rows


def grow(rows: Rows, writer: NodeWriter, sampling: Sampling, end_edges: EndEdges) -> DagBatch:
    """Finishes the graphs of `rows`. The last possible node is the end."""
    max_nodes = rows["types"].shape[1]
    for position in range(1, max_nodes):
        if bool((rows["num_nodes"] > 0).all()):
            break
        types = _choose_types(rows, writer, sampling, position, end_edges)
        unfinished = rows["num_nodes"] == 0
        ending = unfinished & (types == END_INDEX)
        rows["types"][:, position] = torch.where(unfinished, types, 0)
        rows["growing"] = unfinished & ~ending if end_edges == "loose-ends" else unfinished
        if end_edges == "sampled" or position < max_nodes - 1:
            writer.write_edges(position)
            if sampling.rules is not None:
                add_required(rows["adjacency"], rows["growing"], sampling.rules, position)
        finish(rows["types"], rows["adjacency"], rows["num_nodes"], position)
    batch = DagBatch(rows["types"], rows["adjacency"], rows["num_nodes"])
    return batch.select(rows.row_of)


def _choose_types(rows: Rows, writer: NodeWriter, sampling: Sampling, position: int, end_edges: EndEdges) -> Tensor:
    """The type of the next node of every row, after branching; finished rows get the end type."""
    last = position == rows["types"].shape[1] - 1
    if last and end_edges == "loose-ends":
        return torch.full_like(rows["num_nodes"], END_INDEX)
    scores = writer.type_scores(position)
    if last:
        return torch.full_like(rows["num_nodes"], END_INDEX)
    if sampling.rules is not None:
        allowed = sampling.rules.allowed_types(rows["types"][:, :position], scores.shape[1])
        scores = scores.masked_fill(~allowed, -torch.inf)
    choice = choose(scores, sampling, rows.row_of)
    choice = torch.where((rows["num_nodes"] > 0)[rows.row_of], END_INDEX, choice)
    return rows.branch(choice)
