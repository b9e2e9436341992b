"""Widths that fit the hardware.

Matrix units want rows that start on 16-byte boundaries; the paper's hidden size of 501 has none. So every width is
rounded up to a multiple of eight in memory. The units added have zero weights and zero biases: whatever passes
through a GRU, a gate or a ReLU stays exactly zero in them, so do their gradients, and so, under Adam, do they. The
function and its training are those of the width asked for; `real_size` counts the parameters it really has.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.models.kernels.precision import linear

ALIGNMENT = 8


def aligned(width: int) -> int:
    return -(-width // ALIGNMENT) * ALIGNMENT


def pad_blocks(values: Tensor, dim: int, blocks: int = 1) -> Tensor:
    """Rounds each of `blocks` equal parts along `dim` up to an aligned width, with zeros."""
    width = values.shape[dim] // blocks
    room = aligned(width) - width
    if room == 0:
        return values
    parts = values.unflatten(dim, (blocks, width)).movedim(dim + 1, -1)
    return functional.pad(parts, (0, room)).movedim(-1, dim + 1).flatten(dim, dim + 1).contiguous()


def aligned_parameter(values: Tensor, row_blocks: int = 0, column_blocks: int = 0) -> nn.Parameter:
    """`values` as a parameter, padded along rows and columns where a number of blocks is given."""
    real = values.numel()
    if row_blocks:
        values = pad_blocks(values, 0, row_blocks)
    if column_blocks:
        values = pad_blocks(values, 1, column_blocks)
    parameter = nn.Parameter(values.clone())
    parameter.real_size = real  # type: ignore[attr-defined]
    return parameter


def uniform(*shape: int, bound: float) -> Tensor:
    return torch.empty(shape).uniform_(-bound, bound)


def real_size(module: nn.Module) -> int:
    """How many numbers training may move."""
    return sum(int(getattr(parameter, "real_size", parameter.numel())) for parameter in module.parameters())


class AlignedLinear(nn.Module):
    """A linear layer of aligned widths.

    `input_blocks` vectors of width `inputs`, each aligned on its own, lie side by side in the input, and
    `output_blocks` of width `outputs` in the output. With 0 either is taken as it is.
    """

    def __init__(self, inputs: int, outputs: int, *, input_blocks: int = 1, output_blocks: int = 1) -> None:
        super().__init__()
        fan_in, fan_out = inputs * max(input_blocks, 1), outputs * max(output_blocks, 1)
        bound = 1 / math.sqrt(fan_in)
        self.weight = aligned_parameter(uniform(fan_out, fan_in, bound=bound), output_blocks, input_blocks)
        self.bias = aligned_parameter(uniform(fan_out, bound=bound), output_blocks)

    def forward(self, values: Tensor) -> Tensor:
        return linear(values, self.weight, self.bias)
