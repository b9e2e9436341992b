"""Sampling of D-VAE's decoder: a decision at a time, all graphs at once (paper, section 3.2).

The state of a new node changes only where it gets an edge. So, where no rule has a say in between, all sources are
scored at once, the nearest one that is drawn gets its edge, and what lies below is scored again: as many rounds as a
node has predecessors, in place of one for each node before it. Drawn numbers are the same either way.
"""

from __future__ import annotations

from dataclasses import replace
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


MIN_GAP = 4  # sources for each edge; where edges are denser, every source is decided alone
MIN_WINDOW = 8  # sources that are scored at once
ONE_BY_ONE = 16  # nodes; for the edges into later ones all sources are scored at once
BLOCK = {"cpu": 1 << 19, "cuda": 1 << 28}  # numbers that are scored at once


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
        if sampling.copies > 1 and sampling.rules is None and decoder.max_nodes > ONE_BY_ONE:
            # Decodings of one latent soon differ: what they share is not worth a look after every decision.
            latents, sampling = latents.repeat_interleave(sampling.copies, 0), replace(sampling, copies=1)
        count, nodes = latents.shape[0], decoder.max_nodes
        rows = self.rows_class(count, sampling.copies, nodes, latents.device)
        super().__init__(rows, nodes, sampling, decoder.end_edges)
        self.decoder = decoder
        self.gap = nodes  # sources that were decided for each edge into the last node
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
        rows = self.rows
        types = rows.types[:, position]
        rows.incoming = rows.graph_state.new_zeros(rows.count, self.decoder.width)
        rows.state = self.untouched_states[types]
        rows.target = self.untouched_targets[types]
        if self.rules is None and not rows.shared and position >= ONE_BY_ONE and self.gap >= MIN_GAP:
            self._write_in_rounds(position)
        else:
            self._write_one_by_one(position)
        if position >= ONE_BY_ONE:
            taken = int(rows.adjacency[:, :position, position].sum())
            self.gap = int(rows.growing.sum()) * position // max(taken, 1)
        self.remember(position, rows.state, rows.growing.nonzero().squeeze(1))

    def _write_in_rounds(self, position: int) -> None:
        """In each round the nearest sources, so many that about a quarter are decided in vain."""
        rows = self.rows
        draws = None if self.sampling.greedy else self._draws(position)
        asking = rows.growing.nonzero().squeeze(1)
        ends = torch.full_like(asking, position)  # sources from here on are decided
        window = min(position, MIN_WINDOW + 4 * self.gap)
        size = max(1, BLOCK.get(asking.device.type, BLOCK["cuda"]) // (window * rows.target.shape[1]))
        while len(asking):
            parts = zip(asking.split(size), ends.split(size), strict=True)
            nearest = torch.cat([self._nearest(some, end, window, draws) for some, end in parts])
            found = nearest >= 0
            if found.any():
                taking, sources = asking[found], nearest[found]
                rows.adjacency[taking, sources, position] = True
                self._receive(rows.messages[taking, sources], taking, position)
            ends = torch.where(found, nearest, ends - window)
            asking, ends = asking[ends > 0], ends[ends > 0]

    def _draws(self, position: int) -> Tensor:
        """The numbers that decide on the edges, in the order of single decisions."""  # row source
        count, like = len(self.rows.row_of), self.table
        if like.device.type == "cpu":
            drawn = uniform(like.new_empty(position, count), self.sampling)
        else:  # where a call's numbers depend on its size
            drawn = torch.stack([uniform(like.new_empty(count), self.sampling) for _ in range(position)])
        return drawn.flip(0).T

    def _nearest(self, some: Tensor, ends: Tensor, window: int, draws: Tensor | None) -> Tensor:
        """The last of the `window` sources before `ends` that each of the rows `some` takes, -1 for none."""
        rows, decoder, weight = self.rows, self.decoder, self.decoder.edge_second.weight[0]
        top, target = int(ends.max()), rows.target[some]
        if decoder.edge_context:
            target = target + rows.context[some]
        if window >= top:
            places = torch.arange(top, device=some.device).expand(len(some), -1)
            sources = rows.sources[:, :top] if len(some) == rows.count else rows.sources[some, :top]
        else:
            places = ends[:, None] - 1 - torch.arange(window, device=some.device)
            sources = rows.sources[some[:, None], places.clamp(min=0)]
        # w . relu(source + target), as `interval_scores` has it
        wide = torch.maximum(sources, -target[:, None])
        scores = (wide.flatten(0, 1) @ weight).view(places.shape) + (target @ weight)[:, None]
        scores += decoder.edge_second.bias
        takes = scores > 0 if draws is None else draws[some[:, None], places.clamp(min=0)] < scores.sigmoid()
        return torch.where(takes & (places < ends[:, None]), places, -1).amax(1)

    def _write_one_by_one(self, position: int) -> None:
        rows, sampling, decoder = self.rows, self.sampling, self.decoder
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
                pick = slice(None) if len(changed) == rows.count else changed
                self._receive(rows.messages[pick, source], pick, position, asks_on=source > 0)

    def _receive(self, messages: Tensor, pick: Tensor | slice, position: int, *, asks_on: bool = True) -> None:
        """Adds messages to what the new node of the picked rows has received."""
        rows, decoder = self.rows, self.decoder
        incoming = rows.incoming[pick] + messages
        rows.incoming[pick] = incoming
        types = rows.types[pick, position]
        member: Tensor | None = None
        if decoder.aggregation.depends_on_types_only:
            parents = rows.adjacency[pick, :, position][:, None]
            share = share_equal(family_signature(rows.types[pick], parents, types[:, None])[:, 0])
            incoming, types, member = incoming[share.representative], types[share.representative], share.member
        state = decoder.update(types, incoming, self.table)
        rows.state[pick] = state if member is None else state[member]
        if asks_on:
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
