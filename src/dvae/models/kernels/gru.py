"""The update function U of the paper (eq. 4): a GRU whose hidden input is the incoming message.

The type of a node is all its input, so the input product is a row of a table with one row per type.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import aligned_parameter, uniform
from dvae.models.kernels.fuse import fused
from dvae.models.kernels.precision import linear


class GruStep(NamedTuple):
    """The new state, and what the backward pass of the step needs besides the message."""

    state: Tensor
    reset: Tensor
    update: Tensor
    candidate: Tensor
    candidate_hidden: Tensor  # the hidden part of the candidate before the reset gate


@fused
def gru_step(input_gates: Tensor, hidden_gates: Tensor, message: Tensor) -> GruStep:
    """One GRU step from its two products.

    The order is candidate, reset, update in the first and reset, update, candidate in the second, so that the
    gradients of both overlap in memory (`gru_step_backward`).
    """
    input_candidate, input_reset, input_update = input_gates.chunk(3, -1)
    hidden_reset, hidden_update, hidden_candidate = hidden_gates.chunk(3, -1)
    reset = torch.sigmoid(input_reset + hidden_reset)
    update = torch.sigmoid(input_update + hidden_update)
    candidate = torch.tanh(torch.addcmul(input_candidate, reset, hidden_candidate))
    state = torch.lerp(candidate, message, update)
    return GruStep(state, reset, update, candidate, hidden_candidate)


@fused
def _gru_step_backward(
    state_grad: Tensor,
    reset: Tensor,
    update: Tensor,
    candidate: Tensor,
    candidate_hidden: Tensor,
    message: Tensor,
) -> tuple[Tensor, Tensor]:
    candidate_grad = state_grad * (1 - update) * (1 - candidate * candidate)
    update_grad = state_grad * (message - candidate) * update * (1 - update)
    reset_grad = candidate_grad * candidate_hidden * reset * (1 - reset)
    return torch.cat([candidate_grad, reset_grad, update_grad, candidate_grad * reset], -1), state_grad * update


def gru_step_backward(
    state_grad: Tensor, step: GruStep, message: Tensor, static: bool = False
) -> tuple[Tensor, Tensor]:
    """Gradients of both products in one tensor (`input_part`, `hidden_part`), and the message's direct part."""
    return _gru_step_backward.when(static)(state_grad, *step[1:], message)


def input_part(grads: Tensor) -> Tensor:
    """The gradient of the input product: the first three of four parts."""
    return grads[..., : grads.shape[-1] // 4 * 3]


def hidden_part(grads: Tensor) -> Tensor:
    """The gradient of the hidden product: the last three of four parts."""
    return grads[..., grads.shape[-1] // 4 :]


class _GruStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input_gates: Tensor, hidden_gates: Tensor, message: Tensor, static: bool) -> Tensor:
        step = gru_step.when(static)(input_gates, hidden_gates, message)
        ctx.save_for_backward(message, *step[1:])
        ctx.static = static
        return step.state

    @staticmethod
    def backward(ctx: Any, state_grad: Tensor) -> tuple[Tensor | None, ...]:
        message, *gates = ctx.saved_tensors
        grads, message_grad = gru_step_backward(state_grad, GruStep(state_grad, *gates), message, ctx.static)
        return input_part(grads), hidden_part(grads), message_grad, None


class _Rows(torch.autograd.Function):
    """Rows of a small table; the backward pass is a matrix product, exact and in a fixed order."""

    @staticmethod
    def forward(ctx: Any, table: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(index)
        ctx.num_rows = table.shape[0]
        return table[index]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (index,) = ctx.saved_tensors
        return scatter_rows(grad.flatten(0, -2), index.flatten(), ctx.num_rows), None


def rows_of(table: Tensor, index: Tensor) -> Tensor:
    """`table[index]`, for tables with few rows."""
    rows: Tensor = _Rows.apply(table, index)
    return rows


def scatter_rows(values: Tensor, index: Tensor, num_rows: int) -> Tensor:
    """Sums of the rows of `values` by `index`: the transpose of `table[index]`."""  # ... row width -> ... kind width
    one_hot = (index.unsqueeze(-2) == torch.arange(num_rows, device=index.device)[:, None]).to(values.dtype)
    return one_hot @ values


class GruUpdate(nn.Module):
    """h_v = GRU(x_v, h_v^in) (eq. 4).

    Rows of `weight_ih` are the candidate's, the reset gate's and the update gate's; of `weight_hh` the reset gate's,
    the update gate's and the candidate's.
    """

    def __init__(self, features: NodeFeatures, hidden: int) -> None:
        super().__init__()
        self.features = features
        bound = 1 / math.sqrt(hidden)
        self.weight_ih = aligned_parameter(uniform(3 * hidden, features.width, bound=bound), 3)
        self.bias_ih = aligned_parameter(uniform(3 * hidden, bound=bound), 3)
        self.weight_hh = aligned_parameter(uniform(3 * hidden, hidden, bound=bound), 3, 1)
        self.bias_hh = aligned_parameter(uniform(3 * hidden, bound=bound), 3)

    def table(self) -> Tensor:
        """The input product of every type."""  # type 3*hidden
        return self.features.linear(self.weight_ih, self.bias_ih)

    def forward(self, types: Tensor, message: Tensor, table: Tensor | None = None) -> Tensor:
        """The states of nodes of `types` that received `message`."""  # row, row hidden -> row hidden
        inputs = rows_of(self.table() if table is None else table, types)
        hidden_gates = linear(message, self.weight_hh, self.bias_hh)
        state: Tensor = _GruStep.apply(inputs, hidden_gates, message, torch.is_grad_enabled())
        return state

    def without_message(self, table: Tensor | None = None) -> Tensor:
        """The state of a node of each type that received nothing."""  # type hidden
        table = self.table() if table is None else table
        nothing = table.new_zeros(table.shape[0], self.weight_hh.shape[1])
        state: Tensor = _GruStep.apply(table, self.bias_hh.expand_as(table), nothing, True)
        return state
