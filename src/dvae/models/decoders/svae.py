"""The decoder of S-VAE and of D-VAE (fast): a GRU that writes node strings (paper, appendix on baselines).

The GRU sees the latent vector at every step and nothing else, so its states do not depend on what was written: one
pass gives the scores of all types and all edges, in teacher forcing as in sampling.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, draw_edges
from dvae.models.decoders.growth import grow, start_rows
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.recurrent import Recurrence
from dvae.models.node_strings import predecessor_bits
from dvae.models.parts import Sampling


class StringScores(NamedTuple):
    """Of nodes 1, 2, ..."""

    types: Tensor  # time batch type
    edges: Tensor  # time batch source


class SvaeDecoder(nn.Module):
    """The state starts from zero; every input is relu(linear(z)); two two-layer networks with ReLU read the state.

    The likelihood scores all max_nodes - 1 bits of every node's string, those at and after the node's own position
    too (the original code): they are always zero, and sampling never looks at them.
    """

    static_shapes = True

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
        return _Writer(self, latents, sampling).run()

    def rows_at_once(self, device: torch.device) -> int:
        per_row = 4 * self.max_nodes * 4 * self.width
        budget = (1 << 25) if device.type == "cpu" else (1 << 33)
        return max(16, budget // per_row)


def type_nll(scores: Tensor, batch: DagBatch) -> Tensor:
    """-log p of the type of every node but the start, padding included."""  # time batch
    truth = batch.types[:, 1:].T
    nll = functional.cross_entropy(scores.flatten(0, 1), truth.flatten(), reduction="none")
    return nll.view(truth.shape)


class _Writer:
    """All scores are known beforehand and edges do not depend on each other: one draw gives all edges of a node."""

    def __init__(self, decoder: SvaeDecoder, latents: Tensor, sampling: Sampling) -> None:
        self.end_edges = decoder.end_edges
        self.sampling = sampling
        self.scores = decoder.scores(latents, decoder.max_nodes - 1)
        count, device = latents.shape[0] * sampling.copies, latents.device
        self.rows = start_rows(count, 1, decoder.max_nodes, device)
        self.latent_of = torch.arange(count, device=device) // sampling.copies

    def run(self) -> DagBatch:
        return grow(self.rows, self, self.sampling, self.end_edges)

    def type_scores(self, position: int) -> Tensor:
        return self.scores.types[position - 1][self.latent_of]

    def write_edges(self, position: int) -> None:
        scores = self.scores.edges[position - 1, :, :position][self.latent_of]
        edges = draw_edges(scores, self.sampling) & self.rows["growing"][:, None]
        self.rows["adjacency"][:, :position, position] = edges
