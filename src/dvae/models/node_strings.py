"""A DAG as a sequence of node strings (paper, appendix on baselines): a node's type, then who feeds it.

The string of node i holds its type's vector and max_nodes - 1 bits; bit j says whether node j is a predecessor. The
start node, always the same, has none. Time runs over nodes 1, 2, ...; it comes before the batch in memory.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import aligned
from dvae.models.kernels.gru import rows_of


class NodeStrings(nn.Module):
    """Strings of `width` numbers, aligned with zeros."""

    def __init__(self, features: NodeFeatures, max_nodes: int) -> None:
        super().__init__()
        self.features = features
        self.width = features.width + max_nodes - 1

    def forward(self, batch: DagBatch, dtype: torch.dtype) -> Tensor:
        """The strings of all nodes but the start."""  # time batch string
        return self.join(batch.types[:, 1:].T, predecessor_bits(batch, self._room), dtype)

    def join(self, types: Tensor, bits: Tensor, dtype: torch.dtype) -> Tensor:
        """Strings from types and bits, any number of leading axes."""
        embedding = self.features.embedding
        if embedding is None:
            kinds = torch.arange(self.features.num_types, device=types.device)
            vectors = (types[..., None] == kinds).to(dtype)
        else:
            vectors = rows_of(embedding, types)
        return torch.cat([vectors, fitted(bits, self._room).to(dtype)], -1)

    @property
    def _room(self) -> int:
        return aligned(self.width) - self.features.width


def predecessor_bits(batch: DagBatch, count: int) -> Tensor:
    """Whether nodes 0 .. count-1 feed each node but the start."""  # time batch count, bool
    return fitted(batch.adjacency[:, :, 1:].permute(2, 0, 1), count)


def fitted(bits: Tensor, count: int) -> Tensor:
    """The first `count` bits; those beyond what is there are zero. What is cut off is padding."""
    room = count - bits.shape[-1]
    return functional.pad(bits, (0, room)) if room > 0 else bits[..., :count]
