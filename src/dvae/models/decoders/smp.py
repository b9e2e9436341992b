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

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models.decoders.dvae import DvaeDecoder, DvaeDecoderSettings, sizes
from dvae.models.decoders.dvae_sampler import DvaeRows, DvaeSampler
from dvae.models.decoders.rows import RowTensor
from dvae.models.kernels.gru import GruUpdate
from dvae.models.parts import Aggregation, Plan, Sampling
from dvae.models.settings import RoundsSettings
from dvae.models.simultaneous import DEFAULT_ROUNDS, Simultaneous


@dataclass(frozen=True)
class SmpDecoderSettings(DvaeDecoderSettings, RoundsSettings):
    """Those of D-VAE's decoder, and the number of rounds."""


class SmpDecoder(DvaeDecoder):
    """D-VAE's networks over states of simultaneous message passing."""

    Settings: type[DvaeDecoderSettings] = SmpDecoderSettings
    reference = "Zhang et al., NeurIPS 2019, table 3"

    def __init__(self, aggregation: Aggregation, update: GruUpdate, *, rounds: int, **sizes: Any) -> None:
        super().__init__(Simultaneous(aggregation, rounds), update, **sizes)
        self.rounds = rounds

    @classmethod
    def build(cls, plan: Plan, settings: SmpDecoderSettings) -> SmpDecoder:  # type: ignore[override]
        rounds = settings.rounds or DEFAULT_ROUNDS
        return cls(plan.shared_aggregation, plan.update(), rounds=rounds, **sizes(plan, settings))

    @torch.no_grad()
    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        if self.aggregation.depends_on_types_only:  # a sweep and any number of rounds are the same
            return super().sample(latents, sampling)
        return SmpSampler(self, latents, sampling).run()

    def rows_at_once(self, device: torch.device) -> int:
        return max(16, super().rows_at_once(device) * 6 // (6 + self.rounds))


class SmpRows(DvaeRows):
    """Also, for every node and every round but the last, the message it sends after that round."""

    earlier_messages = RowTensor()  # row round node hidden


class SmpSampler(DvaeSampler):
    """D-VAE's; a node that is finished sends a message for each round."""

    rows: SmpRows
    rows_class = SmpRows

    def __init__(self, decoder: SmpDecoder, latents: Tensor, sampling: Sampling) -> None:
        self.rounds = decoder.rounds
        super().__init__(decoder, latents, sampling)

    def remember(self, position: int, states: Tensor, grown: Tensor) -> None:
        super().remember(position, states, grown)
        rows, decoder = self.rows, self.decoder
        if position == 0:  # the start is the same after every round
            rows.earlier_messages = rows.messages[:, None].repeat(1, self.rounds - 1, 1, 1)
            return
        if self.is_not_asked_for(position):
            return
        types = rows.types[grown, position]
        parents = rows.adjacency[grown, :position, position][:, None].to(states.dtype)
        state = self.untouched_states[types]
        for earlier in range(self.rounds - 1):
            rows.earlier_messages[grown, earlier, position] = decoder.aggregation.message(types, state, position)
            incoming = (parents @ rows.earlier_messages[grown, earlier, :position]).squeeze(1)
            state = decoder.update(types, incoming, self.table)
        rows.messages[grown, position] = decoder.aggregation.message(types, state, position)
