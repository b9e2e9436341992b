"""The encoder of S-VAE and GraphRNN: a GRU over node strings (paper, appendix on baselines)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.recurrent import Recurrence
from dvae.models.node_strings import NodeStrings
from dvae.models.parts import Plan
from dvae.models.settings import NoSettings


class SvaeEncoder(nn.Module):
    """The GRU's state after the string of the last node; it starts from zero.

    What it sees is the order the nodes come in: two topological orders of one DAG encode differently.
    """

    order_free = False
    static_shapes = True
    reference = "Bowman et al., CoNLL 2016; Zhang et al., NeurIPS 2019"
    blocks = 1

    def __init__(self, features: NodeFeatures, *, max_nodes: int, hidden: int) -> None:
        super().__init__()
        self.width = hidden
        self.strings = NodeStrings(features, max_nodes)
        self.gru = Recurrence(self.strings.width, hidden)

    @classmethod
    def build(cls, plan: Plan, settings: NoSettings) -> SvaeEncoder:
        return cls(plan.features, max_nodes=plan.max_nodes, hidden=plan.hidden)

    def forward(self, batch: DagBatch) -> Tensor:
        strings = self.strings(batch, self.gru.bias_ih.dtype)
        states = self.gru(self.gru.input_gates(strings))  # time batch hidden
        last = (batch.num_nodes - 2).clamp(min=0)
        vectors = states.gather(0, last[None, :, None].expand(1, -1, states.shape[2])).squeeze(0)
        return torch.where((batch.num_nodes > 1)[:, None], vectors, 0.0)  # a start alone has no string
