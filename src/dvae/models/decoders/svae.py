"""The decoder of S-VAE and of D-VAE (fast): a GRU that writes node strings (paper, appendix on baselines).

The GRU sees the latent vector at every step and nothing else, so its states do not depend on what was written: one
pass gives the scores of all types and all edges, in teacher forcing as in sampling.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, draw_edges
from dvae.models.decoders.sampler import GraphRows, Sampler, rows_within_budget
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.recurrent import Recurrence
from dvae.models.node_strings import predecessor_bits
from dvae.models.parts import Plan, Sampling
from dvae.models.settings import EdgeSettings


class StringScores(NamedTuple):
    """Of nodes 1, 2, ..."""

    types: Tensor  # time batch type
    edges: Tensor  # time batch source


class SvaeDecoder(nn.Module):
    """Node strings from one pass.

    The state starts from zero; every input is relu(linear(z)); two two-layer networks with ReLU read the state.

    The likelihood scores all max_nodes - 1 bits of every node's string, those at and after the node's own position
    too (the original code): they are always zero, and sampling never looks at them.
    """

    Settings = EdgeSettings
    static_shapes = True
    reference = "Bowman et al., CoNLL 2016; Zhang et al., NeurIPS 2019"

    def __init__(
        self,
        *,
        num_types: int,
        max_nodes: int,
        hidden: int,
        latent: int,
        edge_width: int,
        end_edges: EndEdges = "loose-ends",
    ) -> None:
        super().__init__()
        self.num_types = num_types
        self.max_nodes = max_nodes
        self.end_edges = end_edges
        self.width = aligned(hidden)  # of a state in memory
        self.start = AlignedLinear(latent, hidden, input_blocks=0)
        self.gru = Recurrence(hidden, hidden)
        self.vertex_first = AlignedLinear(hidden, hidden)
        self.vertex_second = AlignedLinear(hidden, num_types)
        self.edges_first = AlignedLinear(hidden, edge_width)
        self.edges_second = AlignedLinear(edge_width, max_nodes - 1)

    @classmethod
    def build(cls, plan: Plan, settings: EdgeSettings) -> SvaeDecoder:
        return cls(**string_sizes(plan, settings))

    def scores(self, latents: Tensor, time: int) -> StringScores:
        """Of the first `time` nodes after the start."""
        gates = self.gru.input_gates(torch.relu(self.start(latents)))
        states = self.gru(gates.expand(time, -1, -1))
        types = self.vertex_second(torch.relu(self.vertex_first(states)))
        edges = self.edges_second(torch.relu(self.edges_first(states)))
        return StringScores(types[..., : self.num_types], edges[..., : self.max_nodes - 1])

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        scores = self.scores(latents, batch.max_nodes - 1)
        bits = predecessor_bits(batch, self.max_nodes - 1).to(scores.edges.dtype)
        edge_nll = functional.binary_cross_entropy_with_logits(scores.edges, bits, reduction="none").sum(2)
        nll = type_nll(scores.types, batch) + edge_nll
        return torch.where(batch.node_mask()[:, 1:].T, nll, 0.0).sum(0)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        return _SvaeSampler(self, latents, sampling).run()

    def rows_at_once(self, device: torch.device) -> int:
        return rows_within_budget(device, self.max_nodes * 4 * self.width)


def string_sizes(plan: Plan, settings: EdgeSettings) -> dict[str, Any]:
    """What the decoders that write node strings are built with."""
    return {
        "num_types": plan.num_types,
        "max_nodes": plan.max_nodes,
        "hidden": plan.hidden,
        "latent": plan.latent,
        "edge_width": settings.edge_width or plan.hidden,
        "end_edges": plan.hints.end_edges,
    }


def type_nll(scores: Tensor, batch: DagBatch) -> Tensor:
    """-log p of the type of every node but the start, padding included."""  # time batch
    truth = batch.types[:, 1:].T
    nll = functional.cross_entropy(scores.flatten(0, 1), truth.flatten(), reduction="none")
    return nll.view(truth.shape)


class _SvaeSampler(Sampler[GraphRows]):
    """All scores are known beforehand and edges do not depend on each other: one draw gives all edges of a node."""

    def __init__(self, decoder: SvaeDecoder, latents: Tensor, sampling: Sampling) -> None:
        count = latents.shape[0] * sampling.copies
        rows = GraphRows(count, 1, decoder.max_nodes, latents.device)
        super().__init__(rows, decoder.max_nodes, sampling, decoder.end_edges)
        self.scores = decoder.scores(latents, decoder.max_nodes - 1)
        self.latent_of = torch.arange(count, device=latents.device) // sampling.copies

    def type_scores(self, position: int) -> Tensor:
        return self.scores.types[position - 1][self.latent_of]

    def write_edges(self, position: int) -> None:
        scores = self.scores.edges[position - 1, :, :position][self.latent_of]
        edges = draw_edges(scores, self.sampling) & self.rows.growing[:, None]
        self.rows.adjacency[:, :position, position] = edges
