"""Asynchronous message passing over a whole batch: one pass over the topological positions (eq. 1-4).

For position i, in order:

    h_in[i] = sum over u < i of adjacency[u, i] * message[u]                      (eq. 2; the first node's is given)
    h[i]    = GRU(x[i], h_in[i])                                                  (eq. 4)
    message[i] = sigmoid(G h[i] + g[i]) * (M h[i] + m[i])                         (eq. 3, eq. 6 with positions)

The backward pass is written out: it walks the positions once in reverse with three small products each, and takes
all weight gradients in one large product at the end instead of one a position.

Equal nodes need computing once: where two graphs of the batch agree on a node's type and on all that flows into it,
`shares` names one representative, and only that row is computed (`common_computations`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.fuse import fused
from dvae.models.gru import gru_step, gru_step_backward, scatter_rows
from dvae.models.precision import operand_dtype, shortened


class Share(NamedTuple):
    """At one position: the graphs to compute, and for every graph which of those it equals."""

    representative: Tensor  # row
    member: Tensor  # batch


@fused
def gated(product: Tensor, bias: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Gate, mapped state and their product, the message."""
    gate, mapped = (product + bias).chunk(2, -1)
    gate = torch.sigmoid(gate)
    return gate * mapped, gate, mapped.contiguous()


@fused
def gated_backward(message_grad: Tensor, gate: Tensor, mapped: Tensor) -> Tensor:
    return torch.cat([message_grad * mapped * gate * (1 - gate), message_grad * gate], -1)


