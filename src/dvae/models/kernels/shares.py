"""Equal nodes computed once: which nodes of a batch agree on everything their states depend on."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dvae.dag import DagBatch


class Share(NamedTuple):
    """At one position: the graphs to compute, and for every graph which of those it equals."""

    representative: Tensor  # row
    member: Tensor  # batch


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
