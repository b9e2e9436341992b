"""Learning rates as functions of how far training is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dvae.config import check


@dataclass(frozen=True)
class Schedule:
    """`restarts`: cosines from `highest` to `lowest` over periods of `first_period` epochs, each `factor` times longer
    (Loshchilov and Hutter, SGDR, ICLR 2017). `cosine`: one over all epochs. `one-cycle`: a linear rise over the share
    `warmup` of training, then a linear fall.
    """

    kind: Literal["restarts", "cosine", "one-cycle"] = "restarts"
    highest: float = 0.05
    lowest: float = 0.0005
    first_period: int = 10
    factor: int = 2
    warmup: float = 0.2

    def __post_init__(self) -> None:
        check(0 <= self.lowest <= self.highest and self.highest > 0, "learning rates must be in order and positive")
        check(self.first_period >= 1 and self.factor >= 1, "periods are positive and do not shrink")
        check(0 < self.warmup < 1, f"warmup must lie between 0 and 1: {self.warmup}")

    def rate(self, epoch: float, share: float) -> float:
        """The rate after `epoch` epochs, which are the `share` of all training."""
        if self.kind == "one-cycle":
            rising = share / self.warmup
            falling = (1 - share) / (1 - self.warmup)
            return self.lowest + (self.highest - self.lowest) * max(0.0, min(rising, falling))
        if self.kind == "restarts":
            share = self._share_of_period(epoch)
        return self.lowest + (self.highest - self.lowest) * (1 + math.cos(math.pi * min(share, 1.0))) / 2

    def _share_of_period(self, epoch: float) -> float:
        period = self.first_period
        while epoch >= period:
            epoch -= period
            period *= self.factor
        return epoch / period
