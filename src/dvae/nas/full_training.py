"""Training of one architecture from scratch: its true accuracy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae import provenance
from dvae.config import replace, to_mapping, with_overrides
from dvae.dag import to_plain
from dvae.data.images import ImageData
from dvae.errors import DvaeError
from dvae.files import write_json
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, DeviceImages
from dvae.nas.image_job import ImageJob
from dvae.nas.network import channels_last, fixed_network
from dvae.nas.recipes import Recipe, get_recipe
from dvae.nas.scoring import convolutions
from dvae.nas.sizes import Size, size_of
from dvae.training.job import Clock, Place, Row
from dvae.training.resumable import run_job

RESULT = "result.json"
SECONDS_BETWEEN_SAVES = 30.0
EVALUATION_BATCH = 1_000

Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Trained:
    """The accuracy of a trained network on images that training has not seen, and what it took."""

    accuracy: float
    images: str  # which images: "test" or "validation"
    size: Size
    epochs: int
    seconds: float
    note: str
    history: tuple[dict[str, float], ...] = ()
    accuracy_with_mirrors: float | None = None  # by the scores of an image and its mirror image, added


def train_network(
    architecture: Architecture,
    data: ImageData,
    recipe: Recipe | str,
    *,
    device: str = "cpu",
    validation: int = 0,
    folder: str | Path | None = None,
    report: Report | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Trained:
    """Trains the network of an architecture by a recipe, in which `settings` change single fields.

    With `validation`, that many training images are held back; the accuracy on them is reported after every epoch (and
    `report` may raise `PrunedError`) and is the result. Without, all training images are used, and the test images
    once, at the end. With `folder`, training is checkpointed there and resumed from what it finds. Ctrl-C finishes the
    step, writes a checkpoint and raises `KeyboardInterrupt`.
    """
    recipe = with_overrides(get_recipe(recipe), settings, "recipe")
    job = _FullTraining(architecture, data, recipe, torch.device(device), validation, report)
    where = None if folder is None else Path(folder)
    if where is not None:
        job.settings |= {"images": data.fingerprint}
    # Shapes never change in training, so it pays to try all algorithms once.
    with convolutions(benchmark=True, deterministic=False):
        done = run_job(job, where, resume=True, checkpoint_seconds=SECONDS_BETWEEN_SAVES, progress=progress)
    if done.ended == "interrupted":
        raise KeyboardInterrupt
    result = job.result(done.place)
    if where is not None:
        _write(where, architecture, job.recipe, result)
    return result


class _FullTraining(ImageJob):
    def __init__(
        self,
        architecture: Architecture,
        data: ImageData,
        recipe: Recipe,
        device: torch.device,
        validation: int,
        report: Report | None,
    ) -> None:
        network = replace(recipe.network, channels=data.channels, classes=data.classes)
        self.recipe = recipe = replace(recipe, network=network)
        self.architecture, self.data, self.report = architecture, data, report
        self.holds_back = validation > 0
        train, unseen = data.without_test(validation) if validation else (data.train, data.test)
        made = channels_last(fixed_network(architecture, network, seed=recipe.seed), device)
        super().__init__(made, DeviceImages(train, data, device, recipe.augmentation), recipe, Clock())
        self.unseen = DeviceImages(unseen, data, device, NO_AUGMENTATION)
        self.label_smoothing = recipe.label_smoothing
        self.parts = {"network": (made, self.optimizer)}
        self.forward: Any = _compiled(made) if recipe.compile else made
        self.accuracies: tuple[float, float | None] = (math.nan, None)  # at the end, without and with mirror images
        self.settings: dict[str, Any] = {
            "architecture": [list(architecture.operations), [list(skips) for skips in architecture.skips]],
            "outputs": list(architecture.outputs),
            "validation": validation,
            "data": data.name,
            **to_mapping(recipe),
        }

    def scores(self, images: Tensor) -> Tensor:
        found: Tensor = self.forward(images)
        return found

    def end_epoch(self, place: Place) -> Row:
        row = {"epoch": float(place.epoch + 1), "loss": self.mean_loss()}
        if math.isnan(row["loss"]):
            raise DvaeError("training diverged: the loss is not a number; lower schedule.highest")
        if self.holds_back:
            row["accuracy"] = self._accuracies(with_mirrors=False)[0]
            if self.report is not None:
                self.report(place.epoch + 1, row["accuracy"])
        return row | {"seconds": self.clock.seconds}

    def shown(self, row: Row) -> dict[str, object]:
        return {name: value for name, value in row.items() if name != "seconds"}

    def finish(self) -> None:
        self.accuracies = self._accuracies(self.data.mirrored)

    def result(self, place: Place) -> Trained:
        accuracy, with_mirrors = self.accuracies
        if self.holds_back and place.history:
            accuracy = place.history[-1].get("accuracy", accuracy)
        size = size_of(self.architecture, self.recipe.network, resolution=self.data.side)
        images, history = "validation" if self.holds_back else "test", tuple(place.history)
        return Trained(accuracy, images, size, place.epoch, place.seconds, self.data.note, history, with_mirrors)

    @torch.no_grad()
    def _accuracies(self, with_mirrors: bool) -> tuple[float, float | None]:
        """By the scores of each unseen image, and by those added to its mirror image's."""
        self.network.eval()
        correct = torch.zeros(2, dtype=torch.int64, device=self.device)
        for images, labels in self.unseen.parts(EVALUATION_BATCH):
            with self.autocast():
                scores = self.network(images)
                both = scores + self.network(images.flip(3)) if with_mirrors else scores
            correct += torch.stack([(one.argmax(1) == labels).sum() for one in (scores, both)])
        plain, mirrored = (count / len(self.unseen) for count in correct.tolist())
        return plain, mirrored if with_mirrors else None


def _write(folder: Path, architecture: Architecture, recipe: Recipe, result: Trained) -> None:
    summary = {
        "accuracy": result.accuracy, "images": result.images,
        "accuracy_with_mirrors": result.accuracy_with_mirrors, "parameters": result.size.parameters,
        "flops": result.size.flops, "epochs": result.epochs, "seconds": result.seconds, "note": result.note,
    }  # fmt: skip
    record = provenance.record(recipe.seed, to_mapping(recipe))
    write_json(folder / RESULT, {"dag": to_plain(architecture.dag()), **summary, "record": record})


def _compiled(network: torch.nn.Module) -> Any:
    """The compiler keeps eight versions of a function, and networks are versions of one `forward`: the ninth would run
    uncompiled. So it forgets the ones before."""
    torch.compiler.reset()
    return torch.compile(network)
