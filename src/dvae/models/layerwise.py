"""What the layerwise encoder and decoder share: settings, graphs of like size together, attention that sees edges.

Attention weighs two nodes by their contents and by how they stand to each other: a pair has one of a few relations,
made of plain facts (is there an edge, how many layers lie between), and each head has a number for each relation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.config import check
from dvae.dag import DagBatch
from dvae.models.settings import LayersSettings
from dvae.models.transformer import plain_linear

HEADS = 4
FEED_FORWARD = 2  # times the width
DEFAULT_LAYERS, DEFAULT_WIDTH = 2, 128
NODE_COST, GROUP_COST = 64, 30_000  # of a node and of a group of graphs, in pairs of nodes; measured on a CPU
CLASS_STARTS = (1, 2, 3, 4, 6, 9, 17)  # the fewest layers between two nodes of each class after the first
DISTANCES = len(CLASS_STARTS) + 1
# Numbers of a training step: of each pair and head that are needed for a moment, of each pair for its relation (a long
# integer, made of others), and vectors of each node that a block keeps.
PASSING, RELATION_NUMBERS, NODE_VECTORS = 3, 12, 14


@dataclass(frozen=True)
class LayerwiseSettings(LayersSettings):
    """Settings of the layerwise encoder and decoder; `layers` is 2 by default."""

    token_width: int | None = None  # of what is known of a node; None: 128
    place_latents: int | None = None  # of `latent`, how many each place has to itself; None: none

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.token_width
        check(
            width is None or (width >= HEADS and width % HEADS == 0),
            f"token_width must be a multiple of {HEADS}, the number of heads, not {width}",
        )
        own = self.place_latents
        check(own is None or own >= 1, f"place_latents must be at least 1, not {own}")

    def check_latents(self, latent: int, places: int) -> None:
        """Refuses fewer latents than the places have to themselves, with one at least that is common to all."""
        own = places * (self.place_latents or 0)
        check(
            latent > own,
            f"{self.place_latents} latents for each of {places} places (start and end counted) need a latent of more "
            f"than {own}, not {latent}: raise latent, or lower place_latents",
        )


def by_size(batch: DagBatch) -> Iterator[tuple[Tensor, DagBatch]]:
    """Graphs of like size, and which they are: without the padding that the largest graph of a batch asks for.

    On a GPU all graphs stay together, as they come: many small groups would take longer than the padding, and asking
    for sizes stops a recorded step. Graphs of like size come together there by size classes.
    """
    if batch.device.type == "cuda":
        yield torch.arange(len(batch), device=batch.device), batch
        return
    sizes, order = batch.num_nodes.sort(descending=True)
    for start, end in _groups(sizes.tolist()):
        index, nodes = order[start:end], int(sizes[start])
        types, adjacency = batch.types[index, :nodes], batch.adjacency[index, :nodes, :nodes]
        yield index, DagBatch(types, adjacency, sizes[start:end])


def _groups(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Falling sizes cut where padding would cost more than one more group does."""
    start = padding = 0
    for place, size in enumerate(sizes):
        padding += _cost(sizes[start]) - _cost(size)
        if padding > GROUP_COST:
            yield start, place
            start, padding = place, 0
    if sizes:
        yield start, len(sizes)


def _cost(nodes: int) -> int:
    return nodes * (nodes + NODE_COST)


def fed(batch: DagBatch) -> Tensor:
    """The edges, with one from the start node to every node that has none."""  # batch node node
    unfed = ~batch.adjacency.any(1) & batch.node_mask()
    unfed[:, 0] = False
    adjacency = batch.adjacency.clone()
    adjacency[:, 0] |= unfed
    return adjacency


def newest_predecessors(adjacency: Tensor) -> Tensor:
    """The last predecessor of every node; -1 where it has none."""  # batch node
    place = torch.arange(1, adjacency.shape[1] + 1, device=adjacency.device)
    return (adjacency * place[:, None]).amax(1) - 1


