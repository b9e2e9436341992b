"""The layerwise encoder: attention among all nodes of a DAG that knows of edges and layers; all nodes at once.

A pair of nodes has a relation: an edge one way, the other way or none, and how many layers lie between them, before or
after. The DAG comes in layer order (`layer_order`), so the vectors of its nodes, each narrowed, can stand side by side
before they are mapped to one vector: what is at which place is not lost, as it would be in a sum.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.layer_order import layer_ordered
from dvae.models.layerwise import (
    DEFAULT_LAYERS,
    DEFAULT_WIDTH,
    DISTANCES,
    LayerwiseSettings,
    RelationBlock,
    attention_numbers,
    by_size,
    distance_class,
    fed,
    layer_numbers,
    layer_starts,
    newest_predecessors,
)
from dvae.models.node_order import NodeOrder
from dvae.models.parts import Plan
from dvae.models.places import moments
from dvae.models.transformer import plain_linear

EDGES = 3  # none, to the node, from it
RELATIONS = EDGES * (2 * DISTANCES - 1)
MAX_READ = 8_192  # numbers that stand side by side, about: with many nodes each gets fewer


class LayerwiseEncoder(nn.Module):
    """Attention with relations; the narrowed vectors of all nodes side by side, and their mean, give the graph's.

    Where places have latents of their own, these hold what the nodes are, and the end node, which knows how many nodes
    and layers there are, takes the place of all side by side.
    """

    Settings = LayerwiseSettings
    order_free = True
    static_shapes = True
    any_width = True
    reference = "this project; layers as in Li et al., ICLR 2025"

    def __init__(
        self, features: NodeFeatures, hidden: int, *, max_nodes: int, width: int, layers: int, order: NodeOrder,
        place_latents: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.width = hidden
        self.blocks = 1
        self.max_nodes = max_nodes
        self.order: NodeOrder = order
        self.features = features
        self.type_weight = nn.Parameter(uniform(width, features.width, bound=1 / math.sqrt(features.width)))
        self.places = nn.Parameter(0.1 * torch.randn(max_nodes, width))
        self.layers = nn.ModuleList(RelationBlock(width, RELATIONS) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.own_latents = max_nodes * place_latents
        self.narrow = self.own = None
        if place_latents:
            self.own = plain_linear(width, 2 * place_latents)
            read = width
        else:
            self.narrow = plain_linear(width, max(4, min(width, MAX_READ // max_nodes)))
            read = max_nodes * self.narrow.weight.shape[0]
        self.readout = AlignedLinear(read + width, hidden, input_blocks=0)

    @classmethod
    def build(cls, plan: Plan, settings: LayerwiseSettings) -> LayerwiseEncoder:
        settings.check_latents(plan.latent, plan.max_nodes)
        return cls(
            plan.features,
            plan.hidden,
            max_nodes=plan.max_nodes,
            width=settings.token_width or DEFAULT_WIDTH,
            layers=settings.layers or DEFAULT_LAYERS,
            order=plan.hints.node_order,
            place_latents=settings.place_latents or 0,
        )

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        read = self.readout.weight.shape[1]
        return attention_numbers(self.places.shape[1], len(self.layers), nodes) + 2 * read

    def prepare(self, batch: DagBatch) -> DagBatch:
        """The same graphs, their nodes in layer order."""
        return layer_ordered(batch, self.order)

    def forward(self, batch: DagBatch) -> Tensor:
        parts = list(by_size(batch))
        vectors = torch.cat([self._vectors(part) for _, part in parts])
        graphs = torch.cat([index for index, _ in parts])
        return vectors[graphs.argsort()]

    def _vectors(self, batch: DagBatch) -> Tensor:
        mask = batch.node_mask()[..., None]
        nodes = self.node_outputs(batch) * mask
        mean = nodes.sum(1) / batch.num_nodes[:, None]
        if self.narrow is not None:
            narrow = torch.relu(self.narrow(nodes)) * mask
            room = self.max_nodes - batch.max_nodes
            side_by_side = functional.pad(narrow, (0, 0, 0, room)).flatten(1)
            vectors: Tensor = self.readout(torch.cat([side_by_side, mean], 1))
            return vectors
        assert self.own is not None
        last = (batch.num_nodes - 1)[:, None, None].expand(-1, 1, nodes.shape[2])
        vectors = self.readout(torch.cat([nodes.gather(1, last)[:, 0], mean], 1))
        return torch.cat([vectors, moments(self.own, nodes, mask, self.max_nodes)], 1)

    def node_outputs(self, batch: DagBatch) -> Tensor:
        """What the last block says of every node, padding included."""  # batch node width
        relations = pair_relations(batch)
        kinds = rows_of(self.features.linear(self.type_weight, None), batch.types)
        tokens: Tensor = kinds + self.places[: batch.max_nodes]
        for layer in self.layers:
            tokens = layer(tokens, relations)
        normed: Tensor = self.norm(tokens)
        return normed


def pair_relations(batch: DagBatch) -> Tensor:
    """[b, v, u]: how u stands to v; `RELATIONS` where u is padding."""  # batch node node
    numbers = layer_numbers(layer_starts(newest_predecessors(fed(batch))))
    between = numbers[:, :, None] - numbers[:, None, :]
    distance = between.sign() * distance_class(between.abs()) + DISTANCES - 1
    edge = batch.adjacency.mT.long() + 2 * batch.adjacency.long()
    relations = edge * (2 * DISTANCES - 1) + distance
    return relations.masked_fill(~batch.node_mask()[:, None, :], RELATIONS)
