"""A graph convolutional network over predecessors (Kipf and Welling, ICLR 2017; the paper's baseline).

In every round all nodes at once take the mean-like sum over their predecessors and themselves:

    H' = D^(-1/2) (A^T + I) D^(-1/2) H W + b

A^T has a row per node with ones at its predecessors, so a message runs along its edge and never against it. D holds the
row sums of A^T + I: one more than a node's number of predecessors. That is the undirected formula with "neighbour"
read as "predecessor" throughout; a node's state then depends on nothing but its ancestors at most `rounds` edges away
(and on how many predecessors those have).

The original code is not quite that, and `original` does as it does. It overwrites states within a round, so a node
reads what its predecessors have just become, and every round but the first runs through the whole graph. A sender u of
v counts 1 / sqrt((successors of u + 1) (predecessors of v + 1)), v itself 1 / (predecessors of v + 1). There is a ReLU
after the last round, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, aligned_parameter, uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.parts import Plan
from dvae.models.readout import inner_sum
from dvae.models.settings import RoundsSettings


@dataclass(frozen=True)
class GcnSettings(RoundsSettings):
    """Settings of the graph convolutional network."""

    original: bool | None = None  # whether rounds and weights are those of the original code; None: no


class GcnEncoder(nn.Module):
    """`rounds` convolutions with ReLU between them; the graph vector sums all nodes but the start and the end."""

    Settings = GcnSettings
    order_free = True
    static_shapes = True
    reference = "Kipf and Welling, ICLR 2017; Zhang et al., NeurIPS 2019"
    blocks = 1

    def __init__(self, features: NodeFeatures, hidden: int, rounds: int, *, original: bool = False) -> None:
        super().__init__()
        self.features, self.original = features, original
        self.width = hidden
        bound = 1 / math.sqrt(features.width)
        self.weight = aligned_parameter(uniform(hidden, features.width, bound=bound), 1)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)
        self.layers = nn.ModuleList(AlignedLinear(hidden, hidden) for _ in range(rounds - 1))

    @classmethod
    def build(cls, plan: Plan, settings: GcnSettings) -> GcnEncoder:
        rounds = settings.rounds or plan.hints.gcn_rounds
        return cls(plan.features, plan.hidden, rounds, original=bool(settings.original))

    def forward(self, batch: DagBatch) -> Tensor:
        return inner_sum(self.node_states(batch), batch)

    def node_states(self, batch: DagBatch) -> Tensor:
        """The states after the last round."""  # batch node hidden
        dtype = self.weight.dtype
        spread = by_both_degrees(batch, dtype) if self.original else normalised(batch, dtype)
        # The first product is a row of a table: a node's input is its type.
        table = self.features.linear(self.weight, None)
        states = spread @ rows_of(table, batch.types) + self.bias
        for layer in self.layers:
            states = self._in_place(layer, spread, states) if self.original else layer(spread @ torch.relu(states))
        return torch.relu(states) if self.original else states

    @staticmethod
    def _in_place(layer: nn.Module, spread: Tensor, states: Tensor) -> Tensor:
        """A round in which a node reads what its predecessors, all before it, have just become."""
        old = torch.relu(states)
        made: list[Tensor] = []  # batch hidden, each
        seen: list[Tensor] = []  # what later nodes read of them
        for place in range(states.shape[1]):
            read = spread[:, place, place, None] * old[:, place]
            if seen:
                read = read + (spread[:, place, None, :place] @ torch.stack(seen, 1))[:, 0]
            made.append(layer(read))
            seen.append(torch.relu(made[-1]))
        return torch.stack(made, 1)


def normalised(batch: DagBatch, dtype: torch.dtype) -> Tensor:
    """D^(-1/2) (A^T + I) D^(-1/2)."""  # batch node node
    own = torch.eye(batch.max_nodes, dtype=torch.bool, device=batch.device)
    neighbours = (batch.adjacency.mT | own).to(dtype)
    scale = neighbours.sum(2).rsqrt()
    return scale[:, :, None] * neighbours * scale[:, None, :]


def by_both_degrees(batch: DagBatch, dtype: torch.dtype) -> Tensor:
    """As `normalised`, but a sender is weighted by how many it sends to (the original code)."""  # batch node node
    edges = batch.adjacency.mT.to(dtype)
    heard, told = 1 + edges.sum(2), 1 + edges.sum(1)
    return edges * (heard[:, :, None] * told[:, None, :]).rsqrt() + torch.diag_embed(1 / heard)
