"""What teacher forcing has to compute, worked out from the graphs alone.

Before the edge (j, i) is decided, node i has received the messages of its predecessors u > j. That sum changes only
where there is an edge, so a node with p predecessors passes through p + 1 states: one that depends on its type alone,
p - 1 in between, and its final one, which message passing gives anyway.

- `CompactPlan` lists each distinct state once: no wasted operation, shapes that depend on the data.
- `DensePlan` lists one state per decision: shapes that depend on the sizes alone, as a captured CUDA graph needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch


@dataclass(frozen=True)
class CompactPlan:
    """Decisions are pairs (source j, target i), j < i. States are numbered: types, in between, final."""

    membership: Tensor  # batch row node, bool: whose messages each state in between has received
    row_types: Tensor  # batch row: the type of the node the state belongs to
    kept: Tensor  # state: index into batch*row
    finals: Tensor  # state: index into batch*node of final states that decisions look at
    pair_graph: Tensor  # pair
    pair_source: Tensor  # pair: index into batch*node
    pair_state: Tensor  # pair: number of the state
    pair_edge: Tensor  # pair, bool: the truth

    @classmethod
    def of(cls, batch: DagBatch, num_types: int) -> CompactPlan:
        nodes, device = batch.max_nodes, batch.device
        into = batch.adjacency.mT  # batch target source
        position = torch.arange(nodes, device=device)
        # The smallest predecessor above j decides which state the pair (j, i) looks at.
        at_least = torch.where(into, position, nodes).flip(2).cummin(2).values.flip(2)
        smallest = at_least[:, :, 0]  # batch target
        above = torch.cat([at_least[:, :, 1:], torch.full_like(at_least[:, :, :1], nodes)], 2)

        between = into & (position != smallest[:, :, None])  # after receiving u, more to come
        per_graph = between.sum((1, 2))
        rows = max(int(per_graph.max()), 1)
        graph, target, source = between.nonzero(as_tuple=True)
        number = torch.arange(len(graph), device=device)
        row = number - (torch.cumsum(per_graph, 0) - per_graph)[graph]
        membership = torch.zeros(len(batch), rows, nodes, dtype=torch.bool, device=device)
        membership[graph, row] = into[graph, target] & (position >= source[:, None])
        row_types = torch.zeros(len(batch), rows, dtype=torch.int64, device=device)
        row_types[graph, row] = batch.types[graph, target]
        state_between = torch.zeros(len(batch), nodes, nodes, dtype=torch.int64, device=device)
        state_between[graph, target, source] = num_types + number

        finals = ((smallest > 0) & (smallest < nodes)).flatten().nonzero().squeeze(1)
        state_final = torch.zeros(len(batch) * nodes, dtype=torch.int64, device=device)
        state_final[finals] = num_types + len(graph) + torch.arange(len(finals), device=device)

        decisions = (position < position[:, None]) & batch.node_mask()[:, :, None]  # batch target source
        pair_graph, pair_target, pair_source = decisions.nonzero(as_tuple=True)
        last = above[pair_graph, pair_target, pair_source]
        flat_target = pair_graph * nodes + pair_target
        state = torch.where(
            last == smallest.flatten()[flat_target],
            state_final[flat_target],
            state_between[pair_graph, pair_target, last.clamp(max=nodes - 1)],
        )
        return cls(
            membership=membership,
            row_types=row_types,
            kept=graph * rows + row,
            finals=finals,
            pair_graph=pair_graph,
            pair_source=pair_graph * nodes + pair_source,
            pair_state=torch.where(last == nodes, batch.types.flatten()[flat_target], state),
            pair_edge=into[pair_graph, pair_target, pair_source],
        )


@dataclass(frozen=True)
class DensePlan:
    """Pairs (i - 1, i) look at the state of a type alone; every other pair has a row of its own."""

    membership: Tensor  # batch row node, bool
    row_types: Tensor  # batch row
    row_source: Tensor  # row
    edge: Tensor  # batch pair, bool: the truth, (i - 1, i) first
    counts: Tensor  # batch pair, bool: whether a pair is a decision of its graph

    @classmethod
    def of(cls, batch: DagBatch) -> DensePlan:
        nodes, device = batch.max_nodes, batch.device
        row_target, row_source = torch.tril_indices(nodes, nodes, -2, device=device)
        position = torch.arange(nodes, device=device)
        near = batch.adjacency.diagonal(offset=1, dim1=1, dim2=2)
        targets = torch.cat([position[1:], row_target])
        return cls(
            membership=batch.adjacency.mT[:, row_target] & (position > row_source[:, None]),
            row_types=batch.types[:, row_target],
            row_source=row_source,
            edge=torch.cat([near, batch.adjacency[:, row_source, row_target]], 1),
            counts=targets < batch.num_nodes[:, None],
        )
