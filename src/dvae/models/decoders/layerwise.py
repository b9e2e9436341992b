"""The layerwise decoder: large DAGs, written layer by layer.

    p(G | z) = p(n, d | z)                                   how many nodes and layers (`outline`)
               prod over nodes i = 1 .. n, in layer order, of
                 p(o_i | G_<i, n, d, z)                      does node i open a new layer?
                 p(t_i | o_i, G_<i, n, d, z)                 its type
                 prod over its predecessors, last one first, of
                   p(u_k | u_<k, t_i, o_i, G_<i, n, d, z)    which node comes next among those before u_(k-1)
                   p(m_k | u_<=k, t_i, o_i, G_<i, n, d, z)   is there one more?

G_<i are the nodes before i with all their edges. What the numbers force is not drawn: the first node opens a layer, so
does every node when as many layers as nodes are left, and none does when all layers are open. The first predecessor of
a node that opens a layer lies in the layer before, that of any other node before its own layer; so every node has one,
edges run from earlier to later layers, and the end node comes when all nodes are there: every decoded DAG is whole. The
end node takes what is loose; where its edges are chosen (`end_edges` "sampled"), it first points to others in the same
way, and may choose none. Graphs are scored in the order they come in; `prepare` puts them into layer order, where each
distinct DAG has one sequence.

What is known of G_<i comes from attention of each node to those before it (`RelationBlock`), in which two nodes are
related by plain facts (`layerwise_relations`). In training all nodes of a graph are computed at once; decoding takes
one at a time and keeps what attention needs of those before it. Each node reads z by a map of its place; where places
have latents of their own, it reads these, and the others by a map common to all places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.decoders.decisions import EndEdges
from dvae.models.decoders.layerwise_relations import RELATIONS, Written
from dvae.models.decoders.layerwise_rows import EdgeRows
from dvae.models.decoders.layerwise_sampler import LayerwiseSampler
from dvae.models.decoders.outline import Outline, OutlinePart
from dvae.models.decoders.sampler import rows_within_budget
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.layer_order import layer_ordered
from dvae.models.layerwise import (
    DEFAULT_LAYERS,
    DEFAULT_WIDTH,
    LayerwiseSettings,
    RelationBlock,
    attention_numbers,
    by_size,
)
from dvae.models.node_order import NodeOrder
from dvae.models.parts import Plan, Sampling
from dvae.models.places import common_latents, place_latents
from dvae.models.settings import EdgeSettings
from dvae.models.transformer import plain_linear
from dvae.tasks.vocabulary import END_INDEX, END_LABEL, START_INDEX, START_LABEL

READ_RANK = 32  # numbers that a node reads of z
MAX_SHOWN = 32  # nodes and layers that are left, up to which each number has a vector of its own
COUNTED = 8  # predecessors chosen so far, likewise
DECISION_NUMBERS, DECISION_VECTORS = 12, 6  # that a training step keeps of a decision, for each node and by itself
RUNS = 4  # of graphs of like size, into which a call of `sample` may be divided


@dataclass(frozen=True)
class LayerwiseDecoderSettings(LayerwiseSettings, EdgeSettings):
    """Width and depth of the attention, and the width of the network that chooses edges: that of a token by default."""


class LayerwiseDecoder(nn.Module):
    """Layer by layer: first how many nodes and layers, then node by node a type and pointers to its predecessors."""

    Settings = LayerwiseDecoderSettings
    static_shapes = True
    any_width = True
    reference = "this project; layers as in Li et al., ICLR 2025"

    def __init__(
        self, features: NodeFeatures, *, num_types: int, max_nodes: int, latent: int, width: int, layers: int,
        edge_width: int, order: NodeOrder, fewest: int = 0, end_edges: EndEdges = "loose-ends", place_latents: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.features = features
        self.num_types, self.max_nodes, self.width = num_types, max_nodes, width
        self.order: NodeOrder = order
        self.end_edges = end_edges
        self.own_latents = max_nodes * place_latents
        latent -= self.own_latents  # those common to all places
        self.outline = OutlinePart(latent, width, fewest, max_nodes - 2)
        kinds = features.width
        self.type_weight = nn.Parameter(uniform(width, kinds, bound=1 / math.sqrt(kinds)))
        maps = 1 if place_latents else max_nodes
        self.read_maps = nn.Parameter(uniform(maps, latent, READ_RANK, bound=1 / math.sqrt(latent)))
        self.read_places = nn.Parameter(uniform(max_nodes, READ_RANK, bound=1))
        self.read = plain_linear(READ_RANK, width)
        self.read_own = plain_linear(place_latents, width) if place_latents else None
        self.nodes_left = nn.Parameter(0.1 * torch.randn(MAX_SHOWN + 1, width))
        self.layers_left = nn.Parameter(0.1 * torch.randn(MAX_SHOWN + 1, width))
        self.shares_left = plain_linear(3, width)
        self.layers = nn.ModuleList(RelationBlock(width, RELATIONS) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.open_first = plain_linear(width, width)
        self.open_second = plain_linear(width, 1)
        self.type_first = plain_linear(width, width)
        self.type_open = nn.Parameter(0.1 * torch.randn(2, width))
        self.type_second = plain_linear(width, num_types)
        self.edge_state = plain_linear(width, edge_width)
        self.edge_open = nn.Parameter(0.1 * torch.randn(2, edge_width))
        self.edge_type = nn.Parameter(uniform(edge_width, kinds, bound=1 / math.sqrt(kinds)))
        self.edge_count = nn.Parameter(0.1 * torch.randn(COUNTED, edge_width))
        self.edge_chosen = plain_linear(width, edge_width)
        self.edge_query = plain_linear(edge_width, edge_width)
        self.edge_key = plain_linear(width, edge_width)
        self.edge_relation = plain_linear(edge_width, RELATIONS)
        self.edge_more = plain_linear(edge_width, 1)

    @classmethod
    def build(cls, plan: Plan, settings: LayerwiseDecoderSettings) -> LayerwiseDecoder:
        settings.check_latents(plan.latent, plan.max_nodes)
        width = settings.token_width or DEFAULT_WIDTH
        return cls(
            plan.features,
            num_types=plan.num_types,
            max_nodes=plan.max_nodes,
            latent=plan.latent,
            width=width,
            layers=settings.layers or DEFAULT_LAYERS,
            edge_width=settings.edge_width or width,
            order=plan.hints.node_order,
            fewest=int(plan.task.vocabulary.start == START_LABEL or plan.task.vocabulary.end == END_LABEL),
            end_edges=plan.hints.end_edges,
            place_latents=settings.place_latents or 0,
        )

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        """Of attention, and of the decisions about edges: one for each edge and node, about all nodes before."""
        decisions = edges + nodes
        wide = self.edge_open.shape[1]
        of_decisions = decisions * (DECISION_NUMBERS * nodes + DECISION_VECTORS * wide + RELATIONS)
        return attention_numbers(self.width, len(self.layers), nodes) + of_decisions

    def prepare(self, batch: DagBatch) -> DagBatch:
        """The same graphs, their nodes in layer order."""
        return layer_ordered(batch, self.order)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        parts = list(by_size(batch))
        found = torch.cat([self._nll(latents[index], part) for index, part in parts])
        return found[torch.cat([index for index, _ in parts]).argsort()]

    def _nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        written = Written.of(batch)
        outline = self.true_outline(batch, written)
        states = self.states(latents, batch, written, outline)
        total = self.outline.nll(common_latents(latents, self.own_latents), outline)
        return total + self._node_nll(states, batch, written, outline) + self._edge_nll(states, batch, written)

    def true_outline(self, batch: DagBatch, written: Written) -> Outline:
        """The outline of the graphs themselves."""
        nodes = batch.num_nodes - 2
        return Outline(nodes, written.numbers.gather(1, nodes[:, None])[:, 0])

    def states(self, latents: Tensor, batch: DagBatch, written: Written, outline: Outline) -> Tensor:
        """What is known after each node, for the next one."""  # batch node width
        count = batch.max_nodes
        place = torch.arange(count, device=batch.device)
        nodes_left = outline.nodes[:, None] - place
        read = self.readings(latents, torch.arange(1, count + 1, device=batch.device))
        tokens = self.tokens(batch.types, nodes_left, outline.layers[:, None] - written.numbers) + read
        for layer in self.layers:
            tokens = layer(tokens, written.relations)
        states: Tensor = self.norm(tokens) + read
        return states

    def blocks(self) -> list[RelationBlock]:
        """The blocks of attention."""
        return [layer for layer in self.layers if isinstance(layer, RelationBlock)]

    def tokens(self, types: Tensor, nodes_left: Tensor, layers_left: Tensor) -> Tensor:
        """What a node is, and what is still to come after it."""  # batch node width
        nodes_left = nodes_left.clamp(min=0)
        layers_left = torch.minimum(layers_left.clamp(min=0), nodes_left)
        kinds = rows_of(self.features.linear(self.type_weight, None), types)
        ahead = rows_of(self.nodes_left, nodes_left.clamp(max=MAX_SHOWN))
        ahead = ahead + rows_of(self.layers_left, layers_left.clamp(max=MAX_SHOWN))
        numbers = [nodes_left / self.max_nodes, layers_left / self.max_nodes, layers_left / nodes_left.clamp(min=1)]
        tokens: Tensor = kinds + ahead + self.shares_left(torch.stack(numbers, -1).to(ahead.dtype))
        return tokens

    def readings(self, latents: Tensor, places: Tensor) -> Tensor:
        """What the nodes at `places` read of z."""  # batch place width
        places = places.clamp(max=self.max_nodes - 1)
        common = common_latents(latents, self.own_latents)
        if self.read_own is None:
            narrow = torch.einsum("bl,nlr->bnr", common, self.read_maps[places]) + self.read_places[places]
            read: Tensor = self.read(narrow)
        else:
            own = place_latents(latents, self.own_latents, self.max_nodes)[:, places]
            read = self.read((common @ self.read_maps[0])[:, None] + self.read_places[places]) + self.read_own(own)
        return read

    def open_scores(self, states: Tensor) -> Tensor:
        """For the next node to open a layer."""  # ... width -> ...
        scores: Tensor = self.open_second(torch.relu(self.open_first(states))).squeeze(-1)
        return scores

    def type_scores(self, states: Tensor, opens: Tensor) -> Tensor:
        """For the type of the next node; never start or end."""  # ... type
        inner = torch.relu(self.type_first(states) + rows_of(self.type_open, opens.long()))
        scores: Tensor = self.type_second(inner)
        kind = torch.arange(self.num_types, device=scores.device)
        return scores.masked_fill((kind == START_INDEX) | (kind == END_INDEX), -torch.inf)

    def edge_bases(self, states: Tensor, opens: Tensor, types: Tensor) -> Tensor:
        """What is known of the next node before its edges."""  # ... edge_width
        kinds = rows_of(self.features.linear(self.edge_type, None), types)
        bases: Tensor = self.edge_state(states) + rows_of(self.edge_open, opens.long()) + kinds
        return bases

    def edge_inner(self, bases: Tensor, chosen: Tensor, counts: Tensor) -> Tensor:
        """What is known after some edges; `chosen` is the sum of the states of their sources."""  # ... edge_width
        counted = rows_of(self.edge_count, counts.clamp(max=COUNTED - 1))
        return torch.relu(bases + self.edge_chosen(chosen) + counted)

    def pointer_scores(self, inner: Tensor, keys: Tensor, relations: Tensor) -> Tensor:
        """For each earlier node to be the next predecessor."""  # batch row node
        near = self.edge_relation(inner).gather(-1, relations.clamp(max=RELATIONS - 1))
        scores: Tensor = self.edge_query(inner) @ keys.mT / math.sqrt(keys.shape[-1]) + near
        return scores

    def _node_nll(self, states: Tensor, batch: DagBatch, written: Written, outline: Outline) -> Tensor:
        """Of opened layers and types."""  # batch
        place = torch.arange(batch.max_nodes - 1, device=batch.device)
        nodes_left = outline.nodes[:, None] - place
        layers_left = outline.layers[:, None] - written.numbers[:, :-1]
        opens = written.numbers[:, 1:] > written.numbers[:, :-1]
        there = nodes_left > 0
        free = there & (place > 0) & (layers_left > 0) & (layers_left < nodes_left)
        scores = self.open_scores(states[:, :-1])
        opening = functional.binary_cross_entropy_with_logits(scores, opens.to(scores.dtype), reduction="none")
        known = self.type_scores(states[:, :-1], opens).log_softmax(-1)
        truth = torch.where(there, batch.types[:, 1:], self.num_types - 1)
        types = -known.gather(-1, truth[..., None]).squeeze(-1)
        return torch.where(free, opening, 0.0).sum(1) + torch.where(there, types, 0.0).sum(1)

    def _edge_nll(self, states: Tensor, batch: DagBatch, written: Written) -> Tensor:
        rows = EdgeRows.of(batch, written.adjacency, written.starts, end_chooses=self.end_edges == "sampled")
        opens = (written.numbers[:, 1:] > written.numbers[:, :-1]) | (batch.types[:, 1:] == END_INDEX)
        bases = self.edge_bases(states[:, :-1], opens, batch.types[:, 1:])
        inner = self.edge_inner(_taken(bases, rows.target - 1), rows.chosen.to(states.dtype) @ states, rows.count)
        more = self.edge_more(inner).squeeze(-1)
        more_nll = functional.binary_cross_entropy_with_logits(more, rows.goes_on.to(more.dtype), reduction="none")
        scores = self.pointer_scores(inner, self.edge_key(states), _taken(written.relations, rows.target - 1))
        known = scores.masked_fill(~rows.candidates, -torch.inf).log_softmax(-1)
        pointer_nll = -known.gather(-1, rows.source[..., None]).squeeze(-1)
        return torch.where(rows.asks, more_nll, 0.0).sum(1) + torch.where(rows.points, pointer_nll, 0.0).sum(1)

    def rows_at_once(self, device: torch.device) -> int:
        return RUNS * self._rows_of_a_run(device)

    def _rows_of_a_run(self, device: torch.device) -> int:
        return rows_within_budget(device, self.max_nodes * (2 * len(self.layers) * self.width + self.max_nodes // 4))

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        """Graphs of like size are written together: their outlines are drawn first."""
        latents = latents.repeat_interleave(sampling.copies, 0)
        outline = self.outline.sample(common_latents(latents, self.own_latents), sampling)
        order = outline.nodes.argsort(stable=True)
        made = [
            LayerwiseSampler(self, latents[rows], Outline(outline.nodes[rows], outline.layers[rows]), sampling).run()
            for rows in order.split(self._rows_of_a_run(latents.device))
        ]
        return DagBatch.cat(made).select(order.argsort())


def _taken(values: Tensor, places: Tensor) -> Tensor:
    """The vectors at places of a graph."""  # batch node width, batch row -> batch row width
    return values.gather(1, places[..., None].expand(-1, -1, values.shape[2]))
