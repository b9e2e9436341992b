"""Slots for the edges of graphs, against a loop over them."""

from __future__ import annotations

import pytest
import torch

from dvae.models.decoders.edge_room import edges_in_slots, known_room, room_for_edges


@pytest.mark.parametrize("spare", [0, 3])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_edges_stand_by_target_and_the_last_source_first(share: float, spare: int) -> None:
    chance = torch.Generator().manual_seed(0)
    adjacency = (torch.rand(5, 7, 7, generator=chance) < share).triu(1)
    room = int(adjacency.flatten(1).sum(1).max()) + spare
    targets, sources = edges_in_slots(adjacency.mT, room)
    assert targets.shape == sources.shape == (5, room)
    for graph, edges in enumerate(adjacency):
        wanted = [(v, u) for v in range(7) for u in reversed(range(v)) if edges[u, v]]
        found = zip(targets[graph].tolist(), sources[graph].tolist(), strict=True)
        assert list(found)[: len(wanted)] == wanted


def test_the_room_is_known_where_it_was_said() -> None:
    with room_for_edges(5):
        assert known_room() == 5
        with room_for_edges(None):
            assert known_room() is None
        assert known_room() == 5
    assert known_room() is None
