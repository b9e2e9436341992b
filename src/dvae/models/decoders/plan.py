"""What teacher forcing has to compute, worked out from the graphs alone.

Before the edge (j, i) is decided, node i has received the messages of its predecessors u > j. That sum changes only
where there is an edge, so a node with p predecessors passes through p + 1 states: one that depends on its type alone,
p - 1 in between, and its final one, which message passing gives anyway. A plan lists the states in between, and says
for every decision which state it looks at.

- `compact_plan` lists each distinct state once: no wasted operation, shapes that depend on the data.
- `dense_plan` lists one state a decision: shapes that depend on the sizes alone, as a captured CUDA graph needs.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.dag import DagBatch


@dataclass(frozen=True)
class EdgePlan:
    """Decisions are pairs (source j, target i), j < i. States are numbered: types, in between, final."""

    membership: Tensor  # batch row node, bool: whose messages each state in between has received
    row_types: Tensor  # batch row: the type of the node the state belongs to
    kept: Tensor | None  # state: index into batch*row; None keeps all rows
    finals: Tensor | None  # state: index into batch*node of final states that decisions look at
    pair_graph: Tensor | None  # pair; None if pairs are (batch, pair) in order
    pair_source: Tensor  # pair: index into batch*node
    pair_state: Tensor  # pair: number of the state
    pair_edge: Tensor  # pair, bool: the truth
    pair_counts: Tensor | None  # pair, bool: whether a pair is a decision of its graph; None means all


def compact_plan(batch: DagBatch, num_types: int) -> EdgePlan:
    """Each distinct state once."""
    nodes, device = batch.max_nodes, batch.device
    into = batch.adjacency.mT  # batch target source
    position = torch.arange(nodes, device=device)
    # The smallest predecessor above j decides which state the pair (j, i) looks at.
    above = torch.where(into, position, nodes)
    above = above.flip(2).cummin(2).values.flip(2)  # smallest predecessor >= j
    smallest = above[:, :, 0]  # batch target
    above = torch.cat([above[:, :, 1:], torch.full_like(above[:, :, :1], nodes)], 2)  # ... > j

    between = into & (position != smallest[:, :, None])  # state after receiving u, more to come
    per_graph = between.sum((1, 2))
    rows = max(int(per_graph.max()), 1) if len(batch) else 1
    graph, target, source = between.nonzero(as_tuple=True)
    offset = torch.cumsum(per_graph, 0) - per_graph
    number = torch.arange(len(graph), device=device)
    row = number - offset[graph]
    membership = torch.zeros(len(batch), rows, nodes, dtype=torch.bool, device=device)
    membership[graph, row] = into[graph, target] & (position >= source[:, None])
    row_types = torch.zeros(len(batch), rows, dtype=torch.int64, device=device)
    row_types[graph, row] = batch.types[graph, target]
    state_between = torch.zeros(len(batch), nodes, nodes, dtype=torch.int64, device=device)
    state_between[graph, target, source] = num_types + number

    needed = (smallest > 0) & (smallest < nodes)
    finals = needed.flatten().nonzero().squeeze(1)
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
    state = torch.where(last == nodes, batch.types.flatten()[flat_target], state)
    return EdgePlan(
        membership=membership,
        row_types=row_types,
        kept=graph * rows + row,
        finals=finals,
        pair_graph=pair_graph,
        pair_source=pair_graph * nodes + pair_source,
        pair_state=state,
        pair_edge=into[pair_graph, pair_target, pair_source],
        pair_counts=None,
    )


def dense_plan(batch: DagBatch, num_types: int) -> EdgePlan:
    """One state for every pair (j, i) with j < i - 1; for j = i - 1 nothing has been received yet."""
    size, nodes, device = len(batch), batch.max_nodes, batch.device
    pairs = torch.tril_indices(nodes, nodes, -1, device=device)
    target, source = pairs  # pair
    later = source < target - 1
    rows = torch.tril_indices(nodes, nodes, -2, device=device)  # row
    row_target, row_source = rows
    number = torch.cumsum(later, 0) - 1
    position = torch.arange(nodes, device=device)
    membership = batch.adjacency.mT[:, row_target] & (position > row_source[:, None])
    graph = torch.arange(size, device=device)[:, None]
    state = torch.where(later, num_types + graph * rows.shape[1] + number, batch.types[:, target])
    return EdgePlan(
        membership=membership,
        row_types=batch.types[:, row_target],
        kept=None,
        finals=None,
        pair_graph=None,
        pair_source=(graph * nodes + source).flatten(),
        pair_state=state.flatten(),
        pair_edge=batch.adjacency[:, source, target].flatten(),
        pair_counts=(target < batch.num_nodes[:, None]).flatten(),
    )
