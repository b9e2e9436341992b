"""Settings of training; defaults are the paper's (appendix D) unless said otherwise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

from dvae.config import check, check_types

LAST_RATE = 0.01  # of a cosine schedule, as a share of the learning rate

Precision = Literal["auto", "float32", "tf32", "bf16"]

# Settings that may differ when a run is resumed: they leave the weights of every epoch as they are.
CHANGEABLE = (
    *("epochs", "time_budget", "early_stop", "early_stop_on", "checkpoint_seconds", "tensorboard"),
    *("mlflow", "wandb", "validation_every", "validation_decodings", "memory"),
)

# Settings of version 0.1.0; keys of results are made of these and of what differs from the other defaults.
FIRST_SETTINGS = (
    *("epochs", "batch_size", "learning_rate", "plateau_factor", "plateau_patience", "seed", "precision"),
    *("early_stop", "time_budget", "checkpoint_seconds", "tensorboard"),
)


@dataclass(frozen=True)
class TrainingConfig:
    """None means: what the task suggests (ENAS: batch 32, 300 epochs; BN: batch 128, 100 epochs)."""

    epochs: int | None = None  # how often to go through the data
    batch_size: int | None = None  # DAGs per step
    learning_rate: float = 1e-4  # of Adam
    plateau_factor: float = 0.1  # the learning rate is multiplied by this ...
    plateau_patience: int = 10  # ... when the training loss has not fallen for this many epochs
    seed: int = 0  # of weights, order and noise
    precision: Precision = "auto"  # of matrix products; auto: tf32 on CUDA, float32 on the CPU
    early_stop: int | None = None  # stop when the loss has not fallen for this many epochs ...
    early_stop_on: Literal["train", "validation"] = "train"  # ... on these DAGs
    time_budget: float | None = None  # seconds
    checkpoint_seconds: float = 30.0  # between checkpoints
    tensorboard: bool = False  # whether losses go to TensorBoard, too
    mlflow: bool = False  # ... to MLflow
    wandb: bool = False  # ... to Weights & Biases
    validation_every: int = 1  # epochs between two measurements on the validation DAGs, where there are any
    validation_decodings: int = 200  # how many of them are decoded to measure reconstruction
    # Of the learning rate: cosine falls to a hundredth by the last epoch, timed by the end of the time budget.
    schedule: Literal["plateau", "cosine", "timed"] = "plateau"
    warmup: int = 0  # steps over which the rate of these two rises from zero
    clip: float | None = None  # longest gradient of the mean loss per graph; longer ones are shortened
    memory: float | None = None  # gigabytes a step may take: a larger batch is split; None: 4, on CUDA 70% of all
    mutations: float = 0.0  # share of the graphs of a step that are trained on with types, an edge or columns changed

    def __post_init__(self) -> None:
        check_types(self)
        check(self.epochs is None or self.epochs >= 0, f"epochs must not be negative: {self.epochs}")
        check(self.batch_size is None or self.batch_size >= 1, f"batch_size must be 1 or more: {self.batch_size}")
        check(self.learning_rate > 0, f"learning_rate must be positive: {self.learning_rate}")
        check(0 < self.plateau_factor < 1, f"plateau_factor must lie between 0 and 1: {self.plateau_factor}")
        check(self.plateau_patience >= 0, f"plateau_patience must not be negative: {self.plateau_patience}")
        check(self.early_stop is None or self.early_stop >= 1, f"early_stop must be 1 or more: {self.early_stop}")
        check(self.time_budget is None or self.time_budget > 0, f"time_budget must be positive: {self.time_budget}")
        check(self.checkpoint_seconds >= 0, f"checkpoint_seconds must not be negative: {self.checkpoint_seconds}")
        check(self.validation_every >= 1, f"validation_every must be 1 or more: {self.validation_every}")
        check(self.validation_decodings >= 0, f"validation_decodings must be 0 or more: {self.validation_decodings}")

        check(self.warmup == 0 or self.schedule != "plateau", "warmup goes with schedule = 'cosine' or 'timed'")
        check(self.schedule != "timed" or self.time_budget is not None, "schedule = 'timed' goes with a time budget")
        check(self.warmup >= 0, f"warmup must not be negative: {self.warmup}")
        check(self.clip is None or self.clip > 0, f"clip must be positive: {self.clip}")
        check(self.memory is None or self.memory > 0, f"memory must be positive: {self.memory}")
        check(0 <= self.mutations <= 1, f"mutations is a share, from 0 to 1: {self.mutations}")

    @property
    def trackers(self) -> tuple[str, ...]:
        """Where the losses of every epoch go besides the run's folder."""
        return tuple(name for name in ("tensorboard", "mlflow", "wandb") if getattr(self, name))

    def rate_factor(self, step: int, share: float) -> float:
        """What a cosine multiplies the learning rate by, at one step, after this share of the whole training."""
        rise = min(1.0, (step + 1) / self.warmup) if self.warmup else 1.0
        return rise * (LAST_RATE + (1 - LAST_RATE) * 0.5 * (1 + math.cos(math.pi * min(1.0, share))))

    def operand_dtype(self) -> torch.dtype | None:
        """The type of matrix operands, where it is not that of the weights."""
        return torch.bfloat16 if self.precision == "bf16" else None

    def allows_tf32(self, device: torch.device) -> bool:
        """Whether matrix products may be rounded to tf32 on `device`."""
        return device.type == "cuda" and self.precision in ("auto", "tf32")