class _Sweep(torch.autograd.Function):
    """Tensors have a leading axis `direction`, so that both directions of an encoder go through one product."""

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
    ) -> tuple[Tensor, Tensor]:
        directions, batch, nodes = types.shape
        hidden = weight_hh.shape[-1]
        offsets = torch.arange(directions, device=types.device)[:, None, None] * table.shape[1]
        inputs = table.flatten(0, 1)[types + offsets]
        states = table.new_empty(directions, batch, nodes, hidden)
        messages = table.new_zeros(directions, batch, nodes, hidden)
        dtype = operand_dtype()
        weight_hh_t = shortened(weight_hh, dtype).mT
        weight_message_t = shortened(weight_message, dtype).mT
        saved = []
        for position in range(nodes):
            share = shares[position] if shares is not None else None
            rows = slice(None) if share is None else share.representative
            if position > 0:
                weights = adjacency[:, rows, None, :position, position]
                incoming = (weights @ messages[:, rows, :position]).squeeze(2)
            elif first is not None:
                incoming = first[:, rows]
            else:
                incoming = table.new_zeros(directions, batch if share is None else len(rows), hidden)
            hidden_gates = bias_hh[:, None]
            if position > 0 or first is not None:
                hidden_gates = _affine(shortened(incoming, dtype), weight_hh_t, hidden_gates)
            else:
                hidden_gates = hidden_gates.expand(-1, incoming.shape[1], -1)
            state, gates = gru_step(inputs[:, rows, position], hidden_gates, incoming)
            message = gate = mapped = None
            if position < nodes - 1:
                product = torch.bmm(shortened(state, dtype), weight_message_t).to(table.dtype)
                message, gate, mapped = gated(product, bias_message[:, position, None])
            if share is None:
                states[:, :, position] = state
                if message is not None:
                    messages[:, :, position] = message
            else:
                states[:, :, position] = state[:, share.member]
                if message is not None:
                    messages[:, :, position] = message[:, share.member]
            saved.append((state, incoming, gates, gate, mapped))
        ctx.saved = saved
        ctx.dtype = dtype
        ctx.shares = shares
        ctx.save_for_backward(types, adjacency, weight_hh, weight_message)
        ctx.num_types = table.shape[1]
        ctx.has_first = first is not None
        return states, messages

    @staticmethod
    def backward(ctx: Any, states_grad: Tensor, messages_grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        types, adjacency, weight_hh, weight_message = ctx.saved_tensors
        dtype = ctx.dtype
        weight_hh_short, weight_message_short = shortened(weight_hh, dtype), shortened(weight_message, dtype)
        messages_grad = messages_grad.clone()
        nodes = types.shape[2]
        input_grads, hidden_grads, product_grads = [], [], []
        incoming_grad: Tensor | None = None
        for position in reversed(range(nodes)):
            state, incoming, gates, gate, mapped = ctx.saved[position]
            share = ctx.shares[position] if ctx.shares is not None else None
            state_grad = _collect(states_grad[:, :, position], share)
            if gate is not None:
                message_grad = _collect(messages_grad[:, :, position], share)
                product_grad = gated_backward(message_grad, gate, mapped)
                state_grad = state_grad + torch.bmm(shortened(product_grad, dtype), weight_message_short)
                product_grads.append(product_grad)
            input_grad, hidden_grad, incoming_grad = gru_step_backward(state_grad, gates, incoming)
            input_grads.append(input_grad)
            hidden_grads.append(hidden_grad)
            if position == 0 and not ctx.has_first:
                break
            incoming_grad = incoming_grad + torch.bmm(shortened(hidden_grad, dtype), weight_hh_short)
            if position > 0:
                _send_back(messages_grad, adjacency, incoming_grad, position, share)
        ordered = ctx.saved
        all_states = torch.cat([entry[0] for entry in ordered[:-1]], 1) if nodes > 1 else None
        all_incoming = torch.cat([entry[1] for entry in ordered], 1)
        hidden_grad = torch.cat(hidden_grads[::-1], 1)
        weight_hh_grad = _outer(hidden_grad, all_incoming, dtype)
        if all_states is None:
            weight_message_grad = torch.zeros_like(weight_message)
            bias_message_grad = weight_message.new_zeros(types.shape[0], nodes, weight_message.shape[1])
        else:
            product_grad = torch.cat(product_grads[::-1], 1)
            weight_message_grad = _outer(product_grad, all_states, dtype)
            per_position = [grad.sum(1) for grad in product_grads[::-1]]
            bias_message_grad = torch.stack([*per_position, torch.zeros_like(per_position[0])], 1)
        table_grad = _table_grad(types, input_grads[::-1], ctx.shares, ctx.num_types)
        first_grad = incoming_grad if ctx.has_first else None
        return (
            None, None, first_grad, table_grad, weight_hh_grad, hidden_grad.sum(1), weight_message_grad,
            bias_message_grad, None,
        )  # fmt: skip


def _affine(values: Tensor, weight_t: Tensor, bias: Tensor) -> Tensor:
    """bias + values @ weight_t, in one product where the formats agree."""
    if values.dtype == bias.dtype:
        return torch.baddbmm(bias, values, weight_t)
    return torch.bmm(values, weight_t).to(bias.dtype) + bias


def _outer(grad: Tensor, values: Tensor, dtype: torch.dtype | None) -> Tensor:
    """The weight gradient of `values @ weight.T`, summed over rows."""
    return torch.bmm(shortened(grad, dtype).mT, shortened(values, dtype)).to(grad.dtype)


def _collect(grad: Tensor, share: Share | None) -> Tensor:
    """The gradient of every computed row: the sum over the graphs that use it."""
    if share is None:
        return grad
    rows = grad.new_zeros(grad.shape[0], share.representative.shape[0], grad.shape[2])
    return rows.index_add_(1, share.member, grad)


def _send_back(
    messages_grad: Tensor, adjacency: Tensor, incoming_grad: Tensor, position: int, share: Share | None
) -> None:
    """Adds to the gradient of every predecessor's message, in place."""
    if share is None:
        weights = adjacency[:, :, :position, position, None]
        messages_grad[:, :, :position].addcmul_(weights, incoming_grad[:, :, None])
    else:
        rows = share.representative
        weights = adjacency[:, rows, :position, position, None]
        messages_grad[:, :, :position].index_add_(1, rows, weights * incoming_grad[:, :, None])


def _table_grad(
    types: Tensor, input_grads: list[Tensor], shares: Sequence[Share] | None, num_types: int
) -> Tensor:
    """Sums the input gradients by node type, all positions at once."""
    directions = types.shape[0]
    if shares is None:
        index = types.mT.flatten(1)  # direction node*batch
    else:
        index = torch.cat([types[:, share.representative, i] for i, share in enumerate(shares)], 1)
    values = torch.cat(input_grads, 1)
    return torch.stack([scatter_rows(values[d], index[d], num_types) for d in range(directions)])


def sweep(
    types: Tensor,
    adjacency: Tensor,
    first: Tensor | None,
    table: Tensor,
    weight_hh: Tensor,
    bias_hh: Tensor,
    weight_message: Tensor,
    bias_message: Tensor,
    shares: Sequence[Share] | None = None,
) -> tuple[Tensor, Tensor]:
    """States and messages of all nodes; shapes as in `_Sweep.forward`."""
    states, messages = _Sweep.apply(
        types, adjacency, first, table, weight_hh, bias_hh, weight_message, bias_message, shares
    )
    return states, messages


_MIX = -7046029254386353131  # odd 64-bit constants of a multiplicative hash (golden ratio and friends)
_MIX_POSITION = -4417276706812531889
_MIX_TYPE = 2862933555777941757


def common_computations(batch: DagBatch, *, with_position: bool) -> list[Share]:
    """Which graphs agree, position by position, on everything a node's state depends on.

    A node's signature is a 64-bit hash of its type and of the multiset of its predecessors' signatures (and
    positions, where messages carry them); by induction equal signatures are equal states. Two different nodes of
    one batch share a signature with a probability of about batch^2 / 2^64.
    """
    signatures = torch.zeros_like(batch.types)
    shares = []
    for position in range(batch.max_nodes):
        incoming = _mixed(signatures[:, :position])
        if with_position:
            incoming = _mixed(incoming + torch.arange(position, device=batch.device) * _MIX_POSITION)
        incoming = (incoming * batch.adjacency[:, :position, position]).sum(1)
        signature = _mixed(_mixed(batch.types[:, position] * _MIX_TYPE + 1) + incoming)
        signatures[:, position] = signature
        shares.append(share_equal(signature))
    return shares


def family_signature(types: Tensor, parents: Tensor, of_types: Tensor) -> Tensor:
    """A 64-bit hash of a node's type and the multiset of its parents' types.

    `types` (batch node) are the types of the graphs, `parents` (batch row node) says which nodes are parents of each
    row, `of_types` (batch row) is each row's own type.
    """  # batch row
    parent_hashes = _mixed(types * _MIX_POSITION + 1)
    family = (parents * parent_hashes[:, None, :]).sum(2)
    return _mixed(_mixed(of_types * _MIX_TYPE + 1) + family)


def share_equal(signature: Tensor) -> Share:
    """Groups equal signatures; the first of each group stands for it."""
    distinct, member = signature.unique(return_inverse=True)
    rows = torch.arange(signature.shape[0], device=signature.device)
    first = torch.full_like(distinct, signature.shape[0]).scatter_reduce_(0, member, rows, "amin")
    return Share(first, member)


def _mixed(values: Tensor) -> Tensor:
    values = (values ^ (values >> 29)) * _MIX
    return values ^ (values >> 32)
