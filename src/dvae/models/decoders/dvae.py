"""The D-VAE decoder: node by node, edges in reverse order, states updated as they come (paper, section 3.2).

Teacher forcing needs no loop over edges: once one sweep has given the final node states, every state in between is a
sum of known messages (`plan`), and all decisions of a batch go through one call of each network. Sampling has to take
its decisions one after another; it takes each for all latents at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges
from dvae.models.decoders.dvae_sampler import DvaeSampler
from dvae.models.decoders.edge_scores import all_scores, listed_scores
from dvae.models.decoders.interval_scores import rectangle_nll
from dvae.models.decoders.intervals import IntervalPlan
from dvae.models.decoders.padded_plan import PaddedPlan
from dvae.models.decoders.plan import CompactPlan, DensePlan
from dvae.models.decoders.sampler import rows_within_budget
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.gru import GruUpdate
from dvae.models.kernels.precision import linear
from dvae.models.kernels.shares import family_signature, share_equal
from dvae.models.parts import Aggregation, Plan, Sampling
from dvae.models.settings import AggregationSettings, EdgeSettings

COMPACT_NODES = 16  # larger graphs are cheaper by intervals of sources than pair by pair
DENSE_NODES = 64  # for larger graphs a state per decision is too many, even on a GPU
NODE_NUMBERS = 28  # that a training step keeps of a node, for each hidden unit

GraphState = Literal["last", "sum"]


@dataclass(frozen=True)
class DvaeDecoderSettings(AggregationSettings, EdgeSettings):
    """The aggregation, and the width of f_add_edge: 4 times hidden, with `edge_context` once, as published."""


class DvaeDecoder(nn.Module):
    """Node by node, edges in reverse order; f_add_vertex and f_add_edge are two-layer networks with ReLU.

    - graph_state "last": the state of the newest node (eq. in 3.2, step 1); "sum": of all nodes so far (BN).
    - edge_context: f_add_edge also sees h_0 (the original code for BN).
    - end_edges "loose-ends": the end node takes exactly the nodes without successors (step 2); "sampled": it chooses
      its edges like any node and then takes the loose ends too, for data where the end has other predecessors.
    """

    Settings = DvaeDecoderSettings
    aggregates = True
    any_width = True
    reference = "Zhang et al., NeurIPS 2019"

    def __init__(
        self,
        aggregation: Aggregation,
        update: GruUpdate,
        *,
        num_types: int,
        max_nodes: int,
        hidden: int,
        latent: int,
        edge_width: int,
        edge_context: bool = False,
        graph_state: GraphState = "last",
        end_edges: EndEdges = "loose-ends",
    ) -> None:
        super().__init__()
        self.aggregation = aggregation
        self.update = update
        self.num_types = num_types
        self.max_nodes = max_nodes
        self.graph_state = graph_state
        self.end_edges = end_edges
        self.width = aligned(hidden)  # of a state in memory
        self.start = AlignedLinear(latent, hidden, input_blocks=0)
        self.vertex_first = AlignedLinear(hidden, 2 * hidden)
        self.vertex_second = AlignedLinear(2 * hidden, num_types, output_blocks=0)
        self.edge_context = edge_context
        self.static_shapes = aggregation.static_shapes
        self.edge_first = AlignedLinear(hidden, edge_width, input_blocks=3 if edge_context else 2)
        self.edge_second = AlignedLinear(edge_width, 1, output_blocks=0)

    @classmethod
    def build(cls, plan: Plan, settings: DvaeDecoderSettings) -> DvaeDecoder:
        return cls(plan.shared_aggregation, plan.update(), **sizes(plan, settings))

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """The last node's type and all edges into the end node are scored, as in the original."""
        start = torch.tanh(self.start(latents))
        states, messages = self.aggregation.propagate(self.update, batch, first=start)
        assert messages is not None  # a sweep with a first message gives them
        return self._type_nll(states, batch) + self._edge_nll(start, states, messages, batch)

    def _type_nll(self, states: Tensor, batch: DagBatch) -> Tensor:
        graph_states = states[:, :-1] if self.graph_state == "last" else states.cumsum(1)[:, :-1]
        scores = self.type_scores(graph_states.flatten(0, 1))
        truth = batch.types[:, 1:]
        nll = functional.cross_entropy(scores, truth.flatten(), reduction="none").view(truth.shape)
        return (nll * batch.node_mask()[:, 1:]).sum(1)

    def _edge_nll(self, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch) -> Tensor:
        """On a GPU shapes are static, so that a step can be captured; otherwise they follow the data."""
        if batch.device.type == "cuda" and batch.max_nodes > DENSE_NODES:
            return self._padded_edge_nll(PaddedPlan.of(batch, self.num_types), start, states, messages)
        if batch.device.type == "cuda" and self.static_shapes:
            return self._dense_edge_nll(DensePlan.of(batch), start, states, messages, batch)
        if batch.max_nodes > COMPACT_NODES:
            return self._interval_edge_nll(IntervalPlan.of(batch, self.num_types), start, states, messages)
        return self._compact_edge_nll(CompactPlan.of(batch, self.num_types), start, states, messages, batch)

    def _interval_edge_nll(self, plan: IntervalPlan, start: Tensor, states: Tensor, messages: Tensor) -> Tensor:
        table, sources = self.update.table(), self._source_part(states, start).flatten(0, 1)
        finals = states.flatten(0, 1).index_select(0, plan.finals)
        between = self._between(plan, messages.flatten(0, 1), table)
        targets = self.target_part(torch.cat([self.update.without_message(table), between, finals]))
        weight, bias, listed = self.edge_second.weight[0], self.edge_second.bias, plan.listed
        nll = rectangle_nll(plan.rectangles, sources, targets.index_select(0, plan.rectangles.states), weight, bias)
        scores = listed_scores(sources, targets, weight, listed.source, listed.state) + bias
        costs = -listed.count * functional.logsigmoid(-scores) - listed.edges * scores
        return nll.index_add(0, listed.source // states.shape[1], costs)

    def _between(self, plan: IntervalPlan, messages: Tensor, table: Tensor) -> Tensor:
        """The states that nodes pass through on the way to their final ones."""  # state hidden
        sums = [messages.new_zeros(0, self.width)]
        for some in plan.prefixes:
            gathered = messages.index_select(0, some.edge_source.flatten()).unflatten(0, some.edge_source.shape)
            sums.append(gathered.cumsum(1).flatten(0, 1).index_select(0, some.kept))
        states: Tensor = self.update(plan.between_types, torch.cat(sums), table)
        return states

    def _padded_edge_nll(self, plan: PaddedPlan, start: Tensor, states: Tensor, messages: Tensor) -> Tensor:
        table = self.update.table()
        sums = plan.membership.to(messages.dtype) @ messages  # batch slot hidden
        reached = self.update(plan.slot_types.flatten(), sums.flatten(0, 1), table)
        targets = self.target_part(torch.cat([self.update.without_message(table), reached]))
        sources = self._source_part(states, start).flatten(0, 1)
        pairs = plan.pair_source.flatten(), plan.pair_state.flatten()
        scores = listed_scores(sources, targets, self.edge_second.weight[0], *pairs).view(plan.edge.shape)
        return _edge_loss(scores + self.edge_second.bias, plan.edge, plan.counts).sum(1)

    def _dense_edge_nll(
        self, plan: DensePlan, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch
    ) -> Tensor:
        table = self.update.table()
        sums = plan.membership.to(messages.dtype) @ messages  # batch row hidden
        between = self.update(plan.row_types.flatten(), sums.flatten(0, 1), table)
        scores = all_scores(
            self._source_part(states, start),
            self.target_part(self.update.without_message(table)),
            self.target_part(between).unflatten(0, plan.row_types.shape),
            self.edge_second.weight[0],
            batch.types[:, 1:],
            plan.row_source,
        )
        return _edge_loss(scores + self.edge_second.bias, plan.edge, plan.counts).sum(1)

    def _compact_edge_nll(
        self, plan: CompactPlan, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch
    ) -> Tensor:
        sources = self._source_part(states, start).flatten(0, 1)
        targets, pair_state = self._compact_targets(plan, states, messages, batch)
        scores = listed_scores(sources, targets, self.edge_second.weight[0], plan.pair_source, pair_state)
        nll = _edge_loss(scores + self.edge_second.bias, plan.pair_edge)
        return nll.new_zeros(len(batch)).index_add(0, plan.pair_graph, nll)

    def _compact_targets(
        self, plan: CompactPlan, states: Tensor, messages: Tensor, batch: DagBatch
    ) -> tuple[Tensor, Tensor]:
        """The target part of the edge network for every state of the plan, and the state of every pair."""
        table = self.update.table()
        untouched = self.update.without_message(table)
        sums = (plan.membership.to(messages.dtype) @ messages).flatten(0, 1)[plan.kept]  # state hidden
        types = plan.row_types.flatten()[plan.kept]
        finals = states.flatten(0, 1)[plan.finals]
        if not self.aggregation.depends_on_types_only:
            between = self.update(types, sums, table)
            return self.target_part(torch.cat([untouched, between, finals])), plan.pair_state
        # States depend on a node's type and its parents' alone: equal families of the whole batch once.
        family = family_signature(batch.types, plan.membership, plan.row_types).flatten()[plan.kept]
        final_family = family_signature(batch.types, batch.adjacency.mT, batch.types).flatten()[plan.finals]
        inner = share_equal(family)
        share = share_equal(torch.cat([family, final_family]))
        between = self.update(types[inner.representative], sums[inner.representative], table)
        distinct = torch.cat([between[inner.member], finals])[share.representative]
        moved = torch.cat([torch.arange(self.num_types, device=batch.device), self.num_types + share.member])
        return self.target_part(torch.cat([untouched, distinct])), moved[plan.pair_state]

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        """Of nodes, of the states in between, and of pairs, of which the edge network is as wide for a block only."""
        wide, pairs = self.edge_first.bias.shape[0], 4
        if self.edge_first.bias.is_cuda:
            pairs = 5 * self.width + 2 * wide if nodes <= DENSE_NODES else 16
        return (
            nodes * (NODE_NUMBERS * self.width + 6 * wide) + edges * (8 * self.width + 5 * wide) + pairs * nodes * nodes
        )

    def type_scores(self, graph_states: Tensor) -> Tensor:
        """f_add_vertex."""  # row hidden -> row type
        scores: Tensor = self.vertex_second(torch.relu(self.vertex_first(graph_states)))
        return scores

    def _source_part(self, states: Tensor, start: Tensor) -> Tensor:
        """The first layer's product with the source's state (and h_0), bias included."""  # batch node width
        weight = self.edge_first.weight
        part = linear(states, weight[:, : self.width], self.edge_first.bias)
        if self.edge_context:
            part = part + linear(start, weight[:, 2 * self.width :])[:, None]
        return part

    def target_part(self, states: Tensor) -> Tensor:
        """The first layer's product with the state of the node that the edge leads to."""  # row hidden -> row width
        return linear(states, self.edge_first.weight[:, self.width : 2 * self.width])

    def rows_at_once(self, device: torch.device) -> int:
        return rows_within_budget(device, self.max_nodes * (self.edge_first.bias.shape[0] + 2 * self.width))

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        return DvaeSampler(self, latents, sampling).run()


def sizes(plan: Plan, settings: DvaeDecoderSettings) -> dict[str, Any]:
    """What the decoders of D-VAE and D-VAE (SMP) are built with."""
    hints = plan.hints
    return {
        "num_types": plan.num_types,
        "max_nodes": plan.max_nodes,
        "hidden": plan.hidden,
        "latent": plan.latent,
        "edge_width": settings.edge_width or plan.hidden * (1 if hints.edge_context else 4),
        "edge_context": hints.edge_context,
        "graph_state": hints.graph_state,
        "end_edges": hints.end_edges,
    }


def _edge_loss(scores: Tensor, edge: Tensor, counts: Tensor | None = None) -> Tensor:
    """-log p of each decision; decisions that do not count cost nothing."""
    weight = None if counts is None else counts.to(scores.dtype)
    return functional.binary_cross_entropy_with_logits(scores, edge.to(scores.dtype), weight=weight, reduction="none")
