"""Simultaneous message passing: every node of a graph updates at once, for a fixed number of rounds.

    h[v] after 0 rounds = GRU(x[v], 0)
    h[v] after r rounds = GRU(x[v], sum over u -> v of message(u, h[u] after r - 1 rounds))

The aggregation and the update are those of D-VAE (eq. 2-4); only the order differs. What a node knows after r rounds
comes from at most r edges upstream. Where a decoder gives the start node its incoming message, that message is the
same in every round, so the start's state never changes.
"""

from __future__ import annotations

from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.aggregation import SumAggregation
from dvae.models.kernels.gru import GruUpdate
from dvae.models.parts import Aggregation, NodeStates

DEFAULT_ROUNDS = 3  # of D-VAE (SMP) and DeepGMG


class Simultaneous(SumAggregation):
    """An aggregation that propagates in rounds instead of a sweep."""

    def __init__(self, aggregation: Aggregation, rounds: int) -> None:
        super().__init__()
        self.inner = aggregation
        self.rounds = rounds
        self.depends_on_types_only = aggregation.depends_on_types_only
        self.static_shapes = aggregation.static_shapes

    def message(self, types: Tensor, states: Tensor, position: int) -> Tensor:
        return self.inner.message(types, states, position)

    def propagate(
        self, update: GruUpdate, batch: DagBatch, first: Tensor | None = None, reverse: bool = False
    ) -> NodeStates:
        return self.inner.propagate_in_rounds(update, batch, self.rounds, first, reverse)
