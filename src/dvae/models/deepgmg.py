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
from torch.autograd.function import once_differentiable

from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import aligned, aligned_parameter, uniform
from dvae.models.kernels.fuse import fused
from dvae.models.kernels.gates import gated_product
from dvae.models.kernels.gru import gru_step, hidden_part, input_part, rows_of
from dvae.models.kernels.precision import linear, operand_dtype, shortened
from dvae.models.parts import Plan


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
    gradient: WeightGradient  # of both, while it is gathered


class Neighbourhood(NamedTuple):
    """Who hears whom in every graph of a batch, and which nodes move at all."""

    neighbours: Tensor  # batch node node
    counts: Tensor  # batch node 3: messages along edges, against them, and one
    moves: Tensor  # batch node 1, bool

    @classmethod
    def of(cls, adjacency: Tensor, there: Tensor | None = None) -> Neighbourhood:
        """Of the graphs `adjacency` (floats, any leading axes); the nodes of those not `there` stay as they are."""
        along, against = adjacency.sum(-2), adjacency.sum(-1)
        moves = (along + against > 0)[..., None]
        if there is not None:
            moves = moves & there[..., None, None]
        return cls(adjacency + adjacency.mT, torch.stack([along, against, torch.ones_like(along)], -1), moves)

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
            weight = torch.cat([receiver, sender, update.weight_hh])
            along, against = update.weight_ih @ (messages.bias + messages.direction), update.weight_ih @ messages.bias
            biases = torch.stack([along, against, update.bias_ih, update.bias_hh])
            gradient = WeightGradient()
            weight, biases = _Gathered.apply(weight, biases, gradient)
            folds.append(FoldedRound(weight, biases, gradient))
        return folds


class _Visit(NamedTuple):
    """What the backward pass of one round leaves for the gradient of its weights; one row per node."""

    products: Tensor  # row 9*hidden: gradient of the round's product
    states: Tensor  # row hidden: what it was taken of
    gates: Tensor  # row 4*hidden: gradient of the GRU's two products
    counts: Tensor  # row 3: as in `Neighbourhood`


class WeightGradient:
    """The gradient of a round's weights, summed over its many uses in few large products.

    There is a use of each round per decision. A product for each would write, and then add, a matrix as large as the
    weights, though it is of a few hundred rows. Uses follow each other, so a backward pass visits the last one first:
    a visit that is not of an earlier use begins another pass.
    """

    ROWS = 16_384  # so many are multiplied at once; with 501 hidden units they take 0.5 GB

    def __init__(self) -> None:
        self.visits: list[_Visit] = []
        self.sums: tuple[Tensor, Tensor] | None = None
        self.uses = 0
        self.visited = 0  # the use whose gradient came last

    def next_use(self) -> int:
        self.uses += 1
        return self.uses

    def add(self, visit: _Visit, use: int) -> None:
        if use >= self.visited:  # forget what another pass left, one that did not come as far as the weights
            self.sums = None
            self.visits.clear()
        self.visited = use
        self.visits.append(visit)
        if sum(len(visit.states) for visit in self.visits) >= self.ROWS:
            self._multiply()

    def take(self) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """The gradients of the weight and of the biases; what was gathered is forgotten."""
        if self.visits:
            self._multiply()
        sums, self.sums = self.sums, None
        return sums or (None, None)

    def _multiply(self) -> None:
        products, states, gates, counts = (torch.cat(parts) for parts in zip(*self.visits, strict=True))
        self.visits.clear()
        weight = (products.mT @ states).to(gates.dtype)
        sums = counts.mT @ gates  # 3 4*hidden
        biases = torch.cat([input_part(sums), hidden_part(sums[2:])])
        self.sums = (weight, biases) if self.sums is None else (self.sums[0] + weight, self.sums[1] + biases)


