"""One small run that the tests of training share, here and in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.dag import DagBatch
from dvae.models import VAE, build
from dvae.tasks import EnasTask
from dvae.training import FitResult, fit

TASK = EnasTask(3)
GRAPHS = 20
BATCH = 6
STEPS = 4  # an epoch


def model(seed: int = 0, **options: Any) -> VAE:
    return build("dvae", TASK, **{"hidden": 6, "latent": 3, "seed": seed, **options})


def data(count: int = GRAPHS) -> DagBatch:
    return TASK.sample_batch(count, seed=0)


def train(vae: VAE, folder: Path | None = None, **settings: Any) -> FitResult:
    defaults = {"epochs": 5, "batch_size": BATCH, "learning_rate": 1e-2, "device": "cpu", "progress": False}
    return fit(vae, settings.pop("graphs", None) or data(), run=folder, **{**defaults, **settings})


def weights(vae: VAE) -> dict[str, Tensor]:
    return {name: value.detach().clone() for name, value in vae.state_dict().items()}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
