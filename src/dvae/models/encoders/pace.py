"""The PACE encoder (Dong et al., "PACE: A Parallelizable Computation Encoder for DAGs", ICML 2022).

A DAG becomes a sequence of nodes in canonical order (`node_order`), each with a code of where it stands
(`NodeTokens`); a Transformer lets every node attend to its ancestors and itself, all nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear
from dvae.models.node_order import NodeOrder, ordered
from dvae.models.parts import Plan
from dvae.models.transformer import DEFAULT_LAYERS, Block, NodeTokens, TransformerSettings, ancestors, fitted


@dataclass(frozen=True)
class PaceEncoderSettings(TransformerSettings):
    """The Transformer's settings, and the order that nodes are read in; None means: what the task suggests."""

    node_order: NodeOrder | None = None  # in which nodes are read


class PaceEncoder(nn.Module):
    """Readout: the outputs of all nodes side by side, padding as zeros, then a linear map.

    Graphs have to come in `order`: `prepare` puts them there, once before training. Published settings: 3 layers of
    width 32, latent 64, dropout 0.15 on ENAS and 0.25 on Bayesian networks, learning rate 1e-4.
    """

    Settings = PaceEncoderSettings
    order_free = True
    static_shapes = True
    reference = "Dong et al., ICML 2022"

    def __init__(
        self, features: NodeFeatures, hidden: int, *, max_nodes: int, width: int, layers: int, dropout: float,
        order: NodeOrder,
    ) -> None:  # fmt: skip
        super().__init__()
        self.width = hidden
        self.blocks = 1
        self.max_nodes = max_nodes
        self.order: NodeOrder = order
        self.tokens = NodeTokens(features, max_nodes, width)
        self.layers = nn.ModuleList(Block(width, dropout) for _ in range(layers))
        self.readout = AlignedLinear(max_nodes * width, hidden, input_blocks=0)

    @classmethod
    def build(cls, plan: Plan, settings: PaceEncoderSettings) -> PaceEncoder:
        return cls(
            plan.features,
            plan.hidden,
            max_nodes=plan.max_nodes,
            width=settings.attention_width,
            layers=settings.layers or DEFAULT_LAYERS,
            dropout=settings.dropout,
            order=settings.node_order or plan.hints.node_order,
        )

    def prepare(self, batch: DagBatch) -> DagBatch:
        """The same graphs, their nodes in the order this encoder reads them in."""
        return ordered(batch, self.order)

    def forward(self, batch: DagBatch) -> Tensor:
        vector: Tensor = self.readout(self.node_outputs(fitted(batch, self.max_nodes)).flatten(1))
        return vector

    def node_outputs(self, batch: DagBatch) -> Tensor:
        """What the last block says of every node; zeros for padding."""  # batch node width
        allowed = ancestors(batch.adjacency)[:, None]
        values: Tensor = self.tokens(batch.types, batch.adjacency)
        for layer in self.layers:
            values = layer(values, allowed)
        return values * batch.node_mask()[..., None]
