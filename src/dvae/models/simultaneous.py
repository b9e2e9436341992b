"""Simultaneous message passing: every node of a graph updates at once, for a fixed number of rounds.

    h[v] after 0 rounds = GRU(x[v], 0)
    h[v] after r rounds = GRU(x[v], sum over u -> v of message(u, h[u] after r - 1 rounds))

The aggregation and the update are those of D-VAE (eq. 2-4); only the order differs. What a node knows after r rounds
comes from at most r edges upstream. Where a decoder gives the start node its incoming message, that message is the
same in every round, so the start's state never changes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.aggregation import Aggregation, GatedSum, NodeStates, reversed_batch
from dvae.models.kernels.gru import GruUpdate, rows_of
from dvae.models.kernels.precision import linear
from dvae.models.kernels.sweep import Share, family_signature, gated, gated_backward, share_equal

_POSITIONS = 1_000_003  # more than any graph has


class _Gated(torch.autograd.Function):
    """sigmoid(first half) * second half."""

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


class Simultaneous(nn.Module):
    """An aggregation that propagates in rounds instead of a sweep; it stands where an `Aggregation` does.

    `messages` of its result are those of the last round but one: what the final states have received, and what a
    node added to the graph would receive.
    """

    def __init__(self, aggregation: Aggregation, rounds: int) -> None:
        super().__init__()
        self.inner = aggregation
        self.rounds = rounds
        # Messages of types alone are the same in all rounds: one round is a sweep.
        self.depends_on_types_only = aggregation.depends_on_types_only

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        return self.inner.message(types, states, position)

    def propagate(self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None) -> NodeStates:
        if not isinstance(self.inner, GatedSum):
            return self.inner.propagate(update, batch, first)
        return _in_rounds(self.inner, update, batch, first, self.rounds)

    def propagate_both(
        self, update: GruUpdate, backward: Simultaneous, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        ahead, back = self.propagate(update, batch), reversed_batch(batch)
        if not isinstance(backward.inner, GatedSum):
            return ahead, backward.propagate(backward_update, back)
        return ahead, _in_rounds(backward.inner, backward_update, back, None, backward.rounds, reverse=True)


def _in_rounds(
    aggregation: GatedSum, update: GruUpdate, batch: DagBatch, first: Tensor | None, rounds: int, reverse: bool = False
) -> NodeStates:  # fmt: skip
    bias = aggregation.position_bias(batch.max_nodes, reverse)  # node 2*hidden
    table = update.table()
    edges = batch.adjacency.mT.to(table.dtype)  # batch target source
    fresh = linear(update.without_message(table), aggregation.weight)
    products = rows_of(fresh, batch.types)  # batch node 2*hidden
    start = start_product = None
    if first is not None:
        start = update(batch.types[:, 0], first, table)[:, None]
        start_product = linear(start, aggregation.weight)
        products = torch.cat([start_product, products[:, 1:]], 1)
    begin = 0 if start is None else 1
    types = batch.types[:, begin:]
    shares = _shares(batch, rounds, first is not None, aggregation.position is not None)
    states = messages = products
    for share in shares:
        messages = _Gated.apply(products + bias, torch.is_grad_enabled())
        incoming = edges[:, begin:] @ messages
        states, products = _updated(aggregation, update, table, types, incoming, share)
        if start is not None and start_product is not None:
            states, products = torch.cat([start, states], 1), torch.cat([start_product, products], 1)
    return NodeStates(states, messages)


def _updated(
    aggregation: GatedSum, update: GruUpdate, table: Tensor, types: Tensor, incoming: Tensor, share: Share | None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The new states and the products their messages come from, equal nodes computed once."""
    rows, flat_types = incoming.flatten(0, 1), types.flatten()
    if share is not None:
        rows, flat_types = rows[share.representative], flat_types[share.representative]
    states = update(flat_types, rows, table)
    products = linear(states, aggregation.weight)
    if share is not None:
        states, products = states[share.member], products[share.member]
    return states.unflatten(0, types.shape), products.unflatten(0, types.shape)


def _shares(batch: DagBatch, rounds: int, has_first: bool, with_position: bool) -> list[Share | None]:
    """Which nodes of the whole batch are equal after each round; nothing on a GPU, where shapes are static.

    Two nodes are equal after a round when their types are, and their predecessors were before it. The start of a
    decoder's graph is like no other: its message is the latent's.
    """
    if batch.device.type != "cpu":
        return [None] * rounds
    begin = int(has_first)
    position = torch.arange(batch.max_nodes)
    signatures = batch.types
    shares: list[Share | None] = []
    for _ in range(rounds):
        if has_first:
            unlike = -1 - torch.arange(len(batch))
            signatures = torch.cat([unlike[:, None], signatures[:, 1:]], 1)
        if with_position:
            signatures = signatures * _POSITIONS + position
        signatures = family_signature(signatures, batch.adjacency.mT, batch.types)
        shares.append(share_equal(signatures[:, begin:].flatten()))
    return shares
