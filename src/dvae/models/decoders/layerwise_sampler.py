"""Decoding by the layerwise decoder: node by node, all graphs of a run at once, nothing computed twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional

from dvae.models.decoders.decisions import choose, draw_edges
from dvae.models.decoders.layerwise_relations import relation
from dvae.models.decoders.outline import Outline
from dvae.models.decoders.sampler import GraphRows, Sampler
from dvae.models.layerwise import HEADS, newest_predecessors
from dvae.models.parts import Sampling
from dvae.tasks.vocabulary import END_INDEX

if TYPE_CHECKING:
    from dvae.models.decoders.layerwise import LayerwiseDecoder

NEVER = -1e4  # score of what the outline excludes: a task's rules may still demand it


class LayerwiseSampler(Sampler[GraphRows]):
    """Writes graphs node by node. Where a task's rules contradict the outline, they win."""

    def __init__(self, decoder: LayerwiseDecoder, latents: Tensor, outline: Outline, sampling: Sampling) -> None:
        count, nodes, device = len(latents), decoder.max_nodes, latents.device
        super().__init__(GraphRows(count, 1, nodes, device), nodes, sampling, decoder.end_edges)
        self.decoder, self.latents, self.outline = decoder, latents, outline
        self.states = latents.new_zeros(count, nodes, decoder.width)
        self.memory = [tuple(latents.new_zeros(2, count, HEADS, nodes, decoder.width // HEADS)) for _ in decoder.layers]
        self.uses = torch.zeros(count, nodes, dtype=torch.int64, device=device)
        self.numbers = torch.zeros(count, nodes, dtype=torch.int64, device=device)  # of layers
        self.start = torch.zeros(count, dtype=torch.int64, device=device)  # of the newest layer
        self.opens = torch.ones(count, dtype=torch.bool, device=device)  # whether the next node opens a layer
        self.relations = self.uses

    def type_scores(self, position: int) -> Tensor:
        self._read(position - 1)
        state = self.states[:, position - 1]
        nodes_left = (self.outline.nodes - (position - 1)).clamp(min=1)
        layers_left = torch.minimum(self.outline.layers - self.numbers[:, position - 1], nodes_left).clamp(min=0)
        drawn = draw_edges(self.decoder.open_scores(state), self.sampling)
        self.opens = (drawn & (layers_left > 0)) | (layers_left == nodes_left) | (position == 1)
        scores = self.decoder.type_scores(state, self.opens)
        scores = scores.masked_fill(scores.isneginf(), NEVER)
        scores[:, END_INDEX] = torch.where(self.outline.nodes < position, -NEVER, NEVER)
        return scores

    def write_edges(self, position: int) -> None:
        """Points to one predecessor after another, in all graphs at once."""
        decoder, rows = self.decoder, self.rows
        place = torch.arange(position, device=self.start.device)
        states, is_end = self.states[:, :position], rows.types[:, position] == END_INDEX
        opens = self.opens | is_end
        bases = decoder.edge_bases(self.states[:, position - 1], opens, rows.types[:, position])
        keys, relations = decoder.edge_key(states), self.relations[:, None, :position]
        chosen = torch.zeros(len(bases), position, dtype=torch.bool, device=self.start.device)
        newest = torch.full_like(self.start, position)
        active = rows.growing.clone()
        usable = (self.uses[:, :position] > 0) | ~is_end[:, None]
        for count in range(position):
            first = ~is_end & (count == 0)
            low = torch.where(first & opens, self.start, 0)
            high = torch.where(first & ~opens, self.start, newest)
            candidates = (place >= low[:, None]) & (place < high[:, None]) & usable
            counts = torch.full_like(self.start, count)
            inner = decoder.edge_inner(bases, (chosen[:, None].to(states.dtype) @ states)[:, 0], counts)
            more = draw_edges(decoder.edge_more(inner).squeeze(-1), self.sampling)
            active = active & (first | more) & candidates.any(1)
            if not bool(active.any()):
                break
            scores = decoder.pointer_scores(inner[:, None], keys, relations)[:, 0]
            scores = scores.masked_fill(~candidates & active[:, None], -torch.inf)
            source = choose(scores, self.sampling)
            chosen |= functional.one_hot(source, position).bool() & active[:, None]
            newest = torch.where(active, source, newest)
        rows.adjacency[:, :position, position] = chosen

    def _read(self, place: int) -> None:
        """Takes in node `place`, as it was written."""
        decoder, rows = self.decoder, self.rows
        into = rows.adjacency[:, :, place] & (rows.num_nodes == 0)[:, None]
        self.uses += into
        newest = newest_predecessors(into[..., None])[:, 0]
        if place:
            opened = newest >= self.start
            self.start = torch.where(opened, place, self.start)
            self.numbers[:, place] = self.numbers[:, place - 1] + opened
        between = self.numbers[:, place, None] - self.numbers
        self.relations = relation(into, self.uses, newest[:, None], between)
        read = decoder.readings(self.latents, torch.tensor([place + 1], device=self.start.device))
        nodes_left, layers_left = self.outline.nodes - place, self.outline.layers - self.numbers[:, place]
        tokens = decoder.tokens(rows.types[:, place, None], nodes_left[:, None], layers_left[:, None]) + read
        for layer, (keys, values) in zip(decoder.blocks(), self.memory, strict=True):
            query, keys[:, :, place], values[:, :, place] = (part[:, :, 0] for part in layer.keys_and_values(tokens))
            seen = keys[:, :, : place + 1], values[:, :, : place + 1]
            tokens = layer.attended(tokens, query[:, :, None], *seen, self.relations[:, None, : place + 1])
        self.states[:, place] = (decoder.norm(tokens) + read)[:, 0]
