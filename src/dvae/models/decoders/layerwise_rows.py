"""The decisions about edges of the layerwise decoder, listed for teacher forcing.

For a node with m predecessors there are m + 1 rows: after k = 0 .. m of them have been chosen, is there one more
(`asks`, `goes_on`), and which (`points`, `source`)?
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.edge_room import edges_in_slots, known_room


@dataclass(frozen=True)
class EdgeRows:
    """All rows of graphs side by side, padded; those of padding ask nothing."""

    target: Tensor  # batch row: the node, at least 1
    count: Tensor  # batch row: predecessors chosen before
    source: Tensor  # batch row: the one to be chosen; 0 where none is
    asks: Tensor  # batch row, bool: whether it is decided if one more comes
    goes_on: Tensor  # batch row, bool: whether one comes
    points: Tensor  # batch row, bool: whether a predecessor is chosen
    chosen: Tensor  # batch row node, bool
    candidates: Tensor  # batch row node, bool; all of them where nothing is chosen

    @classmethod
    def of(cls, batch: DagBatch, adjacency: Tensor, starts: Tensor, *, end_chooses: bool) -> EdgeRows:
        """The rows of nodes between start and end; those of the end node where it chooses edges from used nodes."""
        nodes, device, known = batch.max_nodes, batch.device, known_room()
        place = torch.arange(nodes, device=device)
        last = batch.num_nodes[:, None] - 1
        targets = (place >= 1) & (place <= last if end_chooses else place < last)
        ends = place == last
        used = (adjacency & ~ends[:, None, :]).any(2)  # by a node before the end
        free = adjacency & targets[:, None, :] & (used[:, :, None] | ~ends[:, None, :])
        number = free.sum(1)  # batch target
        repeats = torch.where(targets, number + 1, 0)
        until = repeats.cumsum(1)
        width = int(until[:, -1].amax()) if known is None else known + nodes
        row = torch.arange(width, device=device).expand(len(batch), -1)
        there = row < until[:, -1:]
        target = torch.where(there, torch.searchsorted(until, row.contiguous(), right=True), 1)
        count = torch.where(there, row - (until - repeats).gather(1, target), 0)
        points = there & (count < number.gather(1, target))
        _, sources = edges_in_slots(free.mT, width)
        at = (number.cumsum(1) - number).gather(1, target) + count
        source = torch.where(points, sources.gather(1, at), 0)
        newest = torch.where(count > 0, sources.gather(1, at - (count > 0).long()), nodes)  # chosen last
        is_end = ends.gather(1, target)
        opens = starts.gather(1, target) == target
        start = starts.gather(1, target - 1)
        begins = (count == 0) & ~is_end
        low = torch.where(begins & opens, start, 0)
        high = torch.where(begins & ~opens, start, torch.minimum(newest, target))
        usable = used[:, None, :] | ~is_end[..., None]
        candidates = (place >= low[..., None]) & (place < high[..., None]) & usable
        asks = there & torch.where(is_end, candidates.any(2), (count > 0) & (newest > 0))
        into = free.mT.gather(1, target[..., None].expand(-1, -1, nodes))
        chosen = into & (place >= newest[..., None])
        return cls(target, count, source, asks, points, points, chosen, candidates | ~points[..., None])
