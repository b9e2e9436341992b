"""The GraphRNN decoder: one GRU over node strings, another over the edges of a node (paper, appendix on baselines).

In teacher forcing all inputs are known. The node-level GRU runs once over the nodes; the edge-level GRU then runs
over the edges of all nodes of all graphs at once.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges, draw_edges
from dvae.models.decoders.dvae import DENSE_NODES
from dvae.models.decoders.rows import RowTensor
from dvae.models.decoders.sampler import GraphRows, Sampler, rows_within_budget
from dvae.models.decoders.svae import string_sizes, type_nll
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.recurrent import Recurrence
from dvae.models.node_strings import NodeStrings, predecessor_bits
from dvae.models.parts import Plan, Sampling
from dvae.models.settings import EdgeSettings


class GraphRnnDecoder(nn.Module):
    """Node strings, bit by bit.

    The node state starts from relu(linear(z)) and receives the previous node's string, the first time zeros.

    The edge state starts from the node state and receives the previous bit, the first time a zero; bits come in the
    order of the nodes. As in S-VAE the likelihood scores all max_nodes - 1 bits of every node.
    """

    Settings = EdgeSettings
    reference = "You et al., ICML 2018; Zhang et al., NeurIPS 2019"

    def __init__(
        self,
        features: NodeFeatures,
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
        self.static_shapes = max_nodes <= DENSE_NODES
        self.width = aligned(hidden)  # of a state in memory
        self.strings = NodeStrings(features, max_nodes)
        self.start = AlignedLinear(latent, hidden, input_blocks=0)
        self.gru = Recurrence(self.strings.width, hidden)
        self.edge_gru = Recurrence(1, hidden, align_input=False)
        self.vertex_first = AlignedLinear(hidden, hidden)
        self.vertex_second = AlignedLinear(hidden, num_types)
        self.edge_first = AlignedLinear(hidden, edge_width)
        self.edge_second = AlignedLinear(edge_width, 1, output_blocks=0)

    @classmethod
    def build(cls, plan: Plan, settings: EdgeSettings) -> GraphRnnDecoder:
        return cls(plan.features, **string_sizes(plan, settings))

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        strings = self.strings(batch, latents.dtype)
        before = torch.cat([torch.zeros_like(strings[:1]), strings[:-1]])
        states = self.gru(self.gru.input_gates(before), torch.relu(self.start(latents)))  # time batch hidden
        counts = batch.node_mask()[:, 1:].T
        types = torch.where(counts, type_nll(self.type_scores(states), batch), 0.0)
        return types.sum(0) + self._edge_nll(states, counts, batch)

    def _edge_nll(self, states: Tensor, counts: Tensor, batch: DagBatch) -> Tensor:
        """A row is a node of a graph. Rows of padding are left out, except where shapes must be static."""
        bits = predecessor_bits(batch, self.max_nodes - 1).flatten(0, 1).T  # source row
        rows = states.flatten(0, 1)
        kept: Tensor | None = None
        if self._on_demand(batch):
            kept = counts.flatten().nonzero().squeeze(1)
            bits, rows = bits[:, kept], rows[kept]
        before = functional.pad(bits[:-1], (0, 0, 1, 0)).long()
        edge_states = self.edge_gru(self.edge_gru.bit_gates(), rows, index=before)  # source row hidden
        nll = functional.binary_cross_entropy_with_logits(
            self.edge_scores(edge_states), bits.to(states.dtype), reduction="none"
        ).sum(0)
        if kept is not None:
            nll = nll.new_zeros(counts.numel()).index_copy(0, kept, nll)
        return torch.where(counts, nll.view(counts.shape), 0.0).sum(0)

    def _on_demand(self, batch: DagBatch) -> bool:
        """Whether shapes may follow the data."""
        return batch.device.type == "cpu" or not self.static_shapes

    def type_scores(self, states: Tensor) -> Tensor:
        scores: Tensor = self.vertex_second(torch.relu(self.vertex_first(states)))
        return scores[..., : self.num_types]

    def edge_scores(self, edge_states: Tensor) -> Tensor:
        scores: Tensor = self.edge_second(torch.relu(self.edge_first(edge_states)))
        return scores.squeeze(-1)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        return _GraphRnnSampler(self, latents, sampling).run()

    def rows_at_once(self, device: torch.device) -> int:
        return rows_within_budget(device, 12 * self.width)


class _GraphRnnRows(GraphRows):
    state = RowTensor()  # row hidden: of the node-level GRU
    edge_state = RowTensor()  # row hidden: of the edge-level GRU
    bit = RowTensor()  # row: what it wrote last


class _GraphRnnSampler(Sampler[_GraphRnnRows]):
    """Copies of a latent share their rows until a decision separates them."""

    def __init__(self, decoder: GraphRnnDecoder, latents: Tensor, sampling: Sampling) -> None:
        rows = _GraphRnnRows(latents.shape[0], sampling.copies, decoder.max_nodes, latents.device)
        super().__init__(rows, decoder.max_nodes, sampling, decoder.end_edges)
        self.decoder = decoder
        self.bit_gates = decoder.edge_gru.bit_gates()
        rows.state = torch.relu(decoder.start(latents))

    def type_scores(self, position: int) -> Tensor:
        """After a step of the node-level GRU."""
        rows, gru = self.rows, self.decoder.gru
        state = rows.state
        if position == 1:
            gates = gru.bias_ih.expand(rows.count, -1)
        else:
            before = position - 1
            strings = self.decoder.strings.join(rows.types[:, before], rows.adjacency[:, :, before], state.dtype)
            gates = gru.input_gates(strings)
        rows.state = gru.step(gates, state)
        return self.decoder.type_scores(rows.state)

    def write_edges(self, position: int) -> None:
        """One bit after the other, from the start on; bits at and after `position` have nothing to decide."""
        rows, decoder = self.rows, self.decoder
        rows.edge_state = rows.state.clone()
        rows.bit = torch.zeros_like(rows.num_nodes)
        for source in range(position):
            picked = rows.growing.nonzero().squeeze(1)
            pick = slice(None) if len(picked) == rows.count else picked
            state = decoder.edge_gru.step(self.bit_gates[rows.bit[pick]], rows.edge_state[pick])
            rows.edge_state[pick] = state
            scores = state.new_zeros(rows.count)
            scores[pick] = decoder.edge_scores(state)
            edge = draw_edges(scores[rows.row_of], self.sampling) & rows.growing[rows.row_of]
            rows.bit = rows.branch(edge.long())
            rows.adjacency[:, source, position] = rows.bit.bool()
