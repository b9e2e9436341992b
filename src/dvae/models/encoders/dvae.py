"""The D-VAE encoder: asynchronous message passing, then a readout (paper, section 3.1)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from dvae.dag import DagBatch
from dvae.models.aggregation import Aggregation
from dvae.models.kernels.aligned import AlignedLinear
from dvae.models.kernels.gru import GruUpdate

Readout = Literal["end", "sum", "both"]


class DvaeEncoder(nn.Module):
    """Node states by sweeps along (and, if `backward` is given, against) the edges; a graph vector from them.

    - readout "end": the state of the end node (Theorem 2); against the edges, that of the start node.
    - readout "sum": the sum over all nodes but the start and the end (the paper's choice for Bayesian networks).
    - readout "both": the two side by side.
    Two directions are joined by a linear map back to one width, as the paper does.
    """

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
        self.blocks = 2 if readout == "both" else 1
        self.backward_aggregation = backward[0] if backward else None
        self.backward_update = backward[1] if backward else None
        self.unify = (
            AlignedLinear(hidden, hidden, input_blocks=2 * self.blocks, output_blocks=self.blocks) if backward else None
        )

    def forward(self, batch: DagBatch) -> Tensor:
        if self.unify is None or self.backward_aggregation is None or self.backward_update is None:
            return self._read(self.aggregation.propagate(self.update, batch).states, batch, batch.num_nodes - 1)
        ahead, back = self.aggregation.propagate_both(
            self.update, self.backward_aggregation, self.backward_update, batch
        )
        start = torch.zeros_like(batch.num_nodes)
        vectors = [
            self._read(ahead.states, batch, batch.num_nodes - 1),
            self._read(back.states.flip(1), batch, start),
        ]
        unified: Tensor = self.unify(torch.cat(vectors, -1))
        return unified

    def _read(self, states: Tensor, batch: DagBatch, last: Tensor) -> Tensor:
        """The graph vector of one direction, whose message passing ends at node `last`."""
        vectors = []
        if self.readout in ("end", "both"):
            index = last[:, None, None].expand(-1, 1, states.shape[2])
            vectors.append(states.gather(1, index).squeeze(1))
        if self.readout in ("sum", "both"):
            nodes = torch.arange(batch.max_nodes, device=batch.device)
            inner = (nodes > 0) & (nodes < (batch.num_nodes - 1)[:, None])
            vectors.append((inner[:, None].to(states.dtype) @ states).squeeze(1))
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, -1)
