"""The vector of a graph from the states of its nodes (paper, section 3.1)."""

from __future__ import annotations

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.parts import Plan
from dvae.models.settings import NoSettings


class EndReadout:
    """The state of the node at which message passing ended (Theorem 2)."""

    reference = "Zhang et al., NeurIPS 2019"
    static_shapes = True
    blocks = 1

    def __init__(self, plan: Plan, settings: NoSettings) -> None: ...

    def __call__(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        index = last[:, None, None].expand(-1, 1, states.shape[2])
        return states.gather(1, index).squeeze(1)


class SumReadout(EndReadout):
    """The sum over all nodes but the start and the end (the paper's choice for Bayesian networks)."""

    def __call__(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        return inner_sum(states, batch)


class EndAndSumReadout(EndReadout):
    """The state of the last node and the sum of the inner ones, side by side."""

    reference = ""
    blocks = 2

    def __call__(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        return torch.cat([super().__call__(states, batch, last), inner_sum(states, batch)], -1)


def inner_sum(states: Tensor, batch: DagBatch) -> Tensor:
    """The sum of the states of all nodes but the start and the end."""  # batch node hidden -> batch hidden
    nodes = torch.arange(batch.max_nodes, device=batch.device)
    inner = (nodes > 0) & (nodes < (batch.num_nodes - 1)[:, None])
    return (inner[:, None].to(states.dtype) @ states).squeeze(1)
