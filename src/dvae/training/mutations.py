"""Mutated copies of training DAGs: a model that sees few distinct DAGs learns from them how DAGs differ.

Half of the mutated graphs have some types replaced, half have one edge added or removed; where nodes have columns, some
values are exchanged between nodes of one type. What hangs loose afterwards is tied to the start and the end, as tasks
do. Of circuits that training has not seen, a model that was trained on 3,000 others gives back 68% without mutations
and 92% with them (docs/results/defaults.md).
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.dag.column_tensors import UNKNOWN, ColumnTensors

TYPE_SHARE = 0.15  # of the inner nodes of a graph whose types are changed
MIN_NODES = 4  # start, end and two inner nodes: fewer have no edge to change


def mutated(
    batch: DagBatch, share: float, num_types: int, generator: torch.Generator, *, virtual_start: bool
) -> DagBatch:
    """The batch with `share` of its graphs' types, and `share` of its graphs' edges, changed at random.

    Shapes do not depend on the data, so that the step can be captured on a CUDA device.
    """

    def uniform(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, device=generator.device).to(batch.device)

    count, nodes = batch.types.shape
    position = torch.arange(nodes, device=batch.device)
    last = batch.num_nodes[:, None] - 1
    inner = (position > 0) & (position < last)
    chosen = (uniform(count, 1) < share) & (uniform(count, nodes) < TYPE_SHARE) & inner
    drawn = (2 + uniform(count, nodes) * (num_types - 2)).long().clamp(max=num_types - 1)
    types = torch.where(chosen, drawn, batch.types)
    target = 1 + (uniform(count) * (batch.num_nodes - 2)).long().minimum(batch.num_nodes - 3)
    source = (uniform(count) * target).long().minimum(target - 1)
    change = (uniform(count) < share) & (batch.num_nodes >= MIN_NODES)
    flip = (position[:, None] == source[:, None, None]) & (position == target[:, None, None])
    edges = _tied(batch.adjacency ^ flip, inner, position == last, virtual_start)
    adjacency = torch.where(change[:, None, None], edges, batch.adjacency)
    columns = batch.columns
    if columns is not None:
        width = columns.node_codes.shape[2]
        changed = (uniform(count, 1, 1) < share) & (uniform(count, nodes, width) < TYPE_SHARE) & inner[..., None]
        columns = _exchanged(columns, batch.types, changed, uniform(2, count * nodes))
        same = (types == batch.types)[..., None]  # nothing is known of the columns of a node that has another type now
        columns = replace(columns, node_codes=torch.where(same, columns.node_codes, UNKNOWN))
    after = DagBatch(types, adjacency, batch.num_nodes, columns)
    if batch.properties is None:
        return after
    known = unchanged(batch, after)
    if columns is not None:
        known &= ~changed.flatten(1).any(1)  # even where a value came that was there before
    return replace(after, properties=torch.where(known[:, None], batch.properties, torch.nan))


def unchanged(before: DagBatch, after: DagBatch) -> Tensor:
    """Which graphs are as they were; what was known of a graph is not known of another."""  # batch
    same = (after.types == before.types).all(1) & (after.adjacency == before.adjacency).flatten(1).all(1)
    if before.columns is None or after.columns is None:
        return same
    old, new = before.columns, after.columns
    both_missing = old.node_numbers.isnan() & new.node_numbers.isnan()
    values = (new.node_codes == old.node_codes) & ((new.node_numbers == old.node_numbers) | both_missing)
    return same & values.flatten(1).all(1)


def _exchanged(columns: ColumnTensors, types: Tensor, changed: Tensor, keys: Tensor) -> ColumnTensors:
    """The values that `changed` marks come from other nodes of the same type, somewhere in the batch."""
    one, other = (types.flatten() + keys.to(torch.float64)).argsort(1)  # nodes by type, in two random orders
    donor = torch.empty_like(one).scatter_(0, one, other)
    codes, numbers = (
        torch.where(changed, values.flatten(0, 1)[donor].view_as(values), values)
        for values in (columns.node_codes, columns.node_numbers)
    )
    return replace(columns, node_codes=codes, node_numbers=numbers)


def _tied(edges: Tensor, inner: Tensor, end: Tensor, virtual_start: bool) -> Tensor:
    """Nodes without predecessors are fed by the start, those without successors feed the end."""
    fed = edges[:, 1:].any(1)
    start = inner & ~fed
    if not virtual_start:
        start = start | (edges[:, 0] & inner)
    edges = torch.cat([start[:, None], edges[:, 1:]], 1) & ~end[:, None, :]
    before_end = ~end & (torch.cumsum(end, 1) == 0)
    loose = ~edges.any(2) & before_end
    return edges | (loose[:, :, None] & end[:, None, :])
