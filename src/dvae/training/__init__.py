"""Training: the loop, its steps and its checkpoints."""

from dvae.training.config import TrainingConfig
from dvae.training.loop import FitResult, fit

__all__ = ["FitResult", "TrainingConfig", "fit"]
