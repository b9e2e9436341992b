"""The D-VAE encoder: asynchronous message passing, then a readout (paper, section 3.1)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.kernels.aligned import AlignedLinear, aligned
from dvae.models.kernels.gru import GruUpdate
from dvae.models.parts import Aggregation, Plan, Readout, has_static_shapes
from dvae.models.settings import AggregationSettings

SWEEP_NUMBERS = 18  # that message passing keeps of a node, for each hidden unit


@dataclass(frozen=True)
class DvaeEncoderSettings(AggregationSettings):
    """What message passing is made of; None: what the task suggests."""

    bidirectional: bool | None = None  # whether edges are read in both directions
    readout: str | None = None  # the vector of a graph, from the states of its nodes


class DvaeEncoder(nn.Module):
    """Node states by sweeps along (and against) the edges; a graph vector from them.

    The readout gives a vector for each direction; two directions are joined by a linear map back to one width, as the
    paper does. A sweep along the edges ends at the end node, one against them at the start node.
    """

    Settings = DvaeEncoderSettings
    aggregates = True
    any_width = True
    order_free = True
    reference = "Zhang et al., NeurIPS 2019"

    def __init__(
        self,
        aggregation: Aggregation,
        update: GruUpdate,
        backward: tuple[Aggregation, GruUpdate] | None,
        readout: Readout,
        hidden: int,
    ) -> None:
        super().__init__()
        self.aggregation = aggregation
        self.update = update
        self.readout = readout
        self.width = hidden
        self.blocks = readout.blocks
        self.static_shapes = aggregation.static_shapes and has_static_shapes(readout)
        self.backward_aggregation = backward[0] if backward else None
        self.backward_update = backward[1] if backward else None
        self.unify = (
            AlignedLinear(hidden, hidden, input_blocks=2 * self.blocks, output_blocks=self.blocks) if backward else None
        )

    @classmethod
    def build(cls, plan: Plan, settings: DvaeEncoderSettings) -> DvaeEncoder:
        backward = backward_parts(plan, settings)
        return cls(plan.shared_aggregation, plan.update(), backward, plan.new_readout(), plan.hidden)

    def numbers_per_graph(self, nodes: int, edges: int) -> int:
        directions = 1 if self.backward_aggregation is None else 2
        return directions * nodes * SWEEP_NUMBERS * aligned(self.width)

    def forward(self, batch: DagBatch) -> Tensor:
        if self.unify is None or self.backward_aggregation is None or self.backward_update is None:
            return self.readout(self.aggregation.propagate(self.update, batch).states, batch, batch.num_nodes - 1)
        ahead, back = self.aggregation.propagate_both(
            self.update, self.backward_aggregation, self.backward_update, batch
        )
        start = torch.zeros_like(batch.num_nodes)
        vectors = [
            self.readout(ahead.states, batch, batch.num_nodes - 1),
            self.readout(back.states.flip(1), batch, start),
        ]
        unified: Tensor = self.unify(torch.cat(vectors, -1))
        return unified


def backward_parts(plan: Plan, settings: DvaeEncoderSettings) -> tuple[Aggregation, GruUpdate] | None:
    """What message passing against the edges is made of, where it is wanted."""
    wanted = plan.hints.bidirectional if settings.bidirectional is None else settings.bidirectional
    return (plan.new_aggregation(), plan.update()) if wanted else None
