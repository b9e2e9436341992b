"""Message passing level by level: all nodes of a batch whose predecessors are done, in one step (eq. 1 to 4).

A node's level is the length of the longest path to it, so a batch takes as many steps as its longest path has nodes,
where `sweep` takes one per position. Only nodes and edges that exist are touched: rows lie level after level, padding
has none, and what a node receives is summed over its own predecessors.

The backward pass is written out. Everything in it that does not depend on later levels is computed for all rows at
once, so that a step back is three products and four sums; weight gradients are one large product each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.kernels.gru import scatter_rows
from dvae.models.kernels.precision import operand_dtype, shortened, weight_gradient


@dataclass(frozen=True)
class Bags:
    """For every row the rows it sums over, those of a level together."""

    rows: tuple[Tensor, ...]  # per level: entry
    offsets: tuple[Tensor, ...]  # per level: where the entries of each row begin

    @classmethod
    def of(cls, own: Tensor, other: Tensor, sizes: Sequence[int]) -> Bags:
        """Edges as two lists of rows; each of `own` sums over its `other`s."""
        ends = torch.cumsum(torch.tensor([0, *sizes]), 0)
        order = own.argsort(stable=True)
        counts = own.bincount(minlength=int(ends[-1]))
        begins = counts.cumsum(0) - counts
        entries = torch.cat([begins, own.new_tensor([len(own)])])[ends.to(own.device)].tolist()
        rows = other[order].split([after - before for before, after in pairwise(entries)])
        offsets = [part - start for part, start in zip(begins.split(list(sizes)), entries, strict=False)]
        return cls(tuple(rows), tuple(offsets))

    def sums(self, values: Tensor, level: int) -> Tensor:
        """What the rows of a level sum up to; nothing is zero."""  # row width
        return torch.embedding_bag(values, self.rows[level], self.offsets[level], False, 0, False, None, False)[0]


@dataclass(frozen=True)
class Levels:
    """The nodes of a batch in the order in which states are computed."""

    order: Tensor  # row: graph*node
    sizes: tuple[int, ...]  # rows of each level
    predecessors: Bags
    successors: Bags
    starts: Tensor  # batch: the row of each graph's first node
    width: int  # nodes of a padded graph

    @classmethod
    def of(cls, batch: DagBatch, reverse: bool = False) -> Levels:
        """With `reverse`, of a reversed batch, whose padding comes first."""
        width, mask = batch.max_nodes, batch.node_mask()
        graph, source, target = batch.adjacency.nonzero(as_tuple=True)
        tail, head = graph * width + source, graph * width + target
        level = torch.tensor(_longest_paths(tail, head, mask.numel()), dtype=torch.int64, device=batch.device)
        level[~(mask.flip(1) if reverse else mask).flatten()] = -1
        order = level.argsort(stable=True)[int((level < 0).sum()) :]
        row = torch.zeros_like(level).index_copy_(0, order, torch.arange(len(order), device=batch.device))
        sizes = torch.bincount(level[order]).tolist()
        starts = row[:: batch.max_nodes] if not reverse else row.new_zeros(0)
        tail, head = row[tail], row[head]
        return cls(order, tuple(sizes), Bags.of(head, tail, sizes), Bags.of(tail, head, sizes), starts, width)


def _longest_paths(tail: Tensor, head: Tensor, count: int) -> list[int]:
    """The level of every node; edges come in an order in which those into a node precede those out of it."""
    levels = [0] * count
    for source, target in zip(tail.tolist(), head.tolist(), strict=True):
        above = levels[source] + 1
        if above > levels[target]:
            levels[target] = above
    return levels


def _add_product(total: Tensor, values: Tensor, weight: Tensor, dtype: torch.dtype | None) -> None:
    """Adds `values @ weight` to `total`, in place."""
    if dtype is None:
        total.addmm_(values, weight)
    else:
        total.add_((values.to(dtype) @ weight).to(total.dtype))


class _LevelSweep(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        levels: Levels,
        types: Tensor,  # batch node
        first: Tensor | None,  # batch hidden
        table: Tensor,  # type 3*hidden: candidate, reset, update
        weight_hh: Tensor,  # 3*hidden hidden: reset, update, candidate
        bias_hh: Tensor,  # 3*hidden
        weight_message: Tensor,  # 2*hidden hidden
        bias_message: Tensor,  # node 2*hidden
    ) -> tuple[Tensor, Tensor]:
        dtype, width = operand_dtype(), weight_hh.shape[1]
        weight_hh_t, weight_message_t = shortened(weight_hh, dtype).T, shortened(weight_message, dtype).T
        kinds = types.flatten()[levels.order]
        positions = levels.order % levels.width
        constant = torch.cat([table[:, width:] + bias_hh[: 2 * width], bias_hh[2 * width :].expand(len(table), -1)], 1)
        gates = constant.index_select(0, kinds)  # row 3*hidden: what is added to the hidden product
        candidates = table[:, :width].index_select(0, kinds)
        products = bias_message.index_select(0, positions)
        states, received = (table.new_zeros(len(kinds), width) for _ in range(2))
        messages = torch.zeros_like(states)
        if first is not None:
            received.index_copy_(0, levels.starts, first)
        sizes = list(levels.sizes)
        columns = (
            gates, gates[:, : 2 * width], *gates.split(width, 1), candidates, products, *products.split(width, 1),
            states, received, messages,
        )  # fmt: skip
        parts = zip(*(values.split(sizes) for values in columns), strict=True)
        for level, (
            gate, sigmoids, reset, update, hidden_candidate, candidate, product, opened, mapped, state, incoming,
            message,
        ) in enumerate(parts):  # fmt: skip
            if level > 0:
                incoming.copy_(levels.predecessors.sums(messages, level))
            if level > 0 or first is not None:
                _add_product(gate, incoming, weight_hh_t, dtype)
            sigmoids.sigmoid_()
            candidate.addcmul_(reset, hidden_candidate).tanh_()
            torch.lerp(candidate, incoming, update, out=state)
            _add_product(product, state, weight_message_t, dtype)
            torch.mul(opened.sigmoid_(), mapped, out=message)
        ctx.levels, ctx.dtype, ctx.num_types, ctx.num_nodes = levels, dtype, len(table), len(bias_message)
        ctx.has_first = first is not None
        ctx.save_for_backward(
            kinds, positions, gates, candidates, products, states, received, weight_hh, weight_message
        )
        shape = (*types.shape, width)
        padded = (
            table.new_zeros(types.numel(), width).index_copy_(0, levels.order, rows) for rows in (states, messages)
        )
        all_states, all_messages = (rows.view(shape) for rows in padded)
        return all_states, all_messages

    @staticmethod
    def backward(ctx: Any, states_grad: Tensor, messages_grad: Tensor) -> tuple[Tensor | None, ...]:
        kinds, positions, gates, candidates, products, states, received, weight_hh, weight_message = ctx.saved_tensors
        levels, dtype, width = ctx.levels, ctx.dtype, weight_hh.shape[1]
        weight_hh_short, weight_message_short = shortened(weight_hh, dtype), shortened(weight_message, dtype)
        to_states = states_grad.reshape(-1, width).index_select(0, levels.order)
        to_messages = messages_grad.reshape(-1, width).index_select(0, levels.order)
        reset, update, hidden_candidate = gates.split(width, 1)
        gate, mapped = products.split(width, 1)
        slope = mapped * (1 - gate)
        # What the gradient of a state is multiplied by: candidate, reset, update, hidden part of the candidate.
        factors = states.new_empty(len(states), 4, width)
        torch.mul(1 - update, 1 - candidates * candidates, out=factors[:, 0])
        torch.mul(factors[:, 0] * hidden_candidate, reset * (1 - reset), out=factors[:, 1])
        torch.mul(received - candidates, update * (1 - update), out=factors[:, 2])
        torch.mul(factors[:, 0], reset, out=factors[:, 3])
        product_grads = torch.empty_like(products)
        gate_grads = torch.empty_like(factors)
        received_grads = torch.empty_like(states)
        sizes = list(levels.sizes)
        opened_grads, mapped_grads = product_grads.split(width, 1)
        flat_grads = gate_grads.view(len(states), -1)
        input_grads, hidden_grads = flat_grads[:, : 3 * width], flat_grads[:, width:]
        parts = (
            to_states, to_messages, update, gate, slope, factors, product_grads, opened_grads, mapped_grads, gate_grads,
            hidden_grads, received_grads,
        )  # fmt: skip
        steps = list(enumerate(zip(*(values.split(sizes) for values in parts), strict=True)))
        for level, (
            to_state, to_message, keep, opened, bend, factor, product_grad, opened_grad, mapped_grad, gate_grad,
            hidden_grad, grad,
        ) in reversed(steps):  # fmt: skip
            if level < len(sizes) - 1:
                to_message.add_(levels.successors.sums(received_grads, level))
            torch.mul(to_message, opened, out=mapped_grad)
            torch.mul(mapped_grad, bend, out=opened_grad)
            _add_product(to_state, product_grad, weight_message_short, dtype)
            torch.mul(to_state[:, None], factor, out=gate_grad)
            torch.mul(to_state, keep, out=grad)
            _add_product(grad, hidden_grad, weight_hh_short, dtype)
        bias_message_grad = product_grads.new_zeros(ctx.num_nodes, 2 * width).index_add_(0, positions, product_grads)
        return (
            None,
            None,
            received_grads.index_select(0, levels.starts) if ctx.has_first else None,
            scatter_rows(input_grads, kinds, ctx.num_types),
            weight_gradient(hidden_grads, received, dtype),
            hidden_grads.sum(0),
            weight_gradient(product_grads, states, dtype),
            bias_message_grad,
        )


def level_sweep(
    levels: Levels,
    types: Tensor,
    first: Tensor | None,
    table: Tensor,
    weight_hh: Tensor,
    bias_hh: Tensor,
    weight_message: Tensor,
    bias_message: Tensor,
) -> tuple[Tensor, Tensor]:
    """States and messages of all nodes; shapes as in `_LevelSweep.forward`. Padding has zeros."""
    states, messages = _LevelSweep.apply(
        levels, types, first, table, weight_hh, bias_hh, weight_message, bias_message
    )  # fmt: skip
    return states, messages
