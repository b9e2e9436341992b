"""Settings of training; defaults are the paper's (appendix D) unless said otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from dvae.config import check

Precision = Literal["auto", "float32", "tf32", "bf16"]


@dataclass(frozen=True)
class TrainingConfig:
    """None means: what the task suggests (ENAS: batch 32, 300 epochs; BN: batch 128, 100 epochs)."""

    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float = 1e-4
    plateau_factor: float = 0.1  # the learning rate is multiplied by this ...
    plateau_patience: int = 10  # ... when the training loss has not fallen for this many epochs
    seed: int = 0
    precision: Precision = "auto"  # of matrix products; auto: tf32 on CUDA, float32 on the CPU
    early_stop: int | None = None  # stop when the training loss has not fallen for this many epochs
    time_budget: float | None = None  # seconds
    checkpoint_seconds: float = 30.0
    tensorboard: bool = False

    def __post_init__(self) -> None:
        check(self.epochs is None or self.epochs >= 0, f"epochs must not be negative: {self.epochs}")
        check(
            self.batch_size is None or self.batch_size >= 1,
            f"batch_size must be 1 or more: {self.batch_size}",
        )
        check(self.learning_rate > 0, f"learning_rate must be positive: {self.learning_rate}")
        check(0 < self.plateau_factor < 1, f"plateau_factor must lie between 0 and 1: {self.plateau_factor}")
        check(self.plateau_patience >= 0, f"plateau_patience must not be negative: {self.plateau_patience}")
        check(
            self.early_stop is None or self.early_stop >= 1,
            f"early_stop must be 1 or more: {self.early_stop}",
        )
        check(
            self.time_budget is None or self.time_budget > 0,
            f"time_budget must be positive: {self.time_budget}",
        )
        check(
            self.checkpoint_seconds >= 0,
            f"checkpoint_seconds must not be negative: {self.checkpoint_seconds}",
        )

    def operand_dtype(self) -> torch.dtype | None:
        return torch.bfloat16 if self.precision == "bf16" else None

    def allows_tf32(self, device: torch.device) -> bool:
        return device.type == "cuda" and self.precision in ("auto", "tf32")
