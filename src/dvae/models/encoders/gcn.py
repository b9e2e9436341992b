"""A graph convolutional network over predecessors (Kipf and Welling, ICLR 2017; the paper's baseline).

In every round all nodes at once take the mean-like sum over their predecessors and themselves:

    H' = D^(-1/2) (A^T + I) D^(-1/2) H W + b

A^T has a row per node with ones at its predecessors, so a message runs along its edge and never against it. D holds the
row sums of A^T + I: one more than a node's number of predecessors. That is the undirected formula with "neighbour"
read as "predecessor" throughout; a node's state then depends on nothing but its ancestors at most `rounds` edges away
(and on how many predecessors those have). The original code overwrites states within a round; this one does not.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, aligned_parameter, uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.parts import Plan
from dvae.models.readout import inner_sum
from dvae.models.settings import RoundsSettings


class GcnEncoder(nn.Module):
    """`rounds` convolutions with ReLU between them; the graph vector sums all nodes but the start and the end."""

    Settings = RoundsSettings
    order_free = True
    static_shapes = True
    reference = "Kipf and Welling, ICLR 2017; Zhang et al., NeurIPS 2019"
    blocks = 1

    def __init__(self, features: NodeFeatures, hidden: int, rounds: int) -> None:
        super().__init__()
        self.features = features
        self.width = hidden
        bound = 1 / math.sqrt(features.width)
        self.weight = aligned_parameter(uniform(hidden, features.width, bound=bound), 1)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)
        self.layers = nn.ModuleList(AlignedLinear(hidden, hidden) for _ in range(rounds - 1))

    @classmethod
    def build(cls, plan: Plan, settings: RoundsSettings) -> GcnEncoder:
        return cls(plan.features, plan.hidden, settings.rounds or plan.hints.gcn_rounds)

    def forward(self, batch: DagBatch) -> Tensor:
        return inner_sum(self.node_states(batch), batch)

    def node_states(self, batch: DagBatch) -> Tensor:
        """The states after the last round."""  # batch node hidden
        spread = normalised(batch, self.weight.dtype)
        # The first product is a row of a table: a node's input is its type.
        table = self.features.linear(self.weight, None)
        states = spread @ rows_of(table, batch.types) + self.bias
        for layer in self.layers:
            states = layer(spread @ torch.relu(states))
        return states


def normalised(batch: DagBatch, dtype: torch.dtype) -> Tensor:
    """D^(-1/2) (A^T + I) D^(-1/2)."""  # batch node node
    own = torch.eye(batch.max_nodes, dtype=torch.bool, device=batch.device)
    neighbours = (batch.adjacency.mT | own).to(dtype)
    scale = neighbours.sum(2).rsqrt()
    return scale[:, :, None] * neighbours * scale[:, None, :]
