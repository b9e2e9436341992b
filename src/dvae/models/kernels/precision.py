"""The number format of matrix products. Everything else stays in the model's own format.

Operands are shortened, products come back in the model's format, and the backward products are taken in the same
short format as the forward ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.nn import functional

_OPERANDS: ContextVar[torch.dtype | None] = ContextVar("dvae_operand_dtype", default=None)


@contextlib.contextmanager
def products_in(dtype: torch.dtype | None) -> Iterator[None]:
    """Takes the matrix products of models with operands of `dtype` (None: as they come)."""
    token = _OPERANDS.set(dtype)
    try:
        yield
    finally:
        _OPERANDS.reset(token)


def operand_dtype() -> torch.dtype | None:
    """The format in force. A backward pass may run on another thread: functions keep what they saw forward."""
    return _OPERANDS.get()


def shortened(values: Tensor, dtype: torch.dtype | None) -> Tensor:
    return values if dtype is None else values.to(dtype)


def linear(values: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """A linear layer whose product is taken in the format in force."""
    dtype = _OPERANDS.get()
    if dtype is None:
        return functional.linear(values, weight, bias)
    product = functional.linear(values.to(dtype), weight.to(dtype)).to(weight.dtype)
    return product if bias is None else product + bias


def affine(values: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """bias + values @ weight, in one product where the formats agree; with or without a leading axis."""
    if values.dtype != bias.dtype:
        return (values @ weight).to(bias.dtype) + bias
    return torch.addmm(bias, values, weight) if values.dim() == 2 else torch.baddbmm(bias, values, weight)


def weight_gradient(grad: Tensor, values: Tensor, dtype: torch.dtype | None) -> Tensor:
    """The gradient of the weight of `values @ weight.T`, summed over rows."""
    return (shortened(grad, dtype).mT @ shortened(values, dtype)).to(grad.dtype)
