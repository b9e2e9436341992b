"""The DAGNN encoder (Thost and Chen, "Directed Acyclic Graph Neural Networks", ICLR 2021).

In layer l, for every node v in topological order:

    message_v = sum over u -> v of alpha_vu h_u^l,   alpha_vu = softmax over u of (w1 . h_v^(l-1) + w2 . h_u^l)
    h_v^l     = GRU_l(input h_v^(l-1), hidden message_v),   h_v^0 = x_v

The term of w1 is the same for all u, so the softmax does not feel it, whatever w1 is: it is left out. What is left
of the attention is one number per node, w2 . h_u^l.

Layers come one after another, so that the input products of a layer's nodes are one product. The backward pass of a
layer is written out, as in `sweep`: weight gradients are one product at the end instead of one per position. On a CPU
equal nodes of a batch are computed once (`common_computations`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.aggregation import reversed_batch
from dvae.models.features import NodeFeatures
from dvae.models.kernels.aligned import AlignedLinear, aligned_parameter, uniform
from dvae.models.kernels.fuse import fused
from dvae.models.kernels.gru import gru_step, gru_step_backward, hidden_part, input_part, rows_of
from dvae.models.kernels.precision import affine, linear, operand_dtype, shortened, weight_gradient
from dvae.models.kernels.shares import Share, common_computations
from dvae.models.parts import Plan
from dvae.models.settings import LayersSettings

DEFAULT_LAYERS = 2  # as published


@fused
def attend(scores: Tensor, edges: Tensor, states: Tensor) -> tuple[Tensor, Tensor]:
    """The message of every row, and its attention; a row without predecessors receives zeros.

    `scores`, `edges`: source row; `states`: source row hidden.
    """  # row hidden, source row
    masked = torch.where(edges, scores, -torch.inf)
    weights = torch.exp(masked - masked.amax(0).clamp(min=torch.finfo(scores.dtype).min))
    weights = weights / weights.sum(0).clamp(min=1)  # the largest weight is one, where there is any
    return (weights[..., None] * states).sum(0), weights


@fused
def attend_backward(message_grad: Tensor, weights: Tensor, states: Tensor, message: Tensor) -> tuple[Tensor, Tensor]:
    """Gradients of the states, by way of the sum alone, and of the scores."""  # source row hidden, source row
    scores_grad = weights * ((states - message) * message_grad).sum(-1)
    return weights[..., None] * message_grad, scores_grad


class _Layer(torch.autograd.Function):
    """One layer. Rows are the distinct nodes of the batch, position after position; `shares` says whose they are."""

    @staticmethod
    def forward(
        ctx: Any,
        input_gates: Tensor,  # row 3*hidden
        edges: Tensor,  # source target batch, bool
        weight_hh: Tensor,  # 3*hidden hidden
        bias_hh: Tensor,  # 3*hidden
        attention: Tensor,  # hidden
        shares: list[Share] | None,
        static: bool,
    ) -> Tensor:
        nodes, _, batch = edges.shape
        dtype = operand_dtype()
        weight_hh_t = shortened(weight_hh, dtype).T
        known = input_gates.new_zeros(nodes, batch, attention.shape[0])  # the states of all graphs
        scores = input_gates.new_zeros(nodes, batch)
        states, saved, start = [], [], 0
        for position in range(nodes):
            share = None if shares is None else shares[position]
            count = batch if share is None else share.representative.shape[0]
            weights = None
            if position == 0:
                message = known.new_zeros(count, known.shape[2])
                hidden_gates = bias_hh.expand(count, -1)
            else:
                message, weights = attend.when(static)(
                    _chosen(scores[:position], share),
                    _chosen(edges[:position, position], share),
                    _chosen(known[:position], share),
                )
                hidden_gates = affine(shortened(message, dtype), weight_hh_t, bias_hh)
            step = gru_step.when(static)(input_gates[start : start + count], hidden_gates, message)
            state = step.state if share is None else step.state[share.member]
            known[position] = state
            scores[position] = state @ attention
            states.append(step.state)
            saved.append((step, message, weights))
            start += count
        ctx.saved, ctx.known, ctx.dtype, ctx.shares, ctx.static = saved, known, dtype, shares, static
        ctx.save_for_backward(weight_hh, attention)
        return torch.cat(states)

    @staticmethod
    def backward(ctx: Any, states_grad: Tensor) -> tuple[Tensor | None, ...]:
        weight_hh, attention = ctx.saved_tensors
        weight_hh_short = shortened(weight_hh, ctx.dtype)
        known = ctx.known
        known_grad = torch.zeros_like(known)
        scores_grad = known.new_zeros(known.shape[:2])
        grads_of, start = [], states_grad.shape[0]
        for position in reversed(range(known.shape[0])):
            step, message, weights = ctx.saved[position]
            share = None if ctx.shares is None else ctx.shares[position]
            start -= message.shape[0]
            from_later = torch.addcmul(known_grad[position], scores_grad[position, :, None], attention)
            state_grad = states_grad[start : start + message.shape[0]]
            if share is not None:
                from_later = from_later.new_zeros(state_grad.shape).index_add_(0, share.member, from_later)
            grads, message_grad = gru_step_backward(state_grad + from_later, step, message, ctx.static)
            grads_of.append(grads)
            if position > 0:
                message_grad = affine(shortened(hidden_part(grads), ctx.dtype), weight_hh_short, message_grad)
                to_states, to_scores = attend_backward.when(ctx.static)(
                    message_grad, weights, _chosen(known[:position], share), message
                )
                _add(known_grad[:position], to_states, share)
                _add(scores_grad[:position], to_scores, share)
        grads = torch.cat(grads_of[::-1])
        messages = torch.cat([message for _, message, _ in ctx.saved])
        return (
            input_part(grads),
            None,
            weight_gradient(hidden_part(grads), messages, ctx.dtype),
            hidden_part(grads).sum(0),
            scores_grad.flatten() @ known.flatten(0, 1),
            None,
            None,
        )


def _chosen(values: Tensor, share: Share | None) -> Tensor:
    """The rows that are computed."""  # source batch ... -> source row ...
    return values if share is None else values[:, share.representative]


def _add(total: Tensor, values: Tensor, share: Share | None) -> None:
    if share is None:
        total += values
    else:
        total.index_add_(1, share.representative, values)


class AttentiveGru(nn.Module):
    """One layer: attention over predecessors, then a GRU. The order of gates is that of `GruUpdate`."""

    def __init__(self, hidden: int, features: NodeFeatures | None = None) -> None:
        super().__init__()
        self.features = features
        bound = 1 / math.sqrt(hidden)
        inputs = hidden if features is None else features.width
        weight_ih = uniform(3 * hidden, inputs, bound=bound)
        self.weight_ih = aligned_parameter(weight_ih, 3, 1 if features is None else 0)
        self.bias_ih = aligned_parameter(uniform(3 * hidden, bound=bound), 3)
        self.weight_hh = aligned_parameter(uniform(3 * hidden, hidden, bound=bound), 3, 1)
        self.bias_hh = aligned_parameter(uniform(3 * hidden, bound=bound), 3)
        self.attention = aligned_parameter(uniform(hidden, bound=bound), 1)  # w2

    def forward(self, inputs: Tensor, edges: Tensor, shares: list[Share] | None) -> Tensor:
        """States of all rows; `inputs` are types in the first layer, states of the layer below in others."""
        if self.features is None:
            gates = linear(inputs, self.weight_ih, self.bias_ih)
        else:
            gates = rows_of(self.features.linear(self.weight_ih, self.bias_ih), inputs)
        weights = (self.weight_hh, self.bias_hh, self.attention)
        states: Tensor = _Layer.apply(gates, edges, *weights, shares, torch.is_grad_enabled())
        return states


class DagnnDirection(nn.Module):
    """Stacked layers along the edges; the nodes without successors pooled, all layers side by side."""

    def __init__(self, features: NodeFeatures, hidden: int, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(AttentiveGru(hidden, features if layer == 0 else None) for layer in range(layers))

    def forward(self, batch: DagBatch, node_mask: Tensor) -> Tensor:
        edges = batch.adjacency.permute(1, 2, 0).contiguous()  # source target batch
        shares = common_computations(batch, with_position=False) if batch.device.type == "cpu" else None
        ends = (node_mask & ~batch.adjacency.any(2)).mT[..., None]  # node batch 1
        if shares is None:
            rows = batch.types.mT.flatten()
        else:
            rows = torch.cat([batch.types[share.representative, node] for node, share in enumerate(shares)])
        pooled = []
        for layer in self.layers:
            rows = layer(rows, edges, shares)
            states = _all_nodes(rows, batch, shares)  # node batch hidden
            pooled.append(states.masked_fill(~ends, -torch.inf).amax(0))
        return torch.cat(pooled, -1)


def _all_nodes(rows: Tensor, batch: DagBatch, shares: list[Share] | None) -> Tensor:
    """The state of every node of every graph."""  # node batch hidden
    shape = (batch.max_nodes, len(batch))
    if shares is not None:
        members, start = [], 0
        for share in shares:
            members.append(start + share.member)
            start += share.representative.shape[0]
        rows = rows.index_select(0, torch.cat(members))
    return rows.view(*shape, -1)


@dataclass(frozen=True)
class DagnnSettings(LayersSettings):
    """Its layers, and whether it also runs against the edges (None: what the task suggests for DAGNN)."""

    bidirectional: bool | None = None  # whether edges are read in both directions


class DagnnEncoder(nn.Module):
    """Readout: max-pooling over the end nodes, all layers side by side, then a linear map (as published).

    `bidirectional` adds the same against the edges, with weights of its own and the start nodes pooled. Published
    settings: 2 layers, one direction on ENAS and both on Bayesian networks, latent 56.
    """

    Settings = DagnnSettings
    order_free = True
    static_shapes = True
    reference = "Thost and Chen, ICLR 2021"

    def __init__(self, features: NodeFeatures, hidden: int, *, layers: int, bidirectional: bool) -> None:
        super().__init__()
        self.width = hidden
        self.blocks = 1
        self.ahead = DagnnDirection(features, hidden, layers)
        self.back = DagnnDirection(features, hidden, layers) if bidirectional else None
        self.unify = AlignedLinear(hidden, hidden, input_blocks=layers * (2 if bidirectional else 1))

    @classmethod
    def build(cls, plan: Plan, settings: DagnnSettings) -> DagnnEncoder:
        """As published, both directions are used on Bayesian networks only: not what is best for D-VAE."""
        both = plan.hints.dagnn_bidirectional if settings.bidirectional is None else settings.bidirectional
        return cls(plan.features, plan.hidden, layers=settings.layers or DEFAULT_LAYERS, bidirectional=both)

    def forward(self, batch: DagBatch) -> Tensor:
        node_mask = batch.node_mask()
        vectors: list[Tensor] = [self.ahead(batch, node_mask)]
        if self.back is not None:
            vectors.append(self.back(reversed_batch(batch), node_mask.flip(1)))
        unified: Tensor = self.unify(torch.cat(vectors, -1))
        return unified
