"""x_v, what a model knows of a node's type: one-hot, a learned vector, or a vector the user gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional


class NodeFeatures(nn.Module):
    """One vector per type. One-hot vectors are never formed: their product is the weight itself."""

    embedding: Tensor | None

    def __init__(
        self, num_types: int, learned: int | None = None, given: Sequence[Sequence[float]] | None = None
    ) -> None:
        super().__init__()
        self.num_types = num_types
        if given is not None:
            self.register_buffer("embedding", torch.tensor(given, dtype=torch.get_default_dtype()))
        elif learned is not None:
            values = torch.randn(num_types, learned) / math.sqrt(learned)
            self.register_parameter("embedding", nn.Parameter(values))
        else:
            self.embedding = None

    @property
    def width(self) -> int:
        return self.num_types if self.embedding is None else self.embedding.shape[1]

    def linear(self, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The linear map of every type's vector."""  # out width -> type out
        if self.embedding is None:
            return weight.T if bias is None else weight.T + bias
        return functional.linear(self.embedding, weight, bias)
