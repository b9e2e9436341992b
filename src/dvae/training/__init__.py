"""Training: the resumable loop, the steps of a VAE, validation, and checkpoints."""

from dvae.training.config import TrainingConfig
from dvae.training.loop import FitResult, fit
from dvae.training.validation import load_best

__all__ = ["FitResult", "TrainingConfig", "fit", "load_best"]
