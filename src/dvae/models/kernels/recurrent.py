"""A GRU along a sequence, all rows of a batch at once.

    h[t] = GRU(x[t], h[t - 1])        t = 0 .. time - 1, h[-1] given or zero

The input products of all steps are taken before the loop, in one. The backward pass is written out: it walks the
steps once in reverse with one product each and takes the weight gradients in one product at the end.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from dvae.models.kernels.aligned import aligned_parameter, uniform
from dvae.models.kernels.gru import (
    GruStep,
    gru_step,
    gru_step_backward,
    hidden_part,
    input_part,
    scatter_rows,
)
from dvae.models.kernels.precision import affine, linear, operand_dtype, shortened, weight_gradient


class _Recur(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        input_gates: Tensor,  # time row 3*hidden; with `index`: kind 3*hidden
        index: Tensor | None,  # time row
        initial: Tensor | None,  # row hidden
        weight_hh: Tensor,  # 3*hidden hidden
        bias_hh: Tensor,  # 3*hidden
        differentiable: bool,
    ) -> Tensor:
        dtype = operand_dtype()
        weight_t = shortened(weight_hh, dtype).T
        time, rows = (input_gates if index is None else index).shape[:2]
        state = input_gates.new_zeros(rows, weight_hh.shape[1]) if initial is None else initial
        states, saved = [], []
        for moment in range(time):
            gates = input_gates[moment] if index is None else input_gates[index[moment]]
            if moment == 0 and initial is None:
                hidden_gates = bias_hh.expand(rows, -1)
            else:
                hidden_gates = affine(shortened(state, dtype), weight_t, bias_hh)
            step = gru_step.when(differentiable)(gates, hidden_gates, state)
            state = step.state
            states.append(state)
            if differentiable:
                saved.append(step[1:])
        stacked = torch.stack(states)
        ctx.saved, ctx.dtype, ctx.num_kinds = saved, dtype, input_gates.shape[0]
        ctx.save_for_backward(stacked, index, initial, weight_hh)
        return stacked

    @staticmethod
    def backward(ctx: Any, states_grad: Tensor) -> tuple[Tensor | None, ...]:
        states, index, initial, weight_hh = ctx.saved_tensors
        dtype = ctx.dtype
        weight = shortened(weight_hh, dtype)
        grads_of: list[Tensor] = []
        state_grad = states_grad[-1]
        for moment in reversed(range(states.shape[0])):
            before = states[moment - 1] if moment > 0 else initial
            message = torch.zeros_like(states[0]) if before is None else before
            step = GruStep(states[moment], *ctx.saved[moment])
            grads, state_grad = gru_step_backward(state_grad, step, message, static=True)
            grads_of.append(grads)
            if before is not None:
                state_grad = affine(shortened(hidden_part(grads), dtype), weight, state_grad)
            if moment > 0:
                state_grad = state_grad + states_grad[moment - 1]
        grads = torch.stack(grads_of[::-1])  # time row 4*hidden
        hidden_grads = hidden_part(grads)
        if initial is None:
            fed, received = hidden_grads[1:], states[:-1]
        else:
            fed, received = hidden_grads, torch.cat([initial[None], states[:-1]])
        inputs_grad = input_part(grads)
        if index is not None:
            inputs_grad = scatter_rows(inputs_grad.flatten(0, 1), index.flatten(), ctx.num_kinds)
        return (
            inputs_grad,
            None,
            None if initial is None else state_grad,
            weight_gradient(fed.flatten(0, 1), received.flatten(0, 1), dtype),
            hidden_grads.sum((0, 1)),
            None,
        )


def recur(
    input_gates: Tensor,
    initial: Tensor | None,
    weight_hh: Tensor,
    bias_hh: Tensor,
    *,
    index: Tensor | None = None,
) -> Tensor:
    """The states of a GRU after each step, from the input products of all steps.

    `input_gates` is (time, row, 3 * hidden), or, where inputs are of a few kinds, a table (kind, 3 * hidden) with
    `index` (time, row) into it. `initial` (row, hidden) is the state before the first step, zero if None. The order
    of gates is that of `gru_step`.
    """  # time row hidden
    states: Tensor = _Recur.apply(input_gates, index, initial, weight_hh, bias_hh, torch.is_grad_enabled())
    return states


class Recurrence(nn.Module):
    """The weights of a GRU along a sequence; rows ordered as in `GruUpdate`.

    With `align_input` the input is one vector of aligned width, otherwise it is taken as it is.
    """

    def __init__(self, inputs: int, hidden: int, *, align_input: bool = True) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.weight_ih = aligned_parameter(uniform(3 * hidden, inputs, bound=bound), 3, int(align_input))
        self.bias_ih = aligned_parameter(uniform(3 * hidden, bound=bound), 3)
        self.weight_hh = aligned_parameter(uniform(3 * hidden, hidden, bound=bound), 3, 1)
        self.bias_hh = aligned_parameter(uniform(3 * hidden, bound=bound), 3)

    def input_gates(self, values: Tensor) -> Tensor:
        """The input product."""  # ... inputs -> ... 3*hidden
        return linear(values, self.weight_ih, self.bias_ih)

    def bit_gates(self) -> Tensor:
        """The input products of 0 and 1, for a GRU whose input is one bit."""  # 2 3*hidden
        return torch.stack([self.bias_ih, self.bias_ih + self.weight_ih[:, 0]])

    def forward(self, input_gates: Tensor, initial: Tensor | None = None, *, index: Tensor | None = None) -> Tensor:
        """All states (`recur`)."""  # time row hidden
        return recur(input_gates, initial, self.weight_hh, self.bias_hh, index=index)

    def step(self, input_gates: Tensor, state: Tensor) -> Tensor:
        """One step, without a gradient."""  # row 3*hidden, row hidden -> row hidden
        return gru_step(input_gates, linear(state, self.weight_hh, self.bias_hh), state).state
