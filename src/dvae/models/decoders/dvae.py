"""The D-VAE decoder: node by node, edges in reverse order, states updated as they come (paper, section 3.2).

Teacher forcing needs no loop over edges: once one sweep has given the final node states, every state in between is a
sum of known messages (`plan`), and all decisions of a batch go through one call of each network. Sampling has to take
its decisions one after another; it takes each for all latents at once.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.aggregation import Aggregation
from dvae.models.decoders.decisions import EndEdges, choose, draw_edges, finish
from dvae.models.decoders.edge_scores import all_scores, listed_scores
from dvae.models.decoders.plan import CompactPlan, DensePlan
from dvae.models.decoders.rows import Rows
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.gru import GruUpdate
from dvae.models.kernels.precision import linear
from dvae.models.kernels.sweep import family_signature, share_equal
from dvae.models.parts import Sampling
from dvae.tasks.vocabulary import END_INDEX, START_INDEX

DENSE_NODES = 64  # for larger graphs a state a decision is too many, even on a GPU

GraphState = Literal["last", "sum"]


class DvaeDecoder(nn.Module):
    """f_add_vertex and f_add_edge are two-layer networks with ReLU.

    - graph_state "last": the state of the newest node (eq. in 3.2, step 1); "sum": of all nodes so far (BN).
    - edge_context: f_add_edge also sees h_0 (the original code for BN).
    - end_edges "loose-ends": the end node takes exactly the nodes without successors (step 2); "sampled": it chooses
      its edges like any node and then takes the loose ends too, for data where the end has other predecessors.
    """

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
        self.static_shapes = max_nodes <= DENSE_NODES
        self.edge_first = AlignedLinear(hidden, edge_width, input_blocks=3 if edge_context else 2)
        self.edge_second = AlignedLinear(edge_width, 1, output_blocks=0)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """The last node's type and all edges into the end node are scored, as in the original."""
        start = torch.tanh(self.start(latents))
        states, messages = self.aggregation.propagate(self.update, batch, first=start)
        assert messages is not None  # a sweep with a first message gives them
        return self._type_nll(states, batch) + self._edge_nll(start, states, messages, batch)

    def _type_nll(self, states: Tensor, batch: DagBatch) -> Tensor:
        graph_states = states[:, :-1] if self.graph_state == "last" else states.cumsum(1)[:, :-1]
        scores = self._vertex_scores(graph_states.flatten(0, 1))
        truth = batch.types[:, 1:]
        nll = functional.cross_entropy(scores, truth.flatten(), reduction="none").view(truth.shape)
        return (nll * batch.node_mask()[:, 1:]).sum(1)

    def _edge_nll(self, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch) -> Tensor:
        """On a GPU shapes are static, so that a step can be captured; otherwise they follow the data."""
        if batch.device.type == "cuda" and self.static_shapes:
            return self._dense_edge_nll(DensePlan.of(batch), start, states, messages, batch)
        return self._compact_edge_nll(CompactPlan.of(batch, self.num_types), start, states, messages, batch)

    def _dense_edge_nll(
        self, plan: DensePlan, start: Tensor, states: Tensor, messages: Tensor, batch: DagBatch
    ) -> Tensor:
        table = self.update.table()
        sums = plan.membership.to(messages.dtype) @ messages  # batch row hidden
        between = self.update(plan.row_types.flatten(), sums.flatten(0, 1), table)
        scores = all_scores(
            self._source_part(states, start),
            self._target_part(self.update.without_message(table)),
            self._target_part(between).unflatten(0, plan.row_types.shape),
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
            return self._target_part(torch.cat([untouched, between, finals])), plan.pair_state
        # States depend on a node's type and its parents' alone: equal families of the whole batch once.
        family = family_signature(batch.types, plan.membership, plan.row_types).flatten()[plan.kept]
        final_family = family_signature(batch.types, batch.adjacency.mT, batch.types).flatten()[plan.finals]
        inner = share_equal(family)
        share = share_equal(torch.cat([family, final_family]))
        between = self.update(types[inner.representative], sums[inner.representative], table)
        distinct = torch.cat([between[inner.member], finals])[share.representative]
        moved = torch.cat([torch.arange(self.num_types, device=batch.device), self.num_types + share.member])
        return self._target_part(torch.cat([untouched, distinct])), moved[plan.pair_state]

    def _vertex_scores(self, graph_states: Tensor) -> Tensor:
        scores: Tensor = self.vertex_second(torch.relu(self.vertex_first(graph_states)))
        return scores

    def _source_part(self, states: Tensor, start: Tensor) -> Tensor:
        """The first layer's product with the source's state (and h_0), bias included."""  # batch node width
        weight = self.edge_first.weight
        part = linear(states, weight[:, : self.width], self.edge_first.bias)
        if self.edge_context:
            part = part + linear(start, weight[:, 2 * self.width :])[:, None]
        return part

    def _target_part(self, states: Tensor) -> Tensor:
        return linear(states, self.edge_first.weight[:, self.width : 2 * self.width])

    def rows_at_once(self, device: torch.device) -> int:
        per_row = 4 * self.max_nodes * (self.edge_first.bias.shape[0] + 2 * self.width)
        budget = (1 << 25) if device.type == "cpu" else (1 << 33)
        return max(16, budget // per_row)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        return _Sampler(self, latents, sampling).run()


def _edge_loss(scores: Tensor, edge: Tensor, counts: Tensor | None = None) -> Tensor:
    """-log p of each decision; decisions that do not count cost nothing."""
    weight = None if counts is None else counts.to(scores.dtype)
    return functional.binary_cross_entropy_with_logits(scores, edge.to(scores.dtype), weight=weight, reduction="none")


class _Sampler:
    """One run of the generative process over many latents; a decision at a time, all graphs at once."""

    def __init__(self, decoder: DvaeDecoder, latents: Tensor, sampling: Sampling) -> None:
        self.decoder = decoder
        self.sampling = sampling
        self.nodes = decoder.max_nodes
        self.table = decoder.update.table()
        untouched = decoder.update.without_message(self.table)
        self.untouched_targets = decoder._target_part(untouched)  # type width
        self.untouched_states = untouched
        count, device = latents.shape[0], latents.device
        rows = Rows(count, sampling.copies, device)
        start = torch.tanh(decoder.start(latents))
        types = torch.full((count,), START_INDEX, device=device)
        state = decoder.update(types, start, self.table)
        rows["types"] = torch.zeros(count, self.nodes, dtype=torch.int64, device=device)
        rows["adjacency"] = torch.zeros(count, self.nodes, self.nodes, dtype=torch.bool, device=device)
        rows["num_nodes"] = torch.zeros(count, dtype=torch.int64, device=device)  # 0 while unfinished
        rows["graph_state"] = state
        rows["messages"] = latents.new_zeros(count, self.nodes, decoder.width)
        rows["sources"] = latents.new_zeros(count, self.nodes, decoder.edge_first.bias.shape[0])
        if decoder.edge_context:
            rows["context"] = linear(start, decoder.edge_first.weight[:, 2 * decoder.width :])
        self.rows = rows
        self._remember(0, types, state, torch.arange(count, device=device))

    def run(self) -> DagBatch:
        for position in range(1, self.nodes):
            types = self._choose_types(position)
            open_rows = (self.rows["num_nodes"] == 0).nonzero().squeeze(1)
            if len(open_rows) == 0:
                break
            self.rows["types"][open_rows, position] = types[open_rows]
            ended = types == END_INDEX
            ends_freely = self.decoder.end_edges == "loose-ends"
            ended[self.rows["num_nodes"] > 0] = False
            growing = (self.rows["num_nodes"] == 0) & ~(ended & ends_freely)
            self._choose_edges(position, types, growing)
            finish(self.rows["types"], self.rows["adjacency"], self.rows["num_nodes"], position)
        rows = self.rows
        batch = DagBatch(rows["types"], rows["adjacency"], rows["num_nodes"])
        return batch.select(rows.row_of)

    def _choose_types(self, position: int) -> Tensor:
        """The type of the next node of every row, after branching; finished rows get the end type."""
        rows, sampling = self.rows, self.sampling
        finished = rows["num_nodes"] > 0
        if position == self.nodes - 1:
            return torch.full_like(rows["num_nodes"], END_INDEX)
        scores = self.decoder._vertex_scores(rows["graph_state"])
        if sampling.rules is not None:
            allowed = sampling.rules.allowed_types(rows["types"][:, :position], self.decoder.num_types)
            scores = scores.masked_fill(~allowed, -torch.inf)
        choice = choose(scores, sampling, rows.row_of)
        choice[finished[rows.row_of]] = END_INDEX
        return rows.branch(choice)

    def _choose_edges(self, position: int, types: Tensor, growing: Tensor) -> None:
        """Edges from position - 1 down to 0, the state of the new node kept up to date (step 4)."""
        rows, sampling, decoder = self.rows, self.sampling, self.decoder
        rows["growing"] = growing
        rows["new_type"] = types
        rows["incoming"] = rows["graph_state"].new_zeros(rows.count, decoder.width)
        rows["state"] = self.untouched_states[types]
        rows["target"] = self.untouched_targets[types]
        for source in reversed(range(position)):
            wide = rows["sources"][:, source] + rows["target"]
            if decoder.edge_context:
                wide += rows["context"]
            scores = wide.relu_() @ decoder.edge_second.weight[0] + decoder.edge_second.bias
            edge = draw_edges(scores[rows.row_of], sampling)
            if sampling.rules is not None:
                connected = rows["adjacency"][:, source + 1 : position, position].any(1)
                edge |= sampling.rules.required_edge(source, position, connected)[rows.row_of]
            edge &= rows["growing"][rows.row_of]
            edge_rows = rows.branch(edge.to(torch.int64)).bool()
            rows["adjacency"][:, source, position] = edge_rows
            changed = edge_rows.nonzero().squeeze(1)
            if len(changed):
                self._receive(source, changed, position)
        grown = rows["growing"].nonzero().squeeze(1)
        self._remember(position, rows["new_type"], rows["state"], grown)

    def _receive(self, source: int, changed: Tensor, position: int) -> None:
        """Adds the message of `source` to the new node of the rows `changed`."""
        rows, decoder = self.rows, self.decoder
        everything = len(changed) == rows.count
        pick = slice(None) if everything else changed
        incoming = rows["incoming"][pick] + rows["messages"][pick, source]
        rows["incoming"][pick] = incoming
        types = rows["new_type"][pick]
        member: Tensor | None = None
        if decoder.aggregation.depends_on_types_only:
            parents = rows["adjacency"][pick, :, position][:, None]
            share = share_equal(family_signature(rows["types"][pick], parents, types[:, None])[:, 0])
            incoming, types, member = (
                incoming[share.representative],
                types[share.representative],
                share.member,
            )
        state = decoder.update(types, incoming, self.table)
        rows["state"][pick] = state if member is None else state[member]
        if source > 0:
            target = decoder._target_part(state)
            rows["target"][pick] = target if member is None else target[member]

    def _remember(self, position: int, types: Tensor, states: Tensor, grown: Tensor) -> None:
        """What later decisions need of the node at `position`."""
        rows, decoder = self.rows, self.decoder
        if position >= self.nodes - 2 and decoder.end_edges == "loose-ends":
            return  # only the end node can follow, and it asks for nothing
        everything = len(grown) == rows.count
        pick = slice(None) if everything else grown
        state = states[pick]
        if position > 0:
            if decoder.graph_state == "last":
                rows["graph_state"][pick] = state
            else:
                rows["graph_state"][pick] += state
        rows["messages"][pick, position] = decoder.aggregation.message(types[pick], state, position)
        weight = decoder.edge_first.weight[:, : decoder.width]
        rows["sources"][pick, position] = linear(state, weight, decoder.edge_first.bias)
