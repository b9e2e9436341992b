"""Accuracies of architectures as scores of a search: called with a DAG, they give a number, higher is better.

A worker makes them without arguments (`dvae worker --score dvae.nas:TrainedAccuracy`); what is not given then comes
from the environment: DVAE_NAS_SUPERNET, DVAE_NAS_RECIPE and DVAE_NAS_IMAGES.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import torch

from dvae.config import check
from dvae.dag import Dag
from dvae.data.images import CIFAR10, ImageData, load_images
from dvae.errors import MissingError
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
        folder: str | Path | None = None,
        *,
        data: ImageData | str | None = None,
        device: str = "auto",
        images: int | None = None,
        batch: int | None = None,
    ) -> None:
        if folder is None:
            folder, data = os.environ.get("DVAE_NAS_SUPERNET"), data or os.environ.get("DVAE_NAS_IMAGES")
        if folder is None:
            raise MissingError("a weight-sharing score needs the folder of a supernet: give it, or DVAE_NAS_SUPERNET")
        device = chosen_device(device)
        self.config, self.network = load_supernet(folder, device)
        whole = data if isinstance(data, ImageData) else load_images(data or self.config.data)
        network = self.config.network
        check(
            (whole.channels, whole.classes) == (network.channels, network.classes),
            f"{whole.name} has {whole.channels} channels and {whole.classes} classes, the supernet in {folder} is for "
            f"{network.channels} and {network.classes} ({self.config.data})",
        )
        _, validation = whole.without_test(self.config.validation)
        validation = validation.part(0, images or len(validation))
        self.images = DeviceImages(validation, whole, torch.device(device), NO_AUGMENTATION)
        self.batch, self.note = batch, whole.note

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
        recipe: Recipe | str | None = None,
        *,
        data: ImageData | str | None = None,
        device: str = "auto",
        validation: int | None = None,
    ) -> None:
        recipe = recipe or os.environ.get("DVAE_NAS_RECIPE", "fast")
        self.recipe = get_recipe(recipe)
        data = data or os.environ.get("DVAE_NAS_IMAGES", CIFAR10)
        self.data = data if isinstance(data, ImageData) else load_images(data)
        self.validation = validation or len(self.data.train) // 10
        self.device = chosen_device(device)

    def __call__(self, dag: Dag, report: Report | None) -> float:
        architecture = Architecture.from_dag(dag)
        trained = train_network(
            architecture, self.data, self.recipe, device=self.device, validation=self.validation, report=report,
            progress=False,
        )  # fmt: skip
        return trained.accuracy


def chosen_device(device: str) -> str:
    """`auto` is a GPU where there is one."""
    return ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
