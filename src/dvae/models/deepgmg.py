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
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dvae.models.aligned import aligned, aligned_parameter, uniform
from dvae.models.features import NodeFeatures
from dvae.models.fuse import fused
from dvae.models.gru import gru_step, hidden_part, input_part, rows_of
from dvae.models.precision import linear, operand_dtype, shortened
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
    biases: Tensor  # 4 3*hidden: of every message along an edge, of every one against, of the input, of the state


class Neighbourhood(NamedTuple):
    """Who hears whom in every graph of a batch, and which nodes move at all."""

    neighbours: Tensor  # batch node node
    along: Tensor  # batch node 1: messages along edges
    against: Tensor  # batch node 1
    moves: Tensor  # batch node 1, bool

    @classmethod
    def of(cls, adjacency: Tensor, there: Tensor | None = None) -> Neighbourhood:
        """Of the graphs `adjacency` (floats, any leading axes); the nodes of those not `there` stay as they are."""
        along, against = adjacency.sum(-2)[..., None], adjacency.sum(-1)[..., None]
        moves = along + against > 0
        if there is not None:
            moves = moves & there[..., None, None]
        return cls(adjacency + adjacency.mT, along, against, moves)

    def at(self, place: int) -> Neighbourhood:
        return Neighbourhood(*(part[place] for part in self))


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
                    torch.stack(
                        [
                            update.weight_ih @ (messages.bias + messages.direction),
                            update.weight_ih @ messages.bias,
                            update.bias_ih,
                            update.bias_hh,
                        ]
                    ),
                )
            )
        return folds


@fused
def _round(
    products: Tensor, received: Tensor, along: Tensor, against: Tensor, moves: Tensor, states: Tensor, biases: Tensor
) -> tuple[Tensor, ...]:
    receiver, _, hidden = products.chunk(3, -1)
    inputs = received + (along + against) * receiver + along * biases[0] + against * biases[1] + biases[2]
    step = gru_step.function(inputs, hidden + biases[3], states)
    return torch.where(moves, step.state, states), step.reset, step.update, step.candidate, step.candidate_hidden


@fused
def _round_backward(
    grad: Tensor, along: Tensor, against: Tensor, moves: Tensor, states: Tensor,
    reset: Tensor, update: Tensor, candidate: Tensor, candidate_hidden: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of the GRU's two products, of the receivers' part, and of the states where they pass unchanged."""
    moved = torch.where(moves, grad, torch.zeros_like(grad))
    candidate_grad = moved * (1 - update) * (1 - candidate * candidate)
    update_grad = moved * (states - candidate) * update * (1 - update)
    reset_grad = candidate_grad * candidate_hidden * reset * (1 - reset)
    gates = torch.cat([candidate_grad, reset_grad, update_grad, candidate_grad * reset], -1)
    degree = along + against
    receiver = torch.cat([degree * candidate_grad, degree * reset_grad, degree * update_grad], -1)
    return gates, receiver, torch.where(moves, grad * update, grad)


class _Round(torch.autograd.Function):
    """One round of messages with few, large kernels: there is one a decision and round, each waiting for the last."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        neighbours: Tensor,
        along: Tensor,
        against: Tensor,
        moves: Tensor,
        weight: Tensor,
        biases: Tensor,
        static: bool,
    ) -> Tensor:
        dtype = operand_dtype()
        products = (shortened(states, dtype) @ shortened(weight, dtype).mT).to(states.dtype)
        sent = products.chunk(3, -1)[1]
        moved, *gates = _round.when(static)(products, neighbours @ sent, along, against, moves, states, biases)
        ctx.save_for_backward(states, neighbours, along, against, moves, weight, *gates)
        ctx.dtype, ctx.static = dtype, static
        return moved

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, neighbours, along, against, moves, weight, *gates = ctx.saved_tensors
        grads, receiver, kept = _round_backward.when(ctx.static)(
            grad.contiguous(), along, against, moves, states, *gates
        )
        inputs, hidden = input_part(grads), hidden_part(grads)
        products = torch.cat([receiver, neighbours @ inputs, hidden], -1).flatten(0, 1)  # neighbours are symmetric
        short = shortened(products, ctx.dtype)
        states_grad = (short @ shortened(weight, ctx.dtype)).to(grad.dtype).view_as(kept) + kept
        weight_grad = (short.mT @ shortened(states.flatten(0, 1), ctx.dtype)).to(grad.dtype)
        counts = torch.cat([along, against, torch.ones_like(along)], -1).flatten(0, 1)
        sums = counts.mT @ grads.flatten(0, 1)  # 3 4*hidden
        biases_grad = torch.cat([input_part(sums), hidden_part(sums[2:])])
        return states_grad, None, None, None, None, weight_grad, biases_grad, None


def propagated(rounds: list[FoldedRound], states: Tensor, hood: Neighbourhood) -> Tensor:
    """The states after all rounds."""  # batch node hidden
    for fold in rounds:
        states = _Round.apply(states, *hood, *fold, torch.is_grad_enabled())
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
        parts = self.parts(states)
        if counts is None:
            return parts.sum(1)
        return (counts[:, None].to(parts.dtype) @ parts).squeeze(1)

    def parts(self, states: Tensor) -> Tensor:
        """What every node adds."""  # batch node hidden -> batch node 2*hidden
        bias = torch.cat([self.bias, torch.zeros_like(self.bias)])
        parts: Tensor = _Gated.apply(linear(states, self.weight, bias), torch.is_grad_enabled())
        return parts

    def of_many(self, states: list[Tensor]) -> Tensor:
        """R(h) of several states of the same graphs, in one product."""  # -> batch state 2*hidden
        parts = self.parts(torch.cat(states, 1)).split([part.shape[1] for part in states], 1)
        return torch.stack([part.sum(1) for part in parts], 1)


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
