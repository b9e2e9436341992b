"""Room for the edges of a batch of graphs: as many slots for every graph, so that shapes depend on sizes alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

import torch
from torch import Tensor

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


def edges_in_slots(into: Tensor, room: int) -> tuple[Tensor, Tensor]:
    """The targets and the sources of the edges of each graph, by target and, for each, the last source first.

    `into` is batch target source; both results are batch slot, with `room` slots. What slots without an edge hold
    means nothing.
    """
    nodes = into.shape[2]
    backwards = into.flip(2).flatten(1)
    # Pairs without an edge share a slot after the last one, which is dropped.
    slot = torch.where(backwards, backwards.cumsum(1) - 1, room).clamp(max=room)
    cell = torch.arange(nodes * nodes, device=into.device).expand_as(slot)
    found = torch.zeros(len(into), room + 1, dtype=torch.int64, device=into.device).scatter_(1, slot, cell)[:, :room]
    return found // nodes, nodes - 1 - found % nodes
