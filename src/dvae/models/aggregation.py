"""The aggregation function A of the paper: gated sums over predecessors.

An aggregation knows how a node's state becomes a message and how messages travel through a batch. `propagate` gives
all node states; `message` the messages of single nodes while a decoder is still building.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import aligned_parameter, uniform
from dvae.models.kernels.gru import GruUpdate, rows_of
from dvae.models.kernels.precision import linear
from dvae.models.kernels.sweep import Share, common_computations, family_signature, gated, share_equal, sweep

AggregationName = Literal["gated-sum", "gated-sum-position", "gated-sum-types"]


class NodeStates(NamedTuple):
    """What message passing leaves at every node."""

    states: Tensor  # batch node hidden
    messages: Tensor | None = None  # batch node hidden; the end node's is zero


class GatedSum(nn.Module):
    """h_v^in = sum over u -> v of g(h_u) * m(h_u) (eq. 3); with `max_nodes`, of (h_u, position of u) (eq. 6).

    Gate and map are one product: rows 0..hidden-1 of `weight` are the gate's, the others the map's.
    """

    depends_on_types_only = False
    position: nn.Parameter | None

    def __init__(self, hidden: int, max_nodes: int | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden + (max_nodes or 0))
        self.weight = aligned_parameter(uniform(2 * hidden, hidden, bound=bound), 2, 1)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)
        self.position = None
        if max_nodes is not None:
            self.position = aligned_parameter(uniform(2 * hidden, max_nodes, bound=bound), 2)

    def position_bias(self, nodes: int, reverse: bool = False) -> Tensor:
        """What is added to the product at every position; for a reverse sweep, last position first."""
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        if self.position is None:
            return bias.expand(nodes, -1)
        columns = self.position[:, :nodes]
        return (columns.flip(1) if reverse else columns).T + bias

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        """The messages of nodes at `position`."""  # row, row hidden -> row hidden
        bias = self.position_bias(position + 1)[position]
        return gated(linear(states, self.weight), bias)[0]

    def propagate(self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None) -> NodeStates:
        """One sweep along the edges; `first` is the incoming message of the start node."""
        return sweep_directions([self], [update], [batch], first)[0]

    def propagate_both(
        self, update: GruUpdate, backward: Aggregation, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        """A sweep along the edges and, by the other two parts, one against them (positions reversed)."""
        assert isinstance(backward, GatedSum)
        ahead, back = sweep_directions([self, backward], [update, backward_update], [batch, reversed_batch(batch)])
        return ahead, back


def reversed_batch(batch: DagBatch) -> DagBatch:
    """All edges turned around and the positions with them; padding, which has no edges, comes first."""
    return DagBatch(batch.types.flip(1), batch.adjacency.flip(1, 2).mT, batch.num_nodes)


def sweep_directions(
    aggregations: Sequence[GatedSum],
    updates: Sequence[GruUpdate],
    batches: Sequence[DagBatch],
    first: Tensor | None = None,
) -> list[NodeStates]:
    """Independent sweeps (the second reversed). On a GPU they share their products, on a CPU equal nodes do.

    Messages are only for a decoder, which sweeps from a given `first` message.
    """
    tables = [update.table() for update in updates]
    nodes = batches[0].max_nodes
    biases = [part.position_bias(nodes, reverse=which > 0) for which, part in enumerate(aggregations)]
    arguments = [
        (
            batch.types[None],
            batch.adjacency[None].to(table.dtype),
            None if first is None else first[None],
            table[None],
            update.weight_hh[None],
            update.bias_hh[None],
            part.weight[None],
            bias[None],
        )
        for part, update, batch, table, bias in zip(aggregations, updates, batches, tables, biases, strict=True)
    ]
    if batches[0].device.type == "cuda" and len(arguments) > 1:
        joined = [None if column[0] is None else torch.cat(column) for column in zip(*arguments, strict=True)]
        states, _ = sweep(*joined, wants_messages=False)  # type: ignore[arg-type]
        return [NodeStates(states[d]) for d in range(len(arguments))]
    results = []
    for part, batch, columns in zip(aggregations, batches, arguments, strict=True):
        shares: list[Share] | None = None
        if first is None and batch.device.type == "cpu":
            shares = common_computations(batch, with_position=part.position is not None)
        states, messages = sweep(*columns, shares=shares, wants_messages=first is not None)
        results.append(NodeStates(states[0], None if messages is None else messages[0]))
    return results


class GatedSumOfTypes(nn.Module):
    """h_v^in = sum over u -> v of g(x_u) * m(x_u) (eq. 7): a node is separated from its grandparents.

    No node waits for another, so all states come from one parallel step.
    """

    depends_on_types_only = True

    def __init__(self, features: NodeFeatures, hidden: int) -> None:
        super().__init__()
        self.features = features
        bound = 1 / math.sqrt(features.width)
        self.weight = aligned_parameter(uniform(2 * hidden, features.width, bound=bound), 2)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)

    def table(self) -> Tensor:
        """The message of every type."""  # type hidden
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        gate, mapped = self.features.linear(self.weight, bias).chunk(2, -1)
        return torch.sigmoid(gate) * mapped

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        return rows_of(self.table(), types)

    def propagate(self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None) -> NodeStates:
        messages = rows_of(self.table(), batch.types)  # batch node hidden
        incoming = batch.adjacency.to(messages.dtype).mT @ messages
        types = batch.types.flatten()
        if batch.device.type == "cpu":
            share = share_equal(family_signature(batch.types, batch.adjacency.mT, batch.types).flatten())
            states = update(types[share.representative], incoming.flatten(0, 1)[share.representative])[share.member]
        else:
            states = update(types, incoming.flatten(0, 1))
        states = states.unflatten(0, batch.types.shape)
        if first is not None:
            states = torch.cat([update(batch.types[:, 0], first)[:, None], states[:, 1:]], 1)
        return NodeStates(states, messages)

    def propagate_both(
        self, update: GruUpdate, backward: Aggregation, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        return self.propagate(update, batch), backward.propagate(backward_update, reversed_batch(batch))


Aggregation = GatedSum | GatedSumOfTypes


def build_aggregation(
    name: AggregationName, features: NodeFeatures, hidden: int, max_nodes: int
) -> GatedSum | GatedSumOfTypes:
    if name == "gated-sum-types":
        return GatedSumOfTypes(features, hidden)
    return GatedSum(hidden, max_nodes if name == "gated-sum-position" else None)
