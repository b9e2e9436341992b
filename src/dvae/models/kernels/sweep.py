"""Asynchronous message passing over a whole batch: one pass over the topological positions (eq. 1-4).

For position i, in order:

    h_in[i] = sum over u < i of adjacency[u, i] * message[u]                      (eq. 2; the first node's is given)
    h[i]    = GRU(x[i], h_in[i])                                                  (eq. 4)
    message[i] = sigmoid(G h[i] + g[i]) * (M h[i] + m[i])                         (eq. 3, eq. 6 with positions)

The backward pass is written out: it walks the positions once in reverse with three small products each, and takes
all weight gradients in one large product at the end instead of one per position.

Equal nodes need computing once: where two graphs of the batch agree on a node's type and on all that flows into it,
`shares` names one representative, and only that row is computed (`common_computations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dvae.models.kernels.gates import gated, gated_backward
from dvae.models.kernels.gru import gru_step, gru_step_backward, hidden_part, input_part, scatter_rows
from dvae.models.kernels.precision import affine, operand_dtype, shortened, weight_gradient
from dvae.models.kernels.shares import Share


class _Sweep(torch.autograd.Function):
    """Tensors have a leading axis `direction`, so that both directions of an encoder go through one product.

    Inside, positions come before graphs: what a step touches lies together in memory.
    """

    @staticmethod
    def forward(
        ctx: Any,
        types: Tensor,  # direction batch node
        adjacency: Tensor,  # direction batch node node, float
        first: Tensor | None,  # direction batch hidden
        table: Tensor,  # direction type 3*hidden
        weight_hh: Tensor,  # direction 3*hidden hidden
        bias_hh: Tensor,  # direction 3*hidden
        weight_message: Tensor,  # direction 2*hidden hidden
        bias_message: Tensor,  # direction node 2*hidden
        shares: Sequence[Share] | None,
        wants_messages: bool,
        static: bool,
    ) -> tuple[Tensor, Tensor | None]:
        directions, batch, nodes = types.shape
        dtype = operand_dtype()
        weight_hh_t = shortened(weight_hh, dtype).mT
        weight_message_t = shortened(weight_message, dtype).mT
        inputs = _type_rows(table, types.mT)  # direction node batch 3*hidden
        edges = adjacency.permute(0, 2, 3, 1).contiguous()[..., None]  # direction source target batch 1
        incoming = table.new_zeros(directions, nodes, batch, weight_hh.shape[-1])
        if first is not None:
            incoming[:, 0] = first
        states, messages, saved = [], [], []
        for position in range(nodes):
            share = None if shares is None else shares[position]
            received = _chosen(incoming[:, position], share)
            if position > 0 or first is not None:
                hidden_gates = affine(shortened(received, dtype), weight_hh_t, bias_hh[:, None])
            else:  # nothing was received
                hidden_gates = bias_hh[:, None].expand(-1, received.shape[1], -1)
            step = gru_step.when(static)(_chosen(inputs[:, position], share), hidden_gates, received)
            states.append(_spread(step.state, share))
            gate = mapped = None
            if position < nodes - 1:
                product = torch.bmm(shortened(step.state, dtype), weight_message_t)
                message, gate, mapped = gated.when(static)(product.to(table.dtype), bias_message[:, position, None])
                message = _spread(message, share)
                messages.append(message)
                incoming[:, position + 1 :].addcmul_(edges[:, position, position + 1 :], message[:, None])
            saved.append((step, received, gate, mapped))
        ctx.saved, ctx.dtype, ctx.shares, ctx.static = saved, dtype, shares, static
        ctx.save_for_backward(types, edges, weight_hh, weight_message)
        ctx.num_types = table.shape[1]
        ctx.has_first = first is not None
        if not wants_messages:
            return torch.stack(states, 2), None
        return torch.stack(states, 2), torch.stack([*messages, torch.zeros_like(states[0])], 2)

    @staticmethod
    def backward(ctx: Any, states_grad: Tensor, messages_grad: Tensor | None) -> tuple[Tensor | None, ...]:
        types, edges, weight_hh, weight_message = ctx.saved_tensors
        dtype, shares = ctx.dtype, ctx.shares
        directions, batch, nodes = types.shape
        weight_hh_short, weight_message_short = shortened(weight_hh, dtype), shortened(weight_message, dtype)
        if messages_grad is None:
            to_messages = states_grad.new_zeros(directions, nodes, batch, states_grad.shape[-1])
        else:
            to_messages = messages_grad.transpose(1, 2).contiguous().clone()
        grads_of, product_grads = [], []
        received_grad = states_grad
        for position in reversed(range(nodes)):
            step, received, gate, mapped = ctx.saved[position]
            share = None if shares is None else shares[position]
            state_grad = _collected(states_grad[:, :, position], share)
            if gate is not None:
                message_grad = _collected(to_messages[:, position], share)
                product_grad = gated_backward.when(ctx.static)(message_grad, gate, mapped)
                product_grads.append(product_grad)
                state_grad = affine(shortened(product_grad, dtype), weight_message_short, state_grad)
            grads, received_grad = gru_step_backward(state_grad, step, received, ctx.static)
            grads_of.append(grads)
            if position > 0 or ctx.has_first:
                received_grad = affine(shortened(hidden_part(grads), dtype), weight_hh_short, received_grad)
            if position > 0:
                whole = received_grad
                if share is not None:
                    whole = torch.zeros_like(to_messages[:, 0]).index_copy_(1, share.representative, received_grad)
                to_messages[:, :position].addcmul_(edges[:, :position, position], whole[:, None])
        grads = torch.cat(grads_of[::-1], 1)  # positions in order, the rows of each together
        received = torch.cat([received for _, received, _, _ in ctx.saved], 1)
        weight_message_grad = bias_message_grad = None
        if product_grads:
            product_grad = torch.cat(product_grads[::-1], 1)
            states = torch.cat([step.state for step, *_ in ctx.saved[:-1]], 1)
            weight_message_grad = weight_gradient(product_grad, states, dtype)
            if shares is None:
                sums = product_grad.unflatten(1, (nodes - 1, batch)).sum(2)
            else:
                sums = torch.stack([grad.sum(1) for grad in product_grads[::-1]], 1)
            bias_message_grad = torch.nn.functional.pad(sums, (0, 0, 0, 1))
        return (
            None,
            None,
            received_grad if ctx.has_first else None,
            _table_grad(types, input_part(grads), shares, ctx.num_types),
            weight_gradient(hidden_part(grads), received, dtype),
            hidden_part(grads).sum(1),
            weight_message_grad,
            bias_message_grad,
            None,
            None,
            None,
        )


def _type_rows(table: Tensor, types: Tensor) -> Tensor:
    """The row of every type, direction by direction."""
    if table.shape[0] == 1:
        return table[0][types]
    offsets = torch.arange(table.shape[0], device=types.device)[:, None, None] * table.shape[1]
    return table.flatten(0, 1)[types + offsets]


def _chosen(values: Tensor, share: Share | None) -> Tensor:
    """The rows that are computed."""
    return values if share is None else values[:, share.representative]


def _spread(values: Tensor, share: Share | None) -> Tensor:
    """Computed rows given to every graph that shares them."""
    return values if share is None else values[:, share.member]


def _collected(grad: Tensor, share: Share | None) -> Tensor:
    """The gradient of every computed row: the sum over the graphs that share it."""
    if share is None:
        return grad
    rows = grad.new_zeros(grad.shape[0], share.representative.shape[0], grad.shape[2])
    return rows.index_add_(1, share.member, grad)


def _table_grad(types: Tensor, grads: Tensor, shares: Sequence[Share] | None, num_types: int) -> Tensor:
    """Sums the input gradients by node type, all positions at once."""
    if shares is None:
        index = types.mT.flatten(1)  # direction node*batch
    else:
        index = torch.cat([types[:, share.representative, node] for node, share in enumerate(shares)], 1)
    return scatter_rows(grads, index, num_types)


def sweep(
    types: Tensor,
    adjacency: Tensor,
    first: Tensor | None,
    table: Tensor,
    weight_hh: Tensor,
    bias_hh: Tensor,
    weight_message: Tensor,
    bias_message: Tensor,
    *,
    shares: Sequence[Share] | None = None,
    wants_messages: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """States and, if wanted, messages of all nodes; shapes as in `_Sweep.forward`."""
    states, messages = _Sweep.apply(
        types, adjacency, first, table, weight_hh, bias_hh, weight_message, bias_message, shares, wants_messages,
        torch.is_grad_enabled(),
    )  # fmt: skip
    return states, messages
