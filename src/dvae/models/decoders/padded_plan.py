"""What teacher forcing has to compute, in shapes that depend on sizes alone: for large graphs on a GPU.

As `plan.CompactPlan`, a state for each edge into a node and one for each type. States have slots, as many for every
graph of a batch as its fullest graph has edges; slots that are not needed hold states that nobody asks for. So a step
can be captured once for all graphs of a size class.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.edge_room import edges_in_slots, known_room


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
        target, source = edges_in_slots(into, room)
        rows = into.gather(1, target[:, :, None].expand(-1, -1, nodes))
        received = into.flip(2).cumsum(2).flip(2) - into.long()  # of the predecessors above each source
        degrees = into.sum(2)
        used = slots < degrees.sum(1, keepdim=True)
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
