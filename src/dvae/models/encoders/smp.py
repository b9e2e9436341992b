"""The encoder of D-VAE (SMP): D-VAE's, with rounds of simultaneous message passing in place of sweeps."""

from __future__ import annotations

from dataclasses import dataclass

from dvae.models.encoders.dvae import DvaeEncoder, DvaeEncoderSettings, backward_parts
from dvae.models.kernels.gru import GruUpdate
from dvae.models.parts import Aggregation, Plan, Readout
from dvae.models.settings import RoundsSettings
from dvae.models.simultaneous import DEFAULT_ROUNDS, Simultaneous


@dataclass(frozen=True)
class SmpEncoderSettings(DvaeEncoderSettings, RoundsSettings):
    """Those of D-VAE's encoder, and the number of rounds."""


class SmpEncoder(DvaeEncoder):
    """Same gated sum, same GRU, same readout as D-VAE; all nodes at once, some rounds."""

    Settings: type[DvaeEncoderSettings] = SmpEncoderSettings
    reference = "Zhang et al., NeurIPS 2019, table 3"

    def __init__(
        self,
        aggregation: Aggregation,
        update: GruUpdate,
        backward: tuple[Aggregation, GruUpdate] | None,
        readout: Readout,
        hidden: int,
        rounds: int,
    ) -> None:
        if backward is not None:
            backward = (Simultaneous(backward[0], rounds), backward[1])
        super().__init__(Simultaneous(aggregation, rounds), update, backward, readout, hidden)

    @classmethod
    def build(cls, plan: Plan, settings: SmpEncoderSettings) -> SmpEncoder:  # type: ignore[override]
        backward, rounds = backward_parts(plan, settings), settings.rounds or DEFAULT_ROUNDS
        return cls(plan.shared_aggregation, plan.update(), backward, plan.new_readout(), plan.hidden, rounds)
