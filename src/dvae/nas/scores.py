"""Accuracies of architectures as scores of a search: called with a DAG, they give a number, higher is better.

On the command line they take arguments as `--score 'dvae.nas:SharedWeightAccuracy?folder=runs/net&data=digits'`, so
all their arguments may be text.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from dvae.config import check
from dvae.dag import Dag
from dvae.data.images import CIFAR10, ImageData, load_images
from dvae.devices import available_device
from dvae.errors import ConfigError
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, DeviceImages
from dvae.nas.full_training import Report, train_network
from dvae.nas.recipes import Recipe, get_recipe
from dvae.nas.scoring import shared_accuracies
from dvae.nas.supernet_training import load_supernet


class SharedWeightAccuracy:
    """The accuracy that an architecture has in a trained supernet, on the images kept back from its training."""

    def __init__(
        self,
        folder: str | Path,
        *,
        data: ImageData | str | None = None,
        device: str = "auto",
        images: int | str | None = None,
        batch: int | str | None = None,
    ) -> None:
        device = available_device(device)
        self.config, self.network = load_supernet(folder, device)
        whole = data if isinstance(data, ImageData) else load_images(data or self.config.data)
        network = self.config.network
        check(
            (whole.channels, whole.classes) == (network.channels, network.classes),
            f"{whole.name} has {whole.channels} channels and {whole.classes} classes, the supernet in {folder} is for "
            f"{network.channels} and {network.classes} ({self.config.data})",
        )
        _, validation = whole.without_test(self.config.validation)
        validation = validation.part(0, _count("images", images) or len(validation))
        self.images = DeviceImages(validation, whole, torch.device(device), NO_AUGMENTATION)
        self.batch, self.note = _count("batch", batch), whole.note

    def __call__(self, dag: Dag) -> float:
        return self.many([dag])[0]

    def many(self, dags: Sequence[Dag], *, progress: bool | None = None) -> list[float]:
        """The accuracies of many architectures, which share what they have in common."""
        architectures = [Architecture.from_dag(dag) for dag in dags]
        return shared_accuracies(self.network, architectures, self.images, batch=self.batch, progress=progress)


class TrainedAccuracy:
    """The accuracy of an architecture trained from scratch, on training images kept back: the test set stays unseen.

    `report(epoch, accuracy)` is called after every epoch and may raise `PrunedError`, which ends the training.
    """

    def __init__(
        self,
        recipe: Recipe | str = "fast",
        *,
        data: ImageData | str = CIFAR10,
        device: str = "auto",
        validation: int | str | None = None,
    ) -> None:
        self.recipe, self.device = get_recipe(recipe), available_device(device)
        self.data = data if isinstance(data, ImageData) else load_images(data)
        self.validation = _count("validation", validation) or len(self.data.train) // 10

    def __call__(self, dag: Dag, report: Report | None) -> float:
        architecture = Architecture.from_dag(dag)
        trained = train_network(
            architecture, self.data, self.recipe, device=self.device, validation=self.validation, report=report,
            progress=False,
        )  # fmt: skip
        return trained.accuracy


def _count(name: str, value: int | str | None) -> int | None:
    """A positive number, perhaps given as text."""
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        raise ConfigError(f"{name} must be a whole number of 1 or more, not {value!r}")
    return number