def layer_starts(newest: Tensor) -> Tensor:
    """The first node of each node's layer: a layer is opened by a node with a predecessor in the layer before.

    After a layer that begins at s, the next one begins at the first p > s whose newest predecessor is not before s.
    Which nodes are reached from node 0 in this way is found in steps of 1, 2, 4, .. layers.
    """
    nodes = newest.shape[1]
    place = torch.arange(nodes, device=newest.device)
    opens_next = (newest[:, None, :] >= place[:, None]) & (place > place[:, None])  # batch start node
    following = torch.where(opens_next.any(2), opens_next.to(torch.uint8).argmax(2), nodes)
    jump = functional.pad(following, (0, 1), value=nodes)  # the place after the last leads nowhere
    reached = torch.zeros_like(jump)
    reached[:, 0] = 1
    for _ in range(max(1, nodes - 1).bit_length()):
        reached = (reached + torch.zeros_like(reached).scatter_add_(1, jump, reached)).clamp(max=1)
        jump = jump.gather(1, jump)
    return (reached[:, :-1] * place).cummax(1).values  # batch node


def layer_numbers(starts: Tensor) -> Tensor:
    """The number of each node's layer; the start node's is 0."""  # batch node
    opens = torch.zeros_like(starts)
    opens[:, 1:] = starts[:, 1:] != starts[:, :-1]
    return opens.cumsum(1)


def distance_class(layers: Tensor) -> Tensor:
    """Few classes of a number of layers, from 0 to `DISTANCES` - 1: 0, 1, 2, 3, 4-5, 6-8, 9-16, more."""
    counts = torch.arange(CLASS_STARTS[-1] + 1, device=layers.device)
    classes = torch.stack([counts >= first for first in CLASS_STARTS]).sum(0)
    return classes[layers.clamp(max=CLASS_STARTS[-1])]


def counted_sums(index: Tensor, values: Tensor, rows: int) -> Tensor:
    """The values of each row of a small table added up: one count per column, not a sort of all rows."""  # row column
    flat, columns = index.flatten(), values.flatten(0, -2).unbind(1)
    return torch.stack([flat.bincount(column, rows) for column in columns], 1).to(values.dtype)


def scattered_sums(index: Tensor, values: Tensor, rows: int) -> Tensor:
    """As `counted_sums`, for a GPU: added up within each line of the index first, where few threads meet."""
    lines, apart = index.flatten(0, -2), values.flatten(0, -3)  # line place, line place column
    sums = values.new_zeros(len(lines), rows, values.shape[-1])
    return sums.scatter_add_(1, lines[..., None].expand_as(apart), apart).sum(0)


class _Looked(torch.autograd.Function):
    """Rows of a small table, looked up very often."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.rows = len(table)
        return functional.embedding(index, table)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        sums = scattered_sums if grad.device.type == "cuda" else counted_sums
        return sums(index, grad, ctx.rows), None


def attention_numbers(width: int, layers: int, nodes: int) -> int:
    """What a training step keeps of a graph in `layers` blocks: of pairs weights and relations, of nodes vectors."""
    pairs = HEADS * (layers + PASSING) + RELATION_NUMBERS
    return pairs * nodes * nodes + NODE_VECTORS * layers * width * nodes


class RelationBlock(nn.Module):
    """Self-attention with a number for each relation, and a two-layer network; each is normed and added."""

    def __init__(self, width: int, relations: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.inwards = plain_linear(width, 3 * width)
        self.outwards = plain_linear(width, width)
        self.relations = nn.Parameter(0.1 * torch.randn(relations, HEADS))
        self.norm = nn.LayerNorm(width)
        self.first = plain_linear(width, FEED_FORWARD * width)
        self.second = plain_linear(FEED_FORWARD * width, width)

    def keys_and_values(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of all heads."""  # batch head node width/head
        inner = self.inwards(self.attention_norm(tokens)).unflatten(-1, (3, HEADS, -1))
        query, key, value = inner.permute(2, 0, 3, 1, 4).unbind(0)
        return query, key, value

    def attended(self, tokens: Tensor, query: Tensor, key: Tensor, value: Tensor, relations: Tensor) -> Tensor:
        """The tokens after attending; the relation after the last one means: not seen."""  # batch node width
        blind = self.relations.new_full((1, HEADS), -torch.inf)
        table = torch.cat([self.relations, blind])
        bias: Tensor = _Looked.apply(table, relations).permute(0, 3, 1, 2)  # batch head query key
        weights = (query @ key.mT / math.sqrt(query.shape[-1]) + bias).softmax(-1)
        tokens = tokens + self.outwards((weights @ value).transpose(1, 2).flatten(2))
        outputs: Tensor = tokens + self.second(torch.relu(self.first(self.norm(tokens))))
        return outputs

    def forward(self, tokens: Tensor, relations: Tensor) -> Tensor:
        return self.attended(tokens, *self.keys_and_values(tokens), relations)
