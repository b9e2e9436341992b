"""How the network of an architecture is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dvae.config import check

Join = Literal["sum", "concat"]


@dataclass(frozen=True)
class NetworkConfig:
    """The defaults are those of the original supernet; `FULL` has those of the networks trained from scratch.

    The original builds plain convolutions for the separable codes in fully trained networks (`separable="plain"`).
    """

    width: int = 36  # channels of the first stage
    widening: int = 1  # factor of the channels where the resolution halves
    join: Join = "sum"  # of skip inputs: summed and normalised, or concatenated and brought back by a 1x1 convolution
    separable: Literal["depthwise", "plain"] = "depthwise"
    statistics: Literal["batch", "running"] = "batch"  # of batch normalisation, when the network is used
    dropout: float = 0.1  # in front of the classifier
    channels: int = 3  # of the images
    classes: int = 10

    def __post_init__(self) -> None:
        check(self.width >= 2, f"width must be 2 or more, for the two halves of a reduction: {self.width}")
        check(self.widening >= 1, f"widening must be 1 or more: {self.widening}")
        check(0 <= self.dropout < 1, f"dropout must lie in [0, 1): {self.dropout}")
        check(self.channels >= 1 and self.classes >= 2, "images have a channel, and labels at least two classes")

    def width_at(self, stage: int) -> int:
        """Channels after `stage` reductions."""
        return self.width * int(self.widening**stage)


FULL = NetworkConfig(width=96, widening=2, join="concat", separable="plain", statistics="running", dropout=0.5)


def reductions_after(depth: int) -> tuple[int, ...]:
    """After how many layers the resolution halves: a third and two thirds of `depth`."""
    third = depth // 3
    return (third, 2 * third) if third else ()


def stage_of(layer: int, depth: int) -> int:
    """How often the resolution has halved where layer `layer` (from 0) works."""
    return sum(layer >= place for place in reductions_after(depth))
