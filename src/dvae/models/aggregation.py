"""The aggregation function A of the paper: sums of messages over predecessors, gated in the paper.

An aggregation knows how a node's state becomes a message and how messages travel through a batch. `propagate` gives
all node states; `message` the messages of single nodes while a decoder is still building.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import aligned_parameter, uniform
from dvae.models.kernels.gates import gated
from dvae.models.kernels.gru import GruUpdate, rows_of
from dvae.models.kernels.levels import Levels, level_sweep
from dvae.models.kernels.precision import linear
from dvae.models.kernels.rounds import gated_rounds
from dvae.models.kernels.shares import Share, common_computations, family_signature, share_equal
from dvae.models.kernels.sweep import sweep
from dvae.models.parts import NodeStates, Plan
from dvae.models.settings import NoSettings

SWEEP_NODES = {"cpu": 16, "cuda": 64}  # larger graphs are cheaper level by level than position by position


class SumAggregation(nn.Module):
    """h_v^in = sum over u -> v of message(u) (eq. 2). A subclass gives `message`; the rest follows, by autograd.

    `message` has to treat every row alone, and to give vectors of the states' width (`kernels.aligned`).
    """

    depends_on_types_only = False
    static_shapes = False

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        """The messages of nodes at `position`."""  # row, row hidden -> row hidden
        raise NotImplementedError

    def propagate(
        self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        """The states of all nodes in one sweep along the edges (eq. 1 to 4)."""
        table = update.table()
        edges = batch.adjacency.to(table.dtype)
        nothing = update.bias_hh.new_zeros(len(batch), update.weight_hh.shape[1])
        states: list[Tensor] = []
        messages: list[Tensor] = []
        for node in range(batch.max_nodes):
            incoming = nothing if first is None else first
            if node > 0:
                incoming = (edges[:, None, :node, node] @ torch.stack(messages, 1)).squeeze(1)
            types = batch.types[:, node]
            states.append(update(types, incoming, table))
            messages.append(self.message(types, states[-1], batch.max_nodes - 1 - node if reverse else node))
        return NodeStates(torch.stack(states, 1), torch.stack(messages, 1))

    def propagate_both(
        self, update: GruUpdate, backward: Self, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        """One sweep along the edges and one against them."""
        ahead = self.propagate(update, batch)
        return ahead, backward.propagate(backward_update, reversed_batch(batch), reverse=True)

    def propagate_in_rounds(
        self, update: GruUpdate, batch: DagBatch, rounds: int, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        """The states after `rounds` of messages, all nodes at once."""
        table = update.table()
        edges = batch.adjacency.mT.to(table.dtype)  # batch target source
        positions = range(batch.max_nodes - 1, -1, -1) if reverse else range(batch.max_nodes)
        states = rows_of(update.without_message(table), batch.types)  # batch node hidden
        if first is not None:
            states = torch.cat([update(batch.types[:, 0], first, table)[:, None], states[:, 1:]], 1)
        messages = states
        for _ in range(rounds):
            rows = zip(batch.types.unbind(1), states.unbind(1), positions, strict=True)
            messages = torch.stack([self.message(*row) for row in rows], 1)
            incoming = edges @ messages
            if first is not None:
                incoming = torch.cat([first[:, None], incoming[:, 1:]], 1)
            states = update(batch.types.flatten(), incoming.flatten(0, 1), table).unflatten(0, batch.types.shape)
        return NodeStates(states, messages)


def reversed_batch(batch: DagBatch) -> DagBatch:
    """All edges turned around and the positions with them; padding, which has no edges, comes first."""
    return DagBatch(batch.types.flip(1), batch.adjacency.flip(1, 2).mT, batch.num_nodes)


class GatedSum(SumAggregation):
    """h_v^in = sum over u -> v of g(h_u) * m(h_u) (eq. 3); with `max_nodes`, of (h_u, position of u) (eq. 6).

    Gate and map are one product: rows 0..hidden-1 of `weight` are the gate's, the others the map's.
    """

    reference = "Zhang et al., NeurIPS 2019, eq. 3"
    static_shapes = True
    position: nn.Parameter | None

    def __init__(self, hidden: int, max_nodes: int | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden + (max_nodes or 0))
        self.weight = aligned_parameter(uniform(2 * hidden, hidden, bound=bound), 2, 1)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)
        self.position = None
        if max_nodes is not None:
            self.position = aligned_parameter(uniform(2 * hidden, max_nodes, bound=bound), 2)

    @classmethod
    def build(cls, plan: Plan, settings: NoSettings) -> GatedSum:
        return cls(plan.hidden)

    def position_bias(self, nodes: int, reverse: bool = False) -> Tensor:
        """What is added to the product at every position; for a reverse sweep, last position first."""
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        if self.position is None:
            return bias.expand(nodes, -1)
        columns = self.position[:, :nodes]
        return (columns.flip(1) if reverse else columns).T + bias

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        bias = self.position_bias(position + 1)[position]
        return gated(linear(states, self.weight), bias)[0]

    def propagate(
        self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        return sweep_directions([self], [update], [batch], first, [reverse])[0]

    def propagate_both(
        self, update: GruUpdate, backward: Self, backward_update: GruUpdate, batch: DagBatch
    ) -> tuple[NodeStates, NodeStates]:
        batches = [batch, reversed_batch(batch)]
        ahead, back = sweep_directions([self, backward], [update, backward_update], batches, None, [False, True])
        return ahead, back

    def propagate_in_rounds(
        self, update: GruUpdate, batch: DagBatch, rounds: int, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        bias = self.position_bias(batch.max_nodes, reverse)  # node 2*hidden
        with_position = self.position is not None
        return NodeStates(*gated_rounds(self.weight, bias, update, batch, first, rounds, with_position=with_position))


class GatedSumWithPosition(GatedSum):
    """h_v^in = sum over u -> v of g(h_u, position of u) * m(h_u, position of u) (eq. 6)."""

    reference = "Zhang et al., NeurIPS 2019, eq. 6"

    @classmethod
    def build(cls, plan: Plan, settings: NoSettings) -> GatedSum:
        return cls(plan.hidden, plan.max_nodes)


def sweep_directions(
    aggregations: Sequence[GatedSum],
    updates: Sequence[GruUpdate],
    batches: Sequence[DagBatch],
    first: Tensor | None,
    reverse: Sequence[bool],
) -> list[NodeStates]:
    """Independent sweeps. On a GPU they share their products, on a CPU equal nodes do; large graphs go by levels.

    Messages are only for a decoder, which sweeps from a given `first` message.
    """
    nodes = batches[0].max_nodes
    if _by_levels(batches[0]):
        parts = zip(aggregations, updates, batches, reverse, strict=True)
        return [_level_states(part, update, batch, first, backwards) for part, update, batch, backwards in parts]
    tables = [update.table() for update in updates]
    biases = [part.position_bias(nodes, backwards) for part, backwards in zip(aggregations, reverse, strict=True)]
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


def _by_levels(batch: DagBatch) -> bool:
    """Not while a GPU trains: levels are as many as the data have, and a step that is recorded has static shapes."""
    if batch.device.type == "cuda" and torch.is_grad_enabled():
        return False
    return batch.max_nodes > SWEEP_NODES.get(batch.device.type, batch.max_nodes)


def _level_states(
    part: GatedSum, update: GruUpdate, batch: DagBatch, first: Tensor | None, reverse: bool
) -> NodeStates:
    levels, bias = Levels.of(batch, reverse), part.position_bias(batch.max_nodes, reverse)
    weights = update.table(), update.weight_hh, update.bias_hh, part.weight, bias
    return NodeStates(*level_sweep(levels, batch.types, first, *weights))


class GatedSumOfTypes(SumAggregation):
    """h_v^in = sum over u -> v of g(x_u) * m(x_u) (eq. 7): a node is separated from its grandparents.

    No node waits for another, so all states come from one parallel step.
    """

    reference = "Zhang et al., NeurIPS 2019, eq. 7"
    depends_on_types_only = True
    static_shapes = True

    def __init__(self, features: NodeFeatures, hidden: int) -> None:
        super().__init__()
        self.features = features
        bound = 1 / math.sqrt(features.width)
        self.weight = aligned_parameter(uniform(2 * hidden, features.width, bound=bound), 2)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)

    @classmethod
    def build(cls, plan: Plan, settings: NoSettings) -> GatedSumOfTypes:
        return cls(plan.features, plan.hidden)

    def table(self) -> Tensor:
        """The message of every type."""  # type hidden
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        gate, mapped = self.features.linear(self.weight, bias).chunk(2, -1)
        return torch.sigmoid(gate) * mapped

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        return rows_of(self.table(), types)

    def propagate(
        self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
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

    def propagate_in_rounds(
        self, update: GruUpdate, batch: DagBatch, rounds: int, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        """Messages of types alone are the same in all rounds: one round is a sweep."""
        return self.propagate(update, batch, first)
