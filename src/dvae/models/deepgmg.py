"""What DeepGMG's encoder and decoder are made of (Li et al. 2018, Learning Deep Generative Models of Graphs).

    a[v] = sum over u -> v of fe(h[u], 1, h[v]) + sum over v -> w of fe(h[w], 0, h[v])      messages, both ways
    h[v] = GRU_r(a[v], h[v])                   round r, all nodes at once; a node without neighbours keeps its state
    R(h) = sum over v of sigmoid(gate h[v]) * (map h[v])                                  the state of the graph
    h[new] = finit(x[new], R_init(h))                                                     a new node

`fe` and `finit` are linear. A graph's state is twice as wide as a node's: two blocks of `hidden`, each aligned. As in
the original implementation, encoder and decoder have `fe`, `finit` and R in common and GRUs of their own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dvae.models.aligned import aligned, aligned_parameter, uniform
from dvae.models.features import NodeFeatures
from dvae.models.gru import _GruStep, rows_of
from dvae.models.precision import linear
from dvae.models.simultaneous import _Gated


class GruRound(nn.Module):
    """The weights of one round; rows of `weight_ih` are candidate, reset, update, of `weight_hh` reset, update,
    candidate, as in `GruUpdate`."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.weight_ih = aligned_parameter(uniform(3 * hidden, 2 * hidden, bound=bound), 3, 2)
        self.bias_ih = aligned_parameter(uniform(3 * hidden, bound=bound), 3)
        self.weight_hh = aligned_parameter(uniform(3 * hidden, hidden, bound=bound), 3, 1)
        self.bias_hh = aligned_parameter(uniform(3 * hidden, bound=bound), 3)


class FoldedRound(NamedTuple):
    """One round as a single product: `fe` is linear, so it folds into the GRU's input weights."""

    weight: Tensor  # 9*hidden hidden: of the receiver, of the sender, of the GRU's hidden state
    along: Tensor  # 3*hidden: what every incoming message adds
    against: Tensor  # 3*hidden: what every message against an edge adds
    bias_ih: Tensor
    bias_hh: Tensor


class Messages(nn.Module):
    """fe."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(2 * hidden + 1)
        self.weight = aligned_parameter(uniform(2 * hidden, 2 * hidden, bound=bound), 2, 2)  # receiver, sender
        self.direction = aligned_parameter(uniform(2 * hidden, bound=bound), 2)
        self.bias = aligned_parameter(uniform(2 * hidden, bound=bound), 2)
        self.width = aligned(hidden)


class Rounds(nn.Module):
    """A GRU for every round."""

    def __init__(self, hidden: int, rounds: int) -> None:
        super().__init__()
        self.updates = nn.ModuleList(GruRound(hidden) for _ in range(rounds))

    def folded(self, messages: Messages) -> list[FoldedRound]:
        folds = []
        for update in self.updates:
            assert isinstance(update, GruRound)
            receiver, sender = (update.weight_ih @ messages.weight).split(messages.width, 1)
            folds.append(
                FoldedRound(
                    torch.cat([receiver, sender, update.weight_hh]),
                    update.weight_ih @ (messages.bias + messages.direction),
                    update.weight_ih @ messages.bias,
                    update.bias_ih,
                    update.bias_hh,
                )
            )
        return folds


def propagated(rounds: list[FoldedRound], states: Tensor, adjacency: Tensor) -> Tensor:
    """The states after all rounds on the graphs `adjacency` (floats)."""  # batch node hidden, batch node node
    inward, outward = adjacency.sum(1)[..., None], adjacency.sum(2)[..., None]
    degree, neighbours = inward + outward, adjacency + adjacency.mT
    for fold in rounds:
        receiver, sender, hidden = linear(states, fold.weight).chunk(3, -1)
        fixed = inward * fold.along + outward * fold.against + fold.bias_ih
        inputs = torch.baddbmm(torch.addcmul(fixed, degree, receiver), neighbours, sender)
        moved = _GruStep.apply(inputs, hidden + fold.bias_hh, states, torch.is_grad_enabled())
        states = torch.where(degree > 0, moved, states)
    return states


class GraphReadout(nn.Module):
    """R(h); rows of `weight` are the gate's, then the map's."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.weight = aligned_parameter(uniform(4 * hidden, hidden, bound=bound), 4, 1)
        self.bias = aligned_parameter(uniform(2 * hidden, bound=bound), 2)

    def forward(self, states: Tensor, counts: Tensor | None = None) -> Tensor:
        """The sum over the nodes that count (None: all)."""  # batch node hidden -> batch 2*hidden
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        parts: Tensor = _Gated.apply(linear(states, self.weight, bias), torch.is_grad_enabled())
        if counts is None:
            return parts.sum(1)
        return (counts[:, None].to(parts.dtype) @ parts).squeeze(1)


class NodeInit(nn.Module):
    """finit: the first state of a node from its type and the graph's state (none: zero)."""

    def __init__(self, features: NodeFeatures, hidden: int) -> None:
        super().__init__()
        self.features = features
        bound = 1 / math.sqrt(features.width + 2 * hidden)
        self.weight_type = aligned_parameter(uniform(hidden, features.width, bound=bound), 1)
        self.weight_graph = aligned_parameter(uniform(hidden, 2 * hidden, bound=bound), 1, 2)
        self.bias = aligned_parameter(uniform(hidden, bound=bound), 1)

    def forward(self, types: Tensor, graph: Tensor | None = None) -> Tensor:
        states = rows_of(self.features.linear(self.weight_type, self.bias), types)
        return states if graph is None else states + linear(graph, self.weight_graph)


class SharedParts(nn.Module):
    """What encoder and decoder have in common."""

    def __init__(self, features: NodeFeatures, hidden: int) -> None:
        super().__init__()
        self.init = NodeInit(features, hidden)
        self.messages = Messages(hidden)
        self.readout = GraphReadout(hidden)
