"""What an encoder and a decoder promise each other: nothing but the size of the latent space.

Any encoder pairs with any decoder. Both see a model's DAGs (`DagBatch`) only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.tasks.rules import DecodingRules


class Encoder(Protocol):
    """A graph as one vector, made of `blocks` vectors of `width` numbers, each aligned (`aligned`) in memory."""

    width: int
    blocks: int

    def __call__(self, batch: DagBatch) -> Tensor:  # batch blocks*aligned(width)
        ...


@dataclass(frozen=True)
class Sampling:
    """How decisions are taken while decoding."""

    greedy: bool = False
    copies: int = 1  # independent decodings of each latent
    rules: DecodingRules | None = None
    generator: torch.Generator | None = None


class Decoder(Protocol):
    """p(G | z)."""

    static_shapes: bool  # whether `nll` on a CUDA device has shapes that do not depend on the data

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """-log p(G | z) with teacher forcing, one number a graph."""  # batch
        ...

    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        """`copies` graphs for each latent, those of one latent next to each other."""
        ...

    def rows_at_once(self, device: torch.device) -> int:
        """How many latents a call of `sample` should get on `device`."""
        ...
