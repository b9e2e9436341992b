"""The decoder of D-VAE (SMP): after every change of the partial graph, rounds of simultaneous message passing.

All node states are computed anew over the whole partial graph, R rounds each time. None of that has to be repeated:

- Edges run from old nodes to the new one, so a new node or edge changes no older node. The state of u after r rounds,
  h_r[u], depends on u's ancestors alone, which are complete once u is: one computation on the true graph serves all.
- The new node i with chosen predecessors C has, after R rounds, the state GRU(x[i], sum over C of message(h_{R-1}[u])).

So every decision of teacher forcing sees a sum of known messages, as in D-VAE (`decoders.dvae`, `plan`): the states
scored are h_R, the messages summed those of h_{R-1}. What is lost against a sweep: a node further than R edges from
the start knows nothing of the latent.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.aggregation import Aggregation
from dvae.models.decoders.dvae import DvaeDecoder, _Sampler
from dvae.models.encoders.smp import in_rounds
from dvae.models.kernels.gru import GruUpdate
from dvae.models.parts import Sampling
from dvae.models.simultaneous import Simultaneous


class SmpDecoder(DvaeDecoder):
    """D-VAE's networks over states of simultaneous message passing."""

    def __init__(self, aggregation: Aggregation, update: GruUpdate, *, rounds: int, **sizes: Any) -> None:
        super().__init__(in_rounds(aggregation, rounds), update, **sizes)

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        if self.aggregation.depends_on_types_only:  # a sweep and any number of rounds are the same
            return super().sample(latents, sampling)
        return _RoundsSampler(self, latents, sampling).run()

    def rows_at_once(self, device: torch.device) -> int:
        rounds = cast(Simultaneous, self.aggregation).rounds
        return max(16, super().rows_at_once(device) * 6 // (6 + rounds))


class _RoundsSampler(_Sampler):
    """Also keeps, for every node and every round but the last, the message it sends after that round."""

    def __init__(self, decoder: SmpDecoder, latents: Tensor, sampling: Sampling) -> None:
        self.rounds = cast(Simultaneous, decoder.aggregation).rounds
        super().__init__(decoder, latents, sampling)

    def _remember(self, position: int, types: Tensor, states: Tensor, grown: Tensor) -> None:
        super()._remember(position, types, states, grown)
        rows, decoder = self.rows, self.decoder
        if position == 0:  # the start is the same after every round
            for earlier in range(self.rounds - 1):
                rows[f"messages {earlier}"] = rows["messages"].clone()
            return
        if position >= self.nodes - 2 and decoder.end_edges == "loose-ends":
            return  # only the end node can follow, and it asks for nothing
        types = types[grown]
        parents = rows["adjacency"][grown, :position, position][:, None].to(states.dtype)
        state = self.untouched_states[types]
        for earlier in range(self.rounds):
            last = earlier == self.rounds - 1
            name = "messages" if last else f"messages {earlier}"
            message = decoder.aggregation.message(types, state, position)
            rows[name][grown, position] = message
            if not last:
                incoming = (parents @ rows[name][grown, :position]).squeeze(1)
                state = decoder.update(types, incoming, self.table)
