"""DeepGMG's message passing as an encoder (the paper's baseline; Li et al. 2018 has none)."""

from __future__ import annotations

from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.deepgmg import GraphReadout, MessageRounds, NodeInit, propagated
from dvae.models.features import NodeFeatures


class DeepGmgEncoder(nn.Module):
    """Nodes start from their types; some rounds of messages both ways; the state of the whole graph."""

    blocks = 2

    def __init__(self, features: NodeFeatures, hidden: int, rounds: int) -> None:
        super().__init__()
        self.width = hidden
        self.init = NodeInit(features, hidden, sees_graph=False)
        self.rounds = MessageRounds(hidden, rounds)
        self.readout = GraphReadout(hidden)

    def forward(self, batch: DagBatch) -> Tensor:
        states = self.init(batch.types)
        states = propagated(self.rounds.folded(), states, batch.adjacency.to(states.dtype))
        graph: Tensor = self.readout(states, batch.node_mask())
        return graph
