"""Sampling graphs node by node, for decoders that write a node as a string: its type, then its edges.

All graphs grow at once. A decoder says how the next node is distributed (`NodeWriter`); what all share is here: types
and edges a task demands, the end node with its loose ends, and when a graph is finished.
"""

from __future__ import annotations

from typing import Literal, Protocol

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.rows import Rows
from dvae.models.parts import Sampling
from dvae.tasks.rules import DecodingRules
from dvae.tasks.vocabulary import END_INDEX, START_INDEX

EndEdges = Literal["loose-ends", "sampled"]


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
                _add_required(rows, sampling.rules, position)
        _close(rows, position)
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
    if sampling.greedy:
        choice = scores.argmax(1)[rows.row_of]
    else:
        shares = scores.softmax(1).cumsum(1)[rows.row_of]
        draw = uniform(shares[:, :1], sampling) * shares[:, -1:]
        choice = torch.searchsorted(shares, draw, right=True).squeeze(1).clamp(max=scores.shape[1] - 1)
    choice = torch.where((rows["num_nodes"] > 0)[rows.row_of], END_INDEX, choice)
    return rows.branch(choice)


def draw_edges(scores: Tensor, sampling: Sampling) -> Tensor:
    """Edges from their scores: where the probability exceeds one half, or drawn."""
    return scores > 0 if sampling.greedy else uniform(scores, sampling) < scores.sigmoid()


def uniform(like: Tensor, sampling: Sampling) -> Tensor:
    return torch.rand(like.shape, generator=sampling.generator, device=like.device, dtype=like.dtype)


def _add_required(rows: Rows, rules: DecodingRules, position: int) -> None:
    """Edges the task demands beside those chosen; asked from the nearest node down, as rules expect."""
    adjacency, growing = rows["adjacency"], rows["growing"]
    fed = torch.zeros_like(growing)
    for source in reversed(range(position)):
        required = rules.required_edge(source, position, fed) & growing
        adjacency[:, source, position] |= required
        fed = fed | adjacency[:, source, position]


def _close(rows: Rows, position: int) -> None:
    """Gives the end node of the graphs that just ended all loose ends (paper, section 3.2, step 2)."""
    ending = (rows["num_nodes"] == 0) & (rows["types"][:, position] == END_INDEX)
    loose = ~rows["adjacency"][:, :position].any(2)
    rows["adjacency"][:, :position, position] |= loose & ending[:, None]
    rows["num_nodes"][ending] = position + 1
