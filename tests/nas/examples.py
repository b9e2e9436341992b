"""Tiny architectures, networks and images."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import torch

from dvae.data.images import ImageData, Images
from dvae.nas import image_job
from dvae.nas.architecture import Architecture
from dvae.nas.config import NetworkConfig
from dvae.tasks import EnasTask
from dvae.training.job import Place

TINY = NetworkConfig(width=4, channels=1, classes=2, dropout=0.0)


def some_architectures(count: int, depth: int = 4, seed: int = 0) -> list[Architecture]:
    return [Architecture.from_dag(dag) for dag in EnasTask(depth).sample(count, seed)]


def some_images(count: int = 6, side: int = 8, channels: int = 1, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, channels, side, side, generator=torch.Generator().manual_seed(seed))


def ctrl_c_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Presses Ctrl-C during the n-th step of a training."""
    real, count = image_job.ImageJob.step, [0]

    def stepped(job: image_job.ImageJob, place: Place) -> None:
        real(job, place)
        count[0] += 1
        if count[0] == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(image_job.ImageJob, "step", stepped)


def stripes(train: int = 96, test: int = 32, side: int = 8) -> ImageData:
    """Two classes that anything can tell apart: bright rows, or bright columns, in noise."""
    chance = np.random.Generator(np.random.PCG64(0))
    labels = chance.integers(2, size=train + test)
    pixels = chance.integers(60, size=(train + test, side, side, 1))
    pixels[labels == 0, ::2] += 150
    pixels[labels == 1, :, ::2] += 150
    whole = Images(pixels.astype(np.uint8), labels.astype(np.int64))
    return ImageData("stripes", whole.part(0, train), whole.part(train, train + test), 2, mirrored=False)
