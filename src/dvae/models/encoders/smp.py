"""The encoder of D-VAE (SMP): D-VAE's, with rounds of simultaneous message passing in place of sweeps."""

from __future__ import annotations

from typing import cast

from dvae.models.aggregation import Aggregation
from dvae.models.encoders.dvae import DvaeEncoder, Readout
from dvae.models.kernels.gru import GruUpdate
from dvae.models.simultaneous import Simultaneous


class SmpEncoder(DvaeEncoder):
    """Same gated sum, same GRU, same readout; all nodes at once, `rounds` times (paper, table 3)."""

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
            backward = (in_rounds(backward[0], rounds), backward[1])
        super().__init__(in_rounds(aggregation, rounds), update, backward, readout, hidden)


def in_rounds(aggregation: Aggregation, rounds: int) -> Aggregation:
    """`aggregation`, propagating simultaneously."""
    return cast(Aggregation, Simultaneous(aggregation, rounds))
