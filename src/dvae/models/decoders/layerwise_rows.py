"""The decisions about edges of the layerwise decoder, listed for teacher forcing.

For a node with m predecessors there are m + 1 rows: after k = 0 .. m of them have been chosen, is there one more
(`asks`, `goes_on`), and which (`points`, `source`)?
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch


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
        graphs, nodes = batch.types.shape
        place = torch.arange(nodes, device=batch.device)
        last = batch.num_nodes[:, None] - 1
        targets = (place >= 1) & (place <= last if end_chooses else place < last)
        ends = place == last
        used = (adjacency & ~ends[:, None, :]).any(2)  # by a node before the end
        free = adjacency & targets[:, None, :] & (used[:, :, None] | ~ends[:, None, :])
        number = free.sum(1)  # batch target
        repeats = torch.where(targets, number + 1, 0)
        graph, target, count = _listed(repeats)
        row = torch.arange(len(graph), device=batch.device) - _before(graph, graphs)[graph]
        backwards = free.mT.flip(2).nonzero()  # by graph, target and falling source
        sources = nodes - 1 - backwards[:, 2]
        first = number.flatten().cumsum(0) - number.flatten()  # of each target, among the sources
        at = first[graph * nodes + target] + count
        points = count < number[graph, target]
        source = torch.where(points, _at(sources, at), 0)
        newest = torch.where(count > 0, _at(sources, at - 1), nodes)  # chosen last
        is_end = ends[graph, target]
        opens = starts[graph, target] == target
        start = starts[graph, target - 1]
        begins = (count == 0) & ~is_end
        low = torch.where(begins & opens, start, 0)
        high = torch.where(begins & ~opens, start, torch.minimum(newest, target))
        candidates = (place >= low[:, None]) & (place < high[:, None]) & (used[graph] | ~is_end[:, None])
        asks = torch.where(is_end, candidates.any(1), (count > 0) & (newest > 0))
        chosen = free.mT[graph, target] & (place >= newest[:, None])

        width = int(repeats.sum(1).amax())

        def padded(values: Tensor, filler: int) -> Tensor:
            made = values.new_full((graphs, width, *values.shape[1:]), filler)
            made[graph, row] = values
            return made

        return cls(
            padded(target, 1),
            padded(count, 0),
            padded(source, 0),
            padded(asks, 0),
            padded(points, 0),
            padded(points, 0),
            padded(chosen, 0),
            padded(candidates | ~points[:, None], 1),
        )


def _listed(repeats: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every (graph, node) as often as `repeats` says, with the numbers 0, 1, .. of its repeats."""
    graphs, nodes = repeats.shape
    flat = repeats.flatten()
    cell = torch.arange(graphs * nodes, device=repeats.device).repeat_interleave(flat)
    number = torch.arange(len(cell), device=repeats.device) - (flat.cumsum(0) - flat)[cell]
    return cell // nodes, cell % nodes, number


def _before(graph: Tensor, graphs: int) -> Tensor:
    """How many rows come before those of each graph."""
    counts = torch.bincount(graph, minlength=graphs)
    return counts.cumsum(0) - counts


def _at(values: Tensor, index: Tensor) -> Tensor:
    """The values at `index`, anything where there are none."""
    if not len(values):
        return torch.zeros_like(index)
    return values[index.clamp(0, len(values) - 1)]