class _Gathered(torch.autograd.Function):
    """Weights that get their gradient from a `WeightGradient`, after all rounds that use them have run backward."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, biases: Tensor, gradient: WeightGradient) -> tuple[Tensor, Tensor]:
        ctx.gradient = gradient
        ctx.set_materialize_grads(False)
        return weight.view_as(weight), biases.view_as(biases)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *nothing: None) -> tuple[Tensor | None, ...]:
        return (*ctx.gradient.take(), None)


@fused
def _round(
    products: Tensor, received: Tensor, counts: Tensor, moves: Tensor, states: Tensor, biases: Tensor
) -> tuple[Tensor, ...]:
    along, against = counts[..., :1], counts[..., 1:2]
    receiver, _, hidden = products.chunk(3, -1)
    inputs = received + (along + against) * receiver + along * biases[0] + against * biases[1] + biases[2]
    step = gru_step.function(inputs, hidden + biases[3], states)
    return torch.where(moves, step.state, states), step.reset, step.update, step.candidate, step.candidate_hidden


@fused
def _round_backward(
    grad: Tensor, counts: Tensor, moves: Tensor, states: Tensor,
    reset: Tensor, update: Tensor, candidate: Tensor, candidate_hidden: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of the GRU's two products, of the receivers' part, and of the states where they pass unchanged."""
    moved = torch.where(moves, grad, torch.zeros_like(grad))
    candidate_grad = moved * (1 - update) * (1 - candidate * candidate)
    update_grad = moved * (states - candidate) * update * (1 - update)
    reset_grad = candidate_grad * candidate_hidden * reset * (1 - reset)
    gates = torch.cat([candidate_grad, reset_grad, update_grad, candidate_grad * reset], -1)
    degree = counts[..., :1] + counts[..., 1:2]
    receiver = torch.cat([degree * candidate_grad, degree * reset_grad, degree * update_grad], -1)
    return gates, receiver, torch.where(moves, grad * update, grad)


class _Round(torch.autograd.Function):
    """One round of messages with few, large kernels: there is one per decision and round, each waiting for the last."""

    @staticmethod
    def forward(
        ctx: Any,
        states: Tensor,
        neighbours: Tensor,
        counts: Tensor,
        moves: Tensor,
        weight: Tensor,
        biases: Tensor,
        gradient: WeightGradient,
        static: bool,
    ) -> Tensor:
        dtype = operand_dtype()
        ctx.use = gradient.next_use()
        products = (shortened(states, dtype) @ shortened(weight, dtype).mT).to(states.dtype)
        sent = products.chunk(3, -1)[1]
        moved, *gates = _round.when(static)(products, neighbours @ sent, counts, moves, states, biases)
        ctx.save_for_backward(states, neighbours, counts, moves, weight, *gates)
        ctx.dtype, ctx.gradient, ctx.static = dtype, gradient, static
        return moved

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, neighbours, counts, moves, weight, *gates = ctx.saved_tensors
        grads, receiver, kept = _round_backward.when(ctx.static)(grad.contiguous(), counts, moves, states, *gates)
        received = neighbours @ input_part(grads)  # neighbours are symmetric
        products = shortened(torch.cat([receiver, received, hidden_part(grads)], -1).flatten(0, 1), ctx.dtype)
        kept = kept.flatten(0, 1)
        if ctx.dtype is None:
            states_grad = torch.addmm(kept, products, weight)
        else:
            states_grad = (products @ weight.to(ctx.dtype)).to(grad.dtype) + kept
        if ctx.needs_input_grad[4]:
            before = shortened(states.flatten(0, 1), ctx.dtype)
            ctx.gradient.add(_Visit(products, before, grads.flatten(0, 1), counts.flatten(0, 1)), ctx.use)
        return states_grad.view_as(grad), *(None,) * 7


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
        return gated_product(linear(states, self.weight, bias))

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

    @classmethod
    def of(cls, plan: Plan) -> SharedParts:
        """Those of a model that is being built; its encoder and its decoder get the same."""
        return plan.common(cls, lambda: cls(plan.features, plan.hidden))
