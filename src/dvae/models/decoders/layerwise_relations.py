"""What relates two nodes of a graph that is being written, for the layerwise decoder.

An edge; how often the earlier node has been used so far; on which side of the newest node's last predecessor it lies;
how many layers lie between them.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.layerwise import (
    DISTANCES,
    distance_class,
    fed,
    layer_numbers,
    layer_starts,
    newest_predecessors,
)

USES = 3  # of a node so far: none, one, more
SIDES = 3  # of the newest node's last predecessor: before it, it, after it
RELATIONS = 2 * USES * SIDES * DISTANCES


class Written(NamedTuple):
    """What is known of graphs, node by node, while they are written."""

    adjacency: Tensor  # batch node node
    starts: Tensor  # batch node: the first node of each node's layer
    numbers: Tensor  # batch node: the number of its layer
    relations: Tensor  # batch node node: [b, v, u] for u <= v; `RELATIONS` elsewhere

    @classmethod
    def of(cls, batch: DagBatch) -> Written:
        adjacency = fed(batch)
        newest = newest_predecessors(adjacency)
        starts = layer_starts(newest)
        numbers = layer_numbers(starts)
        uses = adjacency.long().cumsum(2).mT
        between = numbers[:, :, None] - numbers[:, None, :]
        relations = relation(adjacency.mT, uses, newest[:, :, None], between)
        later = torch.ones_like(relations[0], dtype=torch.bool).triu(1)
        return cls(adjacency, starts, numbers, relations.masked_fill(later, RELATIONS))


def relation(edge: Tensor, uses: Tensor, newest: Tensor, between: Tensor) -> Tensor:
    """The number of a relation: edge, uses so far, side of the last predecessor, layers between."""  # ... source
    place = torch.arange(edge.shape[-1], device=edge.device)
    side = (place - newest).sign() + 1
    found: Tensor = ((edge.long() * USES + uses.clamp(max=USES - 1)) * SIDES + side) * DISTANCES
    return found + distance_class(between.clamp(min=0))
