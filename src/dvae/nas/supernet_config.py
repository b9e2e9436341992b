"""How shared weights are trained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dvae.config import check, check_types, with_overrides
from dvae.data.images import ImageData
from dvae.nas.batches import Augmentation
from dvae.nas.config import NetworkConfig
from dvae.nas.controller import ControllerConfig
from dvae.nas.schedules import Schedule

SMALL_SIDE = 16  # pixels; below this one pixel is much
UNLIMITED = 1_000_000  # epochs, where time is the limit


@dataclass(frozen=True)
class SupernetConfig:
    """The original's settings, but for uniform sampling, the default here."""

    depth: int = 6
    data: str = "cifar10"
    validation: int = 5_000  # the last training images, kept for scores
    sampling: Literal["uniform", "enas"] = "uniform"
    epochs: int = 310
    batch: int = 128
    weight_decay: float = 2.5e-4
    momentum: float = 0.9
    gradient_norm: float = 5.0  # longer gradients are shortened to this
    seed: int = 0
    network: NetworkConfig = field(default_factory=NetworkConfig)
    schedule: Schedule = field(default_factory=Schedule)
    augmentation: Augmentation = field(default_factory=lambda: Augmentation(cutout=0.0))
    controller: ControllerConfig = field(default_factory=ControllerConfig)

    def __post_init__(self) -> None:
        check_types(self)
        check(self.depth >= 1, f"depth must be 1 or more: {self.depth}")
        check(self.epochs >= 1 and self.batch >= 2, "epochs must be 1 or more, batch 2 or more")
        check(self.validation >= 1, f"validation must be 1 or more: {self.validation}")
        check(self.weight_decay >= 0 and 0 <= self.momentum < 1, "weight_decay and momentum are out of range")
        check(self.gradient_norm > 0, f"gradient_norm must be positive: {self.gradient_norm}")
        check(self.augmentation.mixing == 0, "mixing is for full training; a supernet learns from whole images")


def supernet_config(
    images: ImageData, changes: Mapping[str, object] | None = None, *, minutes: float | None = None
) -> SupernetConfig:
    """Settings that suit `images` and a limit of time, with the settings named by dotted keys changed."""
    given = dict(changes or {})
    fitting: dict[str, object] = {} if images.side >= SMALL_SIDE else {
        "augmentation.crop": 0.0, "schedule.kind": "cosine", "schedule.highest": 0.2, "batch": 64, "epochs": 60,
        "network.width": 12,
    }  # fmt: skip
    fitting["validation"] = len(images.train) // 5
    if minutes is not None:  # restarts would end anywhere in a period
        fitting |= {"schedule.kind": "cosine", "epochs": UNLIMITED}
    of_the_images = {"network.channels": images.channels, "network.classes": images.classes}
    return with_overrides(SupernetConfig(), fitting | given | of_the_images, "settings")
