"""Sampling of D-VAE's decoder: a decision at a time, all graphs at once (paper, section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from dvae.models.decoders.decisions import draw_edges, uniform
from dvae.models.decoders.rows import RowTensor
from dvae.models.decoders.sampler import GraphRows, Sampler
from dvae.models.kernels.precision import linear
from dvae.models.kernels.shares import family_signature, share_equal
from dvae.models.parts import Sampling

if TYPE_CHECKING:
    from dvae.models.decoders.dvae import DvaeDecoder


class DvaeRows(GraphRows):
    """What later decisions need of the nodes so far, and the newest node while its edges are chosen."""

    graph_state = RowTensor()  # row hidden
    messages = RowTensor()  # row node hidden
    sources = RowTensor()  # row node width: the source's part of the edge network
    context = RowTensor()  # row width: that of h_0, where the edge network sees it
    incoming = RowTensor()  # row hidden: the sum of the messages the newest node has received
    state = RowTensor()  # row hidden: of the newest node
    target = RowTensor()  # row width: its part of the edge network


class DvaeSampler(Sampler[DvaeRows]):
    """Edges from the nearest node down, the state of the new node kept up to date (step 4)."""

    obeys_edge_rules = True
    rows_class: ClassVar[type[DvaeRows]] = DvaeRows

    def __init__(self, decoder: DvaeDecoder, latents: Tensor, sampling: Sampling) -> None:
        count, nodes = latents.shape[0], decoder.max_nodes
        rows = self.rows_class(count, sampling.copies, nodes, latents.device)
        super().__init__(rows, nodes, sampling, decoder.end_edges)
        self.decoder = decoder
        self.table = decoder.update.table()
        self.untouched_states = decoder.update.without_message(self.table)  # type hidden
        self.untouched_targets = decoder.target_part(self.untouched_states)  # type width
        start = torch.tanh(decoder.start(latents))
        state = decoder.update(rows.types[:, 0], start, self.table)
        rows.graph_state = state
        rows.messages = latents.new_zeros(count, nodes, decoder.width)
        rows.sources = latents.new_zeros(count, nodes, decoder.edge_first.bias.shape[0])
        if decoder.edge_context:
            rows.context = linear(start, decoder.edge_first.weight[:, 2 * decoder.width :])
        self.remember(0, state, torch.arange(count, device=latents.device))

    def type_scores(self, position: int) -> Tensor:
        return self.decoder.type_scores(self.rows.graph_state)

    def is_finished(self, position: int) -> bool:
        """Also draws the numbers that version 0.1.0 drew in vain, so that a seed still gives later latents the same."""
        finished, is_last = super().is_finished(position), position == self.max_nodes - 1
        if finished and not is_last:
            self._discard(len(self.rows.row_of), 1)
        elif not finished and is_last and self.end_edges == "loose-ends":
            for _ in range(position):
                self._discard(len(self.rows.row_of))
        return finished

    def _discard(self, *shape: int) -> None:
        if not self.sampling.greedy:
            uniform(self.table.new_empty(shape), self.sampling)

    def write_edges(self, position: int) -> None:
        rows, sampling, decoder = self.rows, self.sampling, self.decoder
        types = rows.types[:, position]
        rows.incoming = rows.graph_state.new_zeros(rows.count, decoder.width)
        rows.state = self.untouched_states[types]
        rows.target = self.untouched_targets[types]
        rule, counted = None, 0
        for source in reversed(range(position)):
            wide = rows.sources[:, source] + rows.target
            if decoder.edge_context:
                wide += rows.context
            scores = wide.relu_() @ decoder.edge_second.weight[0] + decoder.edge_second.bias
            edge = draw_edges(scores[rows.row_of], sampling)
            if self.rules is not None:
                if rule is None or rows.count > counted:  # rows that split are at the end
                    rule, counted = self.rules.next_edges(self.graphs(position + 1)), rows.count
                edge = rule(source, rows.adjacency[:, :position, position]).applied(edge, rows.row_of)
            edge &= rows.growing[rows.row_of]
            edge_rows = rows.branch(edge.to(torch.int64)).bool()
            rows.adjacency[:, source, position] = edge_rows
            changed = edge_rows.nonzero().squeeze(1)
            if len(changed):
                self._receive(source, changed, position)
        self.remember(position, rows.state, rows.growing.nonzero().squeeze(1))

    def _receive(self, source: int, changed: Tensor, position: int) -> None:
        """Adds the message of `source` to the new node of the rows `changed`."""
        rows, decoder = self.rows, self.decoder
        pick = slice(None) if len(changed) == rows.count else changed
        incoming = rows.incoming[pick] + rows.messages[pick, source]
        rows.incoming[pick] = incoming
        types = rows.types[pick, position]
        member: Tensor | None = None
        if decoder.aggregation.depends_on_types_only:
            parents = rows.adjacency[pick, :, position][:, None]
            share = share_equal(family_signature(rows.types[pick], parents, types[:, None])[:, 0])
            incoming, types, member = incoming[share.representative], types[share.representative], share.member
        state = decoder.update(types, incoming, self.table)
        rows.state[pick] = state if member is None else state[member]
        if source > 0:
            target = decoder.target_part(state)
            rows.target[pick] = target if member is None else target[member]

    def remember(self, position: int, states: Tensor, grown: Tensor) -> None:
        """Keeps what later decisions need of the node at `position` of the rows `grown`."""
        rows, decoder = self.rows, self.decoder
        if self.is_not_asked_for(position):
            return
        pick = slice(None) if len(grown) == rows.count else grown
        state = states[pick]
        if position > 0:
            if decoder.graph_state == "last":
                rows.graph_state[pick] = state
            else:
                rows.graph_state[pick] += state
        rows.messages[pick, position] = decoder.aggregation.message(rows.types[pick, position], state, position)
        weight = decoder.edge_first.weight[:, : decoder.width]
        rows.sources[pick, position] = linear(state, weight, decoder.edge_first.bias)

    def is_not_asked_for(self, position: int) -> bool:
        """Whether only the end node can follow, which asks for nothing."""
        return position >= self.max_nodes - 2 and self.end_edges == "loose-ends"
