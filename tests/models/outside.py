"""What someone's own package might hold: one part of each kind. A test writes this file to where it can be imported."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.models import AlignedLinear, DecoderModule, Plan, Sampling, SumAggregation
from dvae.models.decoders.decisions import draw_edges
from dvae.models.decoders.sampler import GraphRows, Sampler


class CountEncoder(nn.Module):
    """How many nodes of each type a graph has, through a linear map."""

    @dataclass(frozen=True)
    class Settings:
        slope: float = 0.1

    order_free = True
    blocks = 0

    def __init__(self, plan: Plan, settings: Settings) -> None:
        super().__init__()
        self.width = plan.hidden
        self.slope = settings.slope
        self.counts = nn.Linear(plan.num_types, plan.hidden)

    def forward(self, batch: DagBatch) -> Tensor:
        present = batch.node_mask()[..., None].to(self.counts.weight.dtype)
        kinds = functional.one_hot(batch.types, self.counts.in_features).to(present.dtype)
        return functional.leaky_relu(self.counts((kinds * present).sum(1)), self.slope)


class IndependentDecoder(DecoderModule):
    """Every type and every edge by itself, given z."""

    @dataclass(frozen=True)
    class Settings:
        depth: int = 1

    def __init__(self, plan: Plan, settings: Settings) -> None:
        super().__init__()
        self.nodes, self.end_edges = plan.max_nodes, plan.hints.end_edges
        widths = [plan.latent, *[plan.hidden] * settings.depth]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise(widths))
        self.types = nn.Linear(widths[-1], plan.max_nodes * plan.num_types)
        self.edges = nn.Linear(widths[-1], plan.max_nodes**2)

    def scores(self, latents: Tensor) -> tuple[Tensor, Tensor]:
        for layer in self.layers:
            latents = torch.relu(layer(latents))
        square = (self.nodes, self.nodes)
        return self.types(latents).unflatten(1, (self.nodes, -1)), self.edges(latents).unflatten(1, square)

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        types, edges = self.scores(latents)
        nodes = min(batch.max_nodes, self.nodes)
        there = batch.node_mask()[:, 1:nodes]
        type_nll = functional.cross_entropy(types[:, 1:nodes].mT, batch.types[:, 1:nodes], reduction="none")
        truth = batch.adjacency[:, :nodes, 1:nodes].to(edges.dtype)
        edge_nll = functional.binary_cross_entropy_with_logits(edges[:, :nodes, 1:nodes], truth, reduction="none")
        earlier = torch.ones(nodes, nodes, device=batch.device).triu(1)[:, 1:]
        return ((type_nll + (edge_nll * earlier).sum(1)) * there).sum(1)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        return IndependentSampler(self, latents.repeat_interleave(sampling.copies, 0), sampling).run()


class IndependentSampler(Sampler[GraphRows]):
    def __init__(self, decoder: IndependentDecoder, latents: Tensor, sampling: Sampling) -> None:
        rows = GraphRows(len(latents), 1, decoder.nodes, latents.device)
        super().__init__(rows, decoder.nodes, sampling, decoder.end_edges)
        self.types, self.edges = decoder.scores(latents)

    def type_scores(self, position: int) -> Tensor:
        return self.types[:, position]

    def write_edges(self, position: int) -> None:
        drawn = draw_edges(self.edges[:, :position, position], self.sampling)
        self.rows.adjacency[:, :position, position] = drawn & self.rows.growing[:, None]


class MeanlessAggregation(SumAggregation):
    """A message is a linear map of the state, scaled by where its node stands."""

    @dataclass(frozen=True)
    class Settings:
        decay: float = 0.5

    def __init__(self, plan: Plan, settings: Settings) -> None:
        super().__init__()
        self.decay = settings.decay
        self.map = AlignedLinear(plan.hidden, plan.hidden)

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        return self.map(states) * self.decay**position


class GatedReadout(nn.Module):
    """A weighted sum of the states of all nodes."""

    blocks = 1

    def __init__(self, plan: Plan, settings: object) -> None:
        super().__init__()
        self.gate = AlignedLinear(plan.hidden, 1, output_blocks=0)

    def forward(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        there = batch.node_mask()[..., None].to(states.dtype)
        return (torch.sigmoid(self.gate(states)) * states * there).sum(1)


def last_state(states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
    """The state of the last node."""
    return states[torch.arange(len(batch)), last]


last_state.blocks = 1  # type: ignore[attr-defined]


class NoEncoder(nn.Module):
    """Lacks what an encoder promises."""

    def __init__(self, plan: Plan, settings: object) -> None:
        super().__init__()


NOT_A_CLASS = 3
