"""Rounds of gated sums over a whole batch, equal nodes computed once (`simultaneous` has the formula)."""

from __future__ import annotations

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.kernels.gates import gated_product
from dvae.models.kernels.gru import GruUpdate, rows_of
from dvae.models.kernels.precision import linear
from dvae.models.kernels.shares import Share, family_signature, share_equal

_POSITIONS = 1_000_003  # more than any graph has


def gated_rounds(
    weight: Tensor, bias: Tensor, update: GruUpdate, batch: DagBatch, first: Tensor | None, rounds: int, *,
    with_position: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The states after the last round, and the messages they have received.

    `weight` (2*hidden hidden) and `bias` (node 2*hidden) give gate and map, `first` the start's incoming message.
    """
    table = update.table()
    edges = batch.adjacency.mT.to(table.dtype)  # batch target source
    fresh = linear(update.without_message(table), weight)
    products = rows_of(fresh, batch.types)  # batch node 2*hidden
    start = start_product = None
    if first is not None:
        start = update(batch.types[:, 0], first, table)[:, None]
        start_product = linear(start, weight)
        products = torch.cat([start_product, products[:, 1:]], 1)
    begin = 0 if start is None else 1
    types = batch.types[:, begin:]
    states = messages = products
    for share in _shares(batch, rounds, first is not None, with_position):
        messages = gated_product(products + bias)
        incoming = edges[:, begin:] @ messages
        states, products = _updated(weight, update, table, types, incoming, share)
        if start is not None and start_product is not None:
            states, products = torch.cat([start, states], 1), torch.cat([start_product, products], 1)
    return states, messages


def _updated(
    weight: Tensor, update: GruUpdate, table: Tensor, types: Tensor, incoming: Tensor, share: Share | None
) -> tuple[Tensor, Tensor]:
    """The new states and the products their messages come from, equal nodes computed once."""
    rows, flat_types = incoming.flatten(0, 1), types.flatten()
    if share is not None:
        rows, flat_types = rows[share.representative], flat_types[share.representative]
    states = update(flat_types, rows, table)
    products = linear(states, weight)
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
