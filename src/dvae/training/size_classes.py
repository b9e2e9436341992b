"""Graphs of like size together: an epoch whose batches hold one size class each.

Where shapes must not change, as in a captured step, a graph costs as much as the largest one it is padded to. So graphs
are put into classes by their number of nodes, each class is padded to its own size, and its step is recorded once.
Every graph is still seen once in an epoch, in the order given within its class; the steps of the classes are spread
evenly over the epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.training.steps import Epoch, Sums

SIZES = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
CLASSED_ABOVE = 64  # nodes; smaller graphs are padded to the largest of all, and one step is recorded

MakeEpoch = Callable[[DagBatch, Tensor], Epoch]  # of some graphs, and which of the data they are


def size_classes(num_nodes: Tensor, max_nodes: int) -> list[tuple[int, Tensor]]:
    """The size that each class is padded to, and its graphs."""
    bounds = [size for size in SIZES if size < max_nodes] + [max_nodes]
    which = torch.bucketize(num_nodes.cpu(), torch.tensor(bounds))
    found = [(size, (which == place).nonzero().squeeze(1)) for place, size in enumerate(bounds)]
    return [(size, graphs) for size, graphs in found if len(graphs)]


def spread(counts: Sequence[int]) -> list[int]:
    """Classes in the order of their steps: each evenly over the epoch."""
    moments = [((step + 0.5) / count, number) for number, count in enumerate(counts) for step in range(count)]
    return [number for _, number in sorted(moments)]


class ClassedEpoch:
    """The steps of an epoch per class (`Epoch`), taken in turns."""

    def __init__(self, data: DagBatch, batch_size: int, make: MakeEpoch) -> None:
        classes = size_classes(data.num_nodes, data.max_nodes)
        self.epochs = [make(data.select(graphs.to(data.device)).cut(size), graphs) for size, graphs in classes]
        self.turns = spread([-(-len(graphs) // batch_size) for _, graphs in classes])
        self.class_of = torch.empty(len(data), dtype=torch.int64)
        self.place_of = torch.empty(len(data), dtype=torch.int64)
        for number, (_, graphs) in enumerate(classes):
            self.class_of[graphs] = number
            self.place_of[graphs] = torch.arange(len(graphs))

    @property
    def steps(self) -> int:
        """How many steps an epoch has."""
        return len(self.turns)

    def begin(self, order: Tensor, first_step: int = 0) -> None:
        for number, epoch in enumerate(self.epochs):
            mine = self.place_of[order[self.class_of[order] == number]]
            epoch.begin(mine, self.turns[:first_step].count(number))

    def step(self, number: int) -> None:
        chosen = self.turns[number]
        self.epochs[chosen].step(self.turns[:number].count(chosen))

    def sums(self) -> Sums:
        return Sums.total(epoch.sums() for epoch in self.epochs)
