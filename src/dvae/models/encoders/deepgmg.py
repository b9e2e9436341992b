"""DeepGMG's message passing as an encoder (the paper's baseline; Li et al. 2018 has none)."""

from __future__ import annotations

from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.deepgmg import Neighbourhood, Rounds, SharedParts, propagated
from dvae.models.parts import Plan
from dvae.models.settings import RoundsSettings
from dvae.models.simultaneous import DEFAULT_ROUNDS


class DeepGmgEncoder(nn.Module):
    """Nodes start from their types; some rounds of messages both ways; the state of the whole graph."""

    Settings = RoundsSettings
    order_free = True
    static_shapes = True
    reference = "Li et al., 2018; Zhang et al., NeurIPS 2019"
    blocks = 2

    def __init__(self, parts: SharedParts, hidden: int, rounds: int) -> None:
        super().__init__()
        self.width = hidden
        self.parts = parts
        self.rounds = Rounds(hidden, rounds)

    @classmethod
    def build(cls, plan: Plan, settings: RoundsSettings) -> DeepGmgEncoder:
        return cls(SharedParts.of(plan), plan.hidden, settings.rounds or DEFAULT_ROUNDS)

    def forward(self, batch: DagBatch) -> Tensor:
        states = self.parts.init(batch.types)
        folded = self.rounds.folded(self.parts.messages)
        states = propagated(folded, states, Neighbourhood.of(batch.adjacency.to(states.dtype)))
        graph: Tensor = self.parts.readout(states, batch.node_mask())
        return graph
