"""The edge network on rectangles of states and sources: what their decisions cost, and the gradients of that.

The score of a pair is w . relu(source + target). With n = -target it is w . max(source, n) + w . target, so that a
rectangle takes one pass to form and one to sum up. The backward pass forms [source > n], weighs it with the gradients
of the scores and sums over sources and over states; all three gradients follow from these sums. Nothing that is as
wide as the network is kept: its memory is one rectangle's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from dvae.models.decoders.intervals import Rectangles


class _RectangleNll(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, plan: Rectangles, sources: Tensor, targets: Tensor, weight: Tensor, bias: Tensor
    ) -> Tensor:  # fmt: skip
        own = targets @ weight + bias
        scores = sources.new_empty(sum(plan.areas))
        for (low, high, width), below, mine, found in _parts(plan, -targets, own[:, None], scores):
            wide = torch.maximum(sources[low : low + width], below)
            torch.mv(wide.view(high * width, -1), weight, out=found)
            found.view(high, width).add_(mine)
        scores.index_fill_(0, plan.outside, -torch.inf)  # a certain no costs nothing
        costs = functional.logsigmoid(-scores).neg_()
        nll = torch.stack([part.sum() for part in costs.split(plan.areas)])
        nll.index_add_(0, plan.edge_graph, scores[plan.edges], alpha=-1)
        slopes = scores.sigmoid_()
        slopes[plan.edges] -= 1
        ctx.plan = plan
        ctx.save_for_backward(sources, targets, weight, slopes)
        return nll

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        sources, targets, weight, saved = ctx.saved_tensors
        plan: Rectangles = ctx.plan
        slopes = torch.cat([part * factor for part, factor in zip(saved.split(plan.areas), grad, strict=True)])
        by_source, by_target = torch.zeros_like(sources), torch.empty_like(targets)
        for (low, high, width), below, total, found in _parts(plan, -targets, by_target, slopes):
            some = sources[low : low + width]
            wide = torch.gt(some, below, out=some.new_empty(high, width, some.shape[1]))
            wide.mul_(found.view(high, width, 1))
            by_source[low : low + width].add_(wide[0] if high == 1 else wide.sum(0))
            torch.sum(wide, 1, out=total)
        weight_grad = (sources * by_source).sum(0) + (targets * by_target).sum(0)
        return None, by_source.mul_(weight), by_target.mul_(weight), weight_grad, slopes.sum()[None]


def _parts(plan: Rectangles, targets: Tensor, by_row: Tensor, by_entry: Tensor) -> Iterator[tuple[Any, ...]]:
    """Each rectangle with what belongs to its rows (`targets` get an axis for sources) and to its entries."""
    shapes = list(zip(plan.lows, plan.heights, plan.widths, strict=True))
    areas = [height * width for _, height, width in shapes]
    rows = targets[:, None].split(plan.heights), by_row.split(plan.heights)
    return zip(shapes, *rows, by_entry.split(areas), strict=True)


def rectangle_nll(plan: Rectangles, sources: Tensor, targets: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """-log p of all decisions in rectangles, summed for every graph.

    `sources`: batch*node width; `targets`: row width, one for each of `plan.states`.
    """  # batch
    nll: Tensor = _RectangleNll.apply(plan, sources, targets, weight, bias)
    return nll
