"""The edge network f_add_edge on many pairs at once.

Its first layer splits into a part of the source node and a part of the target's state, each computed once where it
occurs; here the two are added, rectified and scored pair by pair. The wide intermediate is never kept: the backward
pass forms it again, a block at a time, so memory does not grow with the number of pairs.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dvae.models.fuse import fused

CPU_BLOCK = 1 << 19  # elements that stay in a core's cache
CUDA_BLOCK = 1 << 31


@fused
def _score(source: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    return (torch.relu(source + target) * weight).sum(-1)


@fused
def _score_backward(source: Tensor, target: Tensor, weight: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    active = torch.relu(source + target)
    grad = grad[:, None]
    return torch.where(active > 0, grad * weight, 0.0), active


class _EdgeScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, sources: Tensor, targets: Tensor, weight: Tensor, source_of: Tensor, target_of: Tensor
    ) -> Tensor:
        ctx.save_for_backward(sources, targets, weight, source_of, target_of)
        parts = []
        for block in _blocks(source_of, weight):
            source, target = sources[source_of[block]], targets[target_of[block]]
            if source.is_cuda:
                parts.append(_score(source, target, weight))
            else:
                parts.append(source.add_(target).relu_() @ weight)
        return parts[0] if len(parts) == 1 else torch.cat(parts) if parts else sources.new_zeros(0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        sources, targets, weight, source_of, target_of = ctx.saved_tensors
        sources_grad, targets_grad = torch.zeros_like(sources), torch.zeros_like(targets)
        weight_grad = torch.zeros_like(weight)
        for block in _blocks(source_of, weight):
            source, target = sources[source_of[block]], targets[target_of[block]]
            if source.is_cuda:
                pair_grad, active = _score_backward(source, target, weight, grad[block])
            else:
                active = source.add_(target).relu_()
                pair_grad = torch.outer(grad[block], weight).mul_(active > 0)
            weight_grad += active.T @ grad[block]
            sources_grad.index_add_(0, source_of[block], pair_grad)
            targets_grad.index_add_(0, target_of[block], pair_grad)
        return sources_grad, targets_grad, weight_grad, None, None


def _blocks(pairs: Tensor, weight: Tensor) -> list[slice]:
    size = max(1, (CUDA_BLOCK if pairs.is_cuda else CPU_BLOCK) // weight.shape[0])
    return [slice(start, start + size) for start in range(0, pairs.shape[0], size)]


def edge_scores(sources: Tensor, targets: Tensor, weight: Tensor, source_of: Tensor, target_of: Tensor) -> Tensor:
    """relu(sources[source_of] + targets[target_of]) @ weight."""  # pair
    scores: Tensor = _EdgeScores.apply(sources, targets, weight, source_of, target_of)
    return scores
