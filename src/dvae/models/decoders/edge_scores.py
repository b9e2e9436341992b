"""The edge network f_add_edge on many pairs at once.

Its first layer splits into a part of the source node and a part of the target's state, each computed once where it
occurs; here the two are added, rectified and scored pair by pair: relu(source + target) @ weight. The wide
intermediate is not kept: the backward pass forms it again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dvae.models.kernels.fuse import fused
from dvae.models.kernels.gru import scatter_rows

BLOCK = 1 << 19  # numbers that stay in a core's cache
CUDA_BLOCK = 1 << 28


class _ListedScores(torch.autograd.Function):
    """Pairs given by two lists of rows; block by block, so memory does not grow with the number of pairs."""

    @staticmethod
    def forward(
        ctx: Any, sources: Tensor, targets: Tensor, weight: Tensor, source_of: Tensor, target_of: Tensor
    ) -> Tensor:
        ctx.save_for_backward(sources, targets, weight, source_of, target_of)
        scores = sources.new_empty(source_of.shape[0])
        for block in _blocks(source_of, weight):
            wide = _wide(sources, targets, source_of[block], target_of[block])
            scores[block] = wide @ weight
        return scores

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        sources, targets, weight, source_of, target_of = ctx.saved_tensors
        sources_grad, targets_grad = torch.zeros_like(sources), torch.zeros_like(targets)
        weight_grad = torch.zeros_like(weight)
        for block in _blocks(source_of, weight):
            wide = _wide(sources, targets, source_of[block], target_of[block])
            weight_grad += wide.T @ grad[block]
            pair_grad = torch.ops.aten.threshold_backward(torch.outer(grad[block], weight), wide, 0.0)
            sources_grad.index_add_(0, source_of[block], pair_grad)
            targets_grad.index_add_(0, target_of[block], pair_grad)
        return sources_grad, targets_grad, weight_grad, None, None


def _wide(sources: Tensor, targets: Tensor, source_of: Tensor, target_of: Tensor) -> Tensor:
    """The first layer of some pairs."""  # pair width
    return sources.index_select(0, source_of).add_(targets.index_select(0, target_of)).relu_()


def _blocks(pairs: Tensor, weight: Tensor) -> list[slice]:
    size = max(1, (CUDA_BLOCK if pairs.is_cuda else BLOCK) // weight.shape[0])
    return [slice(start, start + size) for start in range(0, pairs.shape[0], size)]


def listed_scores(sources: Tensor, targets: Tensor, weight: Tensor, source_of: Tensor, target_of: Tensor) -> Tensor:
    """The score of every pair (row of `sources`, row of `targets`)."""  # pair
    scores: Tensor = _ListedScores.apply(sources, targets, weight, source_of, target_of)
    return scores


@fused
def _scores(sources: Tensor, source_of: Tensor, targets: Tensor, weight: Tensor) -> Tensor:
    return (torch.relu(sources[:, source_of] + targets) * weight).sum(-1)


@fused
def _typed_scores(sources: Tensor, types: Tensor, table: Tensor, weight: Tensor) -> Tensor:
    return (torch.relu(sources + table[types]) * weight).sum(-1)


@fused
def _pair_grads(sources: Tensor, source_of: Tensor, targets: Tensor, weight: Tensor, grad: Tensor) -> Tensor:
    return torch.where(sources[:, source_of] + targets > 0, grad[..., None] * weight, 0.0)


@fused
def _typed_pair_grads(sources: Tensor, types: Tensor, table: Tensor, weight: Tensor, grad: Tensor) -> Tensor:
    return torch.where(sources + table[types] > 0, grad[..., None] * weight, 0.0)


@fused
def _weight_grad(sources: Tensor, source_of: Tensor, targets: Tensor, grad: Tensor) -> Tensor:
    return (torch.relu(sources[:, source_of] + targets) * grad[..., None]).sum((0, 1))


@fused
def _typed_weight_grad(sources: Tensor, types: Tensor, table: Tensor, grad: Tensor) -> Tensor:
    return (torch.relu(sources + table[types]) * grad[..., None]).sum((0, 1))


class _AllScores(torch.autograd.Function):
    """All pairs of graphs of one size: first (i - 1, i), whose target state is its type's, then the others."""

    @staticmethod
    def forward(
        ctx: Any, sources: Tensor, table: Tensor, targets: Tensor, weight: Tensor, types: Tensor, source_of: Tensor,
        static: bool,
    ) -> Tensor:  # fmt: skip
        ctx.static = static
        ctx.save_for_backward(sources, table, targets, weight, types, source_of)
        adjacent = _typed_scores.when(static)(sources[:, :-1], types, table, weight)
        return torch.cat([adjacent, _scores.when(static)(sources, source_of, targets, weight)], 1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        sources, table, targets, weight, types, source_of = ctx.saved_tensors
        nodes = sources.shape[1]
        near, far = grad[:, : nodes - 1].contiguous(), grad[:, nodes - 1 :].contiguous()
        before = sources[:, :-1]
        near_grad = _typed_pair_grads.when(ctx.static)(before, types, table, weight, near)
        far_grad = _pair_grads.when(ctx.static)(sources, source_of, targets, weight, far)
        incidence = (source_of == torch.arange(nodes, device=grad.device)[:, None]).to(grad.dtype)
        sources_grad = incidence @ far_grad
        sources_grad[:, :-1] += near_grad
        weight_grad = _typed_weight_grad.when(ctx.static)(before, types, table, near)
        weight_grad = weight_grad + _weight_grad.when(ctx.static)(sources, source_of, targets, far)
        table_grad = scatter_rows(near_grad.flatten(0, 1), types.flatten(), table.shape[0])
        return sources_grad, table_grad, far_grad, weight_grad, None, None, None


def all_scores(
    sources: Tensor, table: Tensor, targets: Tensor, weight: Tensor, types: Tensor, source_of: Tensor
) -> Tensor:
    """Scores of (i - 1, i) for i = 1.., then of (source_of[r], target of row r).

    `sources`: batch node width; `table`: type width; `targets`: batch row width; `types`: of nodes 1.. .
    """  # batch pair
    scores: Tensor = _AllScores.apply(sources, table, targets, weight, types, source_of, torch.is_grad_enabled())
    return scores
