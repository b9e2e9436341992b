"""What teacher forcing has to compute, in shapes that depend on sizes alone: for large graphs on a GPU.

As `plan.CompactPlan`, a state for each edge into a node and one for each type. States have slots, as many for every
graph of a batch as its fullest graph has edges; slots that are not needed hold states that nobody asks for. So a step
can be captured once for all graphs of a size class.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch

_ROOM: ContextVar[int | None] = ContextVar("dvae_room_for_edges", default=None)


@contextlib.contextmanager
def room_for_edges(most: int | None) -> Iterator[None]:
    """Says how many edges a graph has at most, where the graphs must not be asked (None: they are)."""
    token = _ROOM.set(most)
    try:
        yield
    finally:
        _ROOM.reset(token)


def known_room() -> int | None:
    """How many edges a graph has at most, where somebody has said so."""
    return _ROOM.get()


@dataclass(frozen=True)
class PaddedPlan:
    """Decisions are pairs (source j, target i), j < i. States are numbered: types, then slots."""

    membership: Tensor  # batch slot node, bool: whose messages each state has received
    slot_types: Tensor  # batch slot
    pair_source: Tensor  # batch pair: index into batch*node
    pair_state: Tensor  # batch pair: number of the state
    edge: Tensor  # batch pair, bool: the truth
    counts: Tensor  # batch pair, bool: whether a pair is a decision of its graph

    @classmethod
    def of(cls, batch: DagBatch, num_types: int) -> PaddedPlan:
        nodes, device, known = batch.max_nodes, batch.device, known_room()
        into = batch.adjacency.mT  # batch target source
        room = max(1, int(into.flatten(1).sum(1).max()) if known is None else known)
        position, slots = torch.arange(nodes, device=device), torch.arange(room, device=device)
        rank = into.flip(2).flatten(1).cumsum(1)  # edges by target, the nearest source first
        slot = torch.where(into.flip(2).flatten(1), rank - 1, room).clamp(max=room)
        cell = torch.arange(nodes * nodes, device=device).expand_as(slot)
        found = torch.zeros(len(batch), room + 1, dtype=torch.int64, device=device).scatter_(1, slot, cell)[:, :room]
        target, source = found // nodes, nodes - 1 - found % nodes
        used = slots < rank[:, -1:]
        rows = into.gather(1, target[:, :, None].expand(-1, -1, nodes))
        received = into.flip(2).cumsum(2).flip(2) - into.long()  # of the predecessors above each source
        degrees = into.sum(2)
        before = degrees.cumsum(1) - degrees + room * torch.arange(len(batch), device=device)[:, None]
        pair_target, pair_source = torch.tril_indices(nodes, nodes, -1, device=device)
        got = received[:, pair_target, pair_source]
        state = num_types + before[:, pair_target] + got - 1
        graph = torch.arange(len(batch), device=device)[:, None]
        return cls(
            membership=rows & (position >= source[..., None]) & used[..., None],
            slot_types=batch.types.gather(1, target),
            pair_source=graph * nodes + pair_source,
            pair_state=torch.where(got > 0, state, batch.types[:, pair_target]),
            edge=into[:, pair_target, pair_source],
            counts=pair_target < batch.num_nodes[:, None],
        )
