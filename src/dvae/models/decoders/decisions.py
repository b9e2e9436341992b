"""Single decisions of the generative process, for many graphs at once: what all decoders share."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from dvae.models.parts import Sampling
from dvae.tasks.rules import GrowthRules, PartialGraphs
from dvae.tasks.vocabulary import END_INDEX

MANY_NODES = 32  # to look for loose ends takes longer than to ask whether anyone wants to know

EndEdges = Literal["loose-ends", "sampled"]


def uniform(like: Tensor, sampling: Sampling) -> Tensor:
    return torch.rand(like.shape, generator=sampling.generator, device=like.device, dtype=like.dtype)


def choose(scores: Tensor, sampling: Sampling, row_of: Tensor | None = None) -> Tensor:
    """One index by the softmax of its row's scores, or the largest; for each row, or for each entry of `row_of`."""
    if sampling.greedy:
        best = scores.argmax(1)
        return best if row_of is None else best[row_of]
    shares = scores.softmax(1).cumsum(1)
    if row_of is not None:
        shares = shares[row_of]
    draw = uniform(shares[:, :1], sampling) * shares[:, -1:]
    return torch.searchsorted(shares, draw, right=True).squeeze(1).clamp(max=scores.shape[1] - 1)


def draw_edges(scores: Tensor, sampling: Sampling) -> Tensor:
    """Edges from their scores: where the probability exceeds one half, or drawn."""
    return scores > 0 if sampling.greedy else uniform(scores, sampling) < scores.sigmoid()


def obey(graphs: PartialGraphs, growing: Tensor, rules: GrowthRules) -> None:
    """Changes the edges into the last nodes to what the task allows and demands; asked from the nearest node down."""
    edges = graphs.adjacency[:, :-1, -1]
    rule = rules.next_edges(graphs)
    for source in reversed(range(edges.shape[1])):
        edges[:, source] = rule(source, edges).applied(edges[:, source]) & growing


def finish(types: Tensor, adjacency: Tensor, num_nodes: Tensor, position: int) -> None:
    """Gives the end node of the graphs that just ended all loose ends (paper, section 3.2, step 2).

    `num_nodes` is 0 while a graph is unfinished.
    """
    ending = (num_nodes == 0) & (types[:, position] == END_INDEX)
    if position >= MANY_NODES and not ending.any():
        return
    loose = ~adjacency[:, :position].any(2)
    adjacency[:, :position, position] |= loose & ending[:, None]
    num_nodes[ending] = position + 1
