"""The Transformer's parts (Vaswani et al., 2017) on sequences of nodes, and PACE's code of where a node stands.

Blocks are those of torch's `TransformerEncoderLayer` and `TransformerDecoderLayer` (ReLU, norms after the sums) with
products in the format in force (`precision`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.config import check
from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, uniform
from dvae.models.kernels.gru import rows_of
from dvae.models.kernels.precision import linear
from dvae.models.settings import LayersSettings

HEADS = 8  # as published
FEED_FORWARD = 2  # times the width: 64 for 32, as published
DEFAULT_LAYERS = 3  # as published


@dataclass(frozen=True)
class TransformerSettings(LayersSettings):
    """Settings of PACE's encoder and decoder."""

    attention_width: int = 32  # the width its paper names; its code joins two halves of it
    dropout: float = 0.0  # published with 0.15 (ENAS) and 0.25 (BN); resuming is exact without it

    def __post_init__(self) -> None:
        super().__post_init__()
        check(
            self.attention_width >= HEADS and self.attention_width % HEADS == 0,
            f"attention_width must be a multiple of {HEADS}, the number of heads, not {self.attention_width}",
        )
        check(0 <= self.dropout < 1, f"dropout must be at least 0 and below 1, not {self.dropout}")


def plain_linear(inputs: int, outputs: int) -> AlignedLinear:
    return AlignedLinear(inputs, outputs, input_blocks=0, output_blocks=0)


class Dropout(nn.Module):
    """Dropout while training. Without gradients (encoding, decoding, likelihoods) there is none.

    It draws from torch's global generator, which a checkpoint does not hold: with a rate above zero a resumed run is
    not bit for bit the uninterrupted one.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def rate_now(self) -> float:
        return self.rate if self.training and torch.is_grad_enabled() else 0.0

    def forward(self, values: Tensor) -> Tensor:
        rate = self.rate_now()
        return functional.dropout(values, rate) if rate else values


class Attention(nn.Module):
    """Multi-head attention. Rows of `inwards` are the queries', the keys' and the values'."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.width = width
        self.inwards = plain_linear(width, 3 * width)
        self.outwards = plain_linear(width, width)
        self.dropout = Dropout(dropout)

    def forward(self, values: Tensor, memory: Tensor | None, allowed: Tensor | None) -> Tensor:
        """`values` attend to `memory`, or to themselves; `allowed` (... query key, bool) says who sees whom."""
        width = self.width
        if memory is None:
            query, key, value = self.inwards(values).chunk(3, -1)
        else:
            weight, bias = self.inwards.weight, self.inwards.bias
            query = linear(values, weight[:width], bias[:width])
            key, value = linear(memory, weight[width:], bias[width:]).chunk(2, -1)
        attended = functional.scaled_dot_product_attention(
            _heads(query), _heads(key), _heads(value), allowed, self.dropout.rate_now()
        )
        outputs: Tensor = self.outwards(attended.transpose(1, 2).flatten(2))
        return outputs


def _heads(values: Tensor) -> Tensor:
    split: Tensor = values.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # batch head node width/head
    return split


class Block(nn.Module):
    """Self-attention, attention to a memory if there is one, and a two-layer network, each added and normed."""

    def __init__(self, width: int, dropout: float, *, with_memory: bool = False) -> None:
        super().__init__()
        self.attention = Attention(width, dropout)
        self.memory_attention = Attention(width, dropout) if with_memory else None
        self.first = plain_linear(width, FEED_FORWARD * width)
        self.second = plain_linear(FEED_FORWARD * width, width)
        self.attention_norm = nn.LayerNorm(width)
        self.memory_norm = nn.LayerNorm(width) if with_memory else None
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, values: Tensor, allowed: Tensor, memory: Tensor | None = None) -> Tensor:
        values = self.attention_norm(values + self.dropout(self.attention(values, None, allowed)))
        if self.memory_attention is not None and self.memory_norm is not None:
            values = self.memory_norm(values + self.dropout(self.memory_attention(values, memory, None)))
        wide = self.dropout(torch.relu(self.first(values)))
        outputs: Tensor = self.norm(values + self.dropout(self.second(wide)))
        return outputs


class NodeTokens(nn.Module):
    """A node of the sequence: its type and, beside it, where it stands (PACE's dag2seq).

    Where v stands is one injective layer over positions: a two-layer network on the one-hot position of v and the
    sum of the one-hot positions of its predecessors. That sum is the set of predecessors itself, so nothing is lost.
    """

    def __init__(self, features: NodeFeatures, max_nodes: int, width: int) -> None:
        super().__init__()
        self.features = features
        half = width // 2
        bound = 1 / math.sqrt(features.width)
        self.type_weight = nn.Parameter(uniform(width - half, features.width, bound=bound))
        bound = 1 / math.sqrt(2 * max_nodes)
        self.own_position = nn.Parameter(uniform(max_nodes, width, bound=1))
        self.predecessor_position = nn.Parameter(uniform(max_nodes, width, bound=bound))
        self.position = plain_linear(width, half)

    def forward(self, types: Tensor, adjacency: Tensor) -> Tensor:
        """Tokens of the first nodes of graphs, from the edges between them."""  # batch node width
        nodes = types.shape[1]
        predecessors = self.predecessor_position[:nodes]
        wide = self.own_position[:nodes] + linear(adjacency.mT.to(predecessors.dtype), predecessors.T)
        kinds = rows_of(self.features.linear(self.type_weight, None), types)
        return torch.cat([kinds, self.position(torch.relu(wide))], -1)


def ancestors(adjacency: Tensor) -> Tensor:
    """[b, v, u]: whether u is v or an ancestor of v, by squaring; each product doubles the length of paths."""
    nodes = adjacency.shape[-1]
    reach = (adjacency | torch.eye(nodes, dtype=torch.bool, device=adjacency.device)).float()
    for _ in range(max(nodes - 2, 0).bit_length()):
        reach = (reach @ reach).clamp_(max=1)
    return reach.mT > 0


def fitted(batch: DagBatch, max_nodes: int) -> DagBatch:
    """The same graphs with room for exactly `max_nodes` nodes, as networks over positions need."""
    if batch.max_nodes <= max_nodes:
        return batch if batch.max_nodes == max_nodes else batch.padded(max_nodes)
    adjacency = batch.adjacency[:, :max_nodes, :max_nodes]
    return DagBatch(batch.types[:, :max_nodes], adjacency, batch.num_nodes)
