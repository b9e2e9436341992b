"""The PACE decoder (Dong et al., ICML 2022): a Transformer that writes a DAG node by node.

A node's output attends to the nodes written so far and to a memory made of z. The output of the newest node gives
the type of the next; that type and the same output stand for the next node while its edges are chosen, from all
earlier nodes at once: each is a pair (output of the earlier node, next node), decided on its own.

With teacher forcing all outputs come from one pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, draw_edges
from dvae.models.decoders.sampler import GraphRows, Sampler, rows_within_budget
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.parts import Plan, Sampling
from dvae.models.settings import EdgeSettings
from dvae.models.transformer import (
    DEFAULT_LAYERS,
    HEADS,
    Block,
    NodeTokens,
    TransformerSettings,
    fitted,
    plain_linear,
)


@dataclass(frozen=True)
class PaceDecoderSettings(TransformerSettings, EdgeSettings):
    """The Transformer's settings, and the width of the edge head: 4 times the attention's by default."""


class PaceDecoder(nn.Module):
    """Node by node from a Transformer.

    Both heads are two-layer networks with ReLU; the edge head's first layer is split into its three inputs.

    `end_edges` as in `DvaeDecoder`: "loose-ends" gives the end node exactly the nodes without successors, "sampled"
    lets it choose edges first. The likelihood scores all types and edges, those of the end node too, as there.
    """

    Settings = PaceDecoderSettings
    static_shapes = True
    reference = "Dong et al., ICML 2022"

    def __init__(
        self, features: NodeFeatures, *, num_types: int, max_nodes: int, latent: int, width: int, layers: int,
        dropout: float, edge_width: int, end_edges: EndEdges = "loose-ends",
    ) -> None:  # fmt: skip
        super().__init__()
        self.features = features
        self.num_types = num_types
        self.max_nodes = max_nodes
        self.end_edges = end_edges
        self.memory = plain_linear(latent, max_nodes * width)
        self.tokens = NodeTokens(features, max_nodes, width)
        self.layers = nn.ModuleList(Block(width, dropout, with_memory=True) for _ in range(layers))
        self.vertex_first = plain_linear(width, 2 * width)
        self.vertex_second = plain_linear(2 * width, num_types)
        self.edge_source = plain_linear(width, edge_width)
        self.edge_target = plain_linear(width, edge_width)
        self.edge_type = nn.Parameter(uniform(edge_width, features.width, bound=features.width**-0.5))
        self.edge_second = plain_linear(edge_width, 1)

    @classmethod
    def build(cls, plan: Plan, settings: PaceDecoderSettings) -> PaceDecoder:
        return cls(
            plan.features,
            num_types=plan.num_types,
            max_nodes=plan.max_nodes,
            latent=plan.latent,
            width=settings.attention_width,
            layers=settings.layers or DEFAULT_LAYERS,
            dropout=settings.dropout,
            edge_width=settings.edge_width or 4 * settings.attention_width,
            end_edges=plan.hints.end_edges,
        )

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        batch = fitted(batch, self.max_nodes)
        outputs = self.outputs(self.remember(latents), batch.types[:, :-1], batch.adjacency[:, :-1, :-1])
        truth, is_there = batch.types[:, 1:], batch.node_mask()[:, 1:]
        type_scores = self.type_scores(outputs).flatten(0, 1)
        type_nll = functional.cross_entropy(type_scores, truth.flatten(), reduction="none").view(truth.shape)
        earlier = torch.ones(truth.shape[1], truth.shape[1], dtype=torch.bool, device=batch.device).tril()
        edge_scores = self.edge_scores(outputs, outputs, truth)  # batch target source
        edge_nll = functional.binary_cross_entropy_with_logits(
            edge_scores,
            batch.adjacency[:, :-1, 1:].mT.to(edge_scores.dtype),
            weight=(is_there[..., None] & earlier).to(edge_scores.dtype),
            reduction="none",
        )
        return (type_nll * is_there).sum(1) + edge_nll.sum((1, 2))

    def remember(self, latents: Tensor) -> Tensor:
        """What the blocks attend to, made of z."""  # batch node width
        memory: Tensor = self.memory(latents).unflatten(1, (self.max_nodes, -1))
        return memory

    def outputs(self, memory: Tensor, types: Tensor, adjacency: Tensor) -> Tensor:
        """The outputs of the first nodes of graphs, each from what was written up to it."""  # batch node width
        nodes = types.shape[1]
        earlier = torch.ones(nodes, nodes, dtype=torch.bool, device=types.device).tril()
        values: Tensor = self.tokens(types, adjacency)
        for layer in self.layers:
            values = layer(values, earlier, memory)
        return values

    def type_scores(self, outputs: Tensor) -> Tensor:
        """For the type of the node after each."""  # ... width -> ... type
        scores: Tensor = self.vertex_second(torch.relu(self.vertex_first(outputs)))
        return scores

    def edge_scores(self, sources: Tensor, newest: Tensor, types: Tensor) -> Tensor:
        """For edges from all of `sources` to the nodes of `types` that come after `newest`."""  # batch target source
        targets = self.edge_target(newest) + rows_of(self.features.linear(self.edge_type, None), types)
        wide = torch.relu(self.edge_source(sources)[:, None] + targets[:, :, None])
        scores: Tensor = self.edge_second(wide).squeeze(-1)
        return scores

    def rows_at_once(self, device: torch.device) -> int:
        width = self.edge_source.weight.shape[0] + 16 * self.edge_source.weight.shape[1]
        return rows_within_budget(device, self.max_nodes * (width + HEADS * self.max_nodes))

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        repeated = latents.repeat_interleave(sampling.copies, 0)
        parts = repeated.split(self.rows_at_once(latents.device))
        return DagBatch.cat([_PaceSampler(self, part, sampling).run() for part in parts])


class _PaceSampler(Sampler[GraphRows]):
    """Every step computes the outputs of all nodes so far, of all graphs at once."""

    def __init__(self, decoder: PaceDecoder, latents: Tensor, sampling: Sampling) -> None:
        rows = GraphRows(latents.shape[0], 1, decoder.max_nodes, latents.device)
        super().__init__(rows, decoder.max_nodes, sampling, decoder.end_edges)
        self.decoder = decoder
        self.memory = decoder.remember(latents)
        self.outputs = self.memory[:, :0]

    def type_scores(self, position: int) -> Tensor:
        types, adjacency = self.rows.types[:, :position], self.rows.adjacency[:, :position, :position]
        self.outputs = self.decoder.outputs(self.memory, types, adjacency)
        return self.decoder.type_scores(self.outputs[:, -1])

    def write_edges(self, position: int) -> None:
        types = self.rows.types[:, position, None]
        scores = self.decoder.edge_scores(self.outputs, self.outputs[:, -1:], types)[:, 0]
        edges = draw_edges(scores, self.sampling) & self.rows.growing[:, None]
        self.rows.adjacency[:, :position, position] = edges
