"""sigmoid(gate) * map, where one product gives both halves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dvae.models.kernels.fuse import fused


@fused
def gated(product: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gate, mapped state and their product, the message."""
    gate, mapped = (product + bias).chunk(2, -1)
    gate = torch.sigmoid(gate)
    return gate * mapped, gate, mapped.contiguous()


@fused
def gated_backward(message_grad: Tensor, gate: Tensor, mapped: Tensor) -> Tensor:
    return torch.cat([message_grad * mapped * gate * (1 - gate), message_grad * gate], -1)


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, product: Tensor, static: bool) -> Tensor:
        message, gate, mapped = gated.when(static)(product, product.new_zeros(()))
        ctx.save_for_backward(gate, mapped)
        ctx.static = static
        return message

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        gate, mapped = ctx.saved_tensors
        return gated_backward.when(ctx.static)(grad.contiguous(), gate, mapped), None


def gated_product(product: Tensor) -> Tensor:
    """sigmoid(first half) * second half, with a gradient."""  # ... 2*hidden -> ... hidden
    message: Tensor = _Gated.apply(product, torch.is_grad_enabled())
    return message
