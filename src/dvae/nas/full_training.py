"""Training of one architecture from scratch: its true accuracy."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from dvae import provenance
from dvae.config import check, replace, to_mapping
from dvae.dag import to_plain
from dvae.data.images import ImageData
from dvae.errors import ConfigError, DvaeError
from dvae.files import remove_leftovers, write_json
from dvae.nas import checkpoint
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, Augmentation, DeviceImages, batches_generator, seeded_dropout
from dvae.nas.config import FULL, NetworkConfig
from dvae.nas.network import channels_last, fixed_network
from dvae.nas.schedules import Schedule
from dvae.nas.scoring import convolutions
from dvae.nas.sizes import Size, size_of
from dvae.progress import progress_bar

log = logging.getLogger("dvae")

CHECKPOINT = "checkpoint.safetensors"
RESULT = "result.json"
SECONDS_BETWEEN_SAVES = 30.0
EVALUATION_BATCH = 1_000

Report = Callable[[int, float], None]


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the defaults are the paper's (310 epochs)."""

    epochs: int = 310
    batch: int = 100
    schedule: Schedule = field(default_factory=lambda: Schedule("restarts", 0.05, 0.001))
    weight_decay: float = 2e-4
    momentum: float = 0.9
    gradient_norm: float = 5.0  # longer gradients are shortened to this; 0 leaves all as they are
    label_smoothing: float = 0.0
    seed: int = 0
    compile: bool = False  # with torch.compile, which pays in long trainings on a GPU
    network: NetworkConfig = FULL
    augmentation: Augmentation = field(default_factory=lambda: Augmentation(cutout=0.0))

    def __post_init__(self) -> None:
        check(self.epochs >= 1 and self.batch >= 2, "epochs must be 1 or more, batch 2 or more")
        check(0 <= self.label_smoothing < 1, f"label_smoothing must lie in [0, 1): {self.label_smoothing}")
        check(self.weight_decay >= 0 and 0 <= self.momentum < 1, "weight_decay and momentum are out of range")
        check(self.gradient_norm >= 0, f"gradient_norm must not be negative: {self.gradient_norm}")
        check(self.network.statistics == "running", "a fully trained network has running statistics")


RECIPES = {
    "paper": Recipe(),
    # One cycle at a high rate and a large batch, smoothed labels, a small cut-out square and mild distortions
    # (benchmarks/nas_recipes.py compares it with others).
    "fast": Recipe(
        epochs=30,
        batch=512,
        schedule=Schedule("one-cycle", 0.4, 0.0),
        weight_decay=5e-4,
        gradient_norm=0.0,
        label_smoothing=0.1,
        network=replace(FULL, dropout=0.1),
        augmentation=Augmentation(distortion=0.5),
    ),
    # For the 8x8 digits on a CPU, where a shift by one pixel is large.
    "digits": Recipe(
        epochs=15,
        batch=64,
        schedule=Schedule("one-cycle", 0.2, 0.0),
        weight_decay=5e-4,
        gradient_norm=0.0,
        network=replace(FULL, width=16, widening=1, separable="depthwise", dropout=0.1),
        augmentation=NO_AUGMENTATION,
    ),
}


def recipe_named(name: str) -> Recipe:
    if name not in RECIPES:
        raise ConfigError(f"there is no recipe {name!r}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]


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
    recipe: Recipe,
    *,
    device: str = "cpu",
    validation: int = 0,
    folder: str | Path | None = None,
    report: Report | None = None,
    progress: bool | None = None,
) -> Trained:
    """Trains the network of an architecture.

    With `validation`, so many training images are kept back; the accuracy on them is reported after every epoch (and
    `report` may raise `PrunedError`) and is the result. Without, all training images are used, and the test images
    once, at the end. With `folder`, training is checkpointed there and goes on from what it finds.
    """
    trainer = _Trainer(architecture, data, recipe, torch.device(device), validation, _maybe_path(folder))
    return trainer.run(report, progress)


class _Trainer:
    def __init__(
        self,
        architecture: Architecture,
        data: ImageData,
        recipe: Recipe,
        device: torch.device,
        validation: int,
        folder: Path | None,
    ) -> None:
        network = replace(recipe.network, channels=data.channels, classes=data.classes)
        self.architecture, self.data, self.device, self.folder = architecture, data, device, folder
        self.recipe = recipe = replace(recipe, network=network)
        self.holds_back = validation > 0
        train, unseen = data.without_test(validation) if validation else (data.train, data.test)
        check(len(train) >= recipe.batch, f"{len(train)} training images do not fill a batch of {recipe.batch}")
        self.train = DeviceImages(train, data, device, recipe.augmentation)
        self.unseen = DeviceImages(unseen, data, device, NO_AUGMENTATION)
        made = fixed_network(architecture, network, seed=recipe.seed)
        self.network = channels_last(made, device)
        self.forward: Any = _compiled(self.network) if recipe.compile else self.network
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=recipe.schedule.highest, momentum=recipe.momentum, nesterov=True,
            weight_decay=recipe.weight_decay,
        )  # fmt: skip
        self.epoch, self.seconds = 0, 0.0
        self.history: list[dict[str, float]] = []
        self.settings = {
            "architecture": [list(architecture.operations), [list(skips) for skips in architecture.skips]],
            "outputs": list(architecture.outputs),
            "validation": validation,
            "data": data.name,
            **({} if folder is None else {"images": data.fingerprint}),
            **to_mapping(recipe),
        }

    def run(self, report: Report | None, progress: bool | None) -> Trained:
        recipe, parts = self.recipe, {"network": (self.network, self.optimizer)}
        self._resume(parts)
        before, started = self.seconds, time.monotonic()
        saved, finished = started, self.epoch >= recipe.epochs
        accuracy = self.history[-1].get("accuracy") if self.history else None
        # Shapes never change in training, so it pays to try all algorithms once.
        fast = convolutions(benchmark=True, deterministic=False)
        with fast, progress_bar("training", recipe.epochs, "epochs", progress) as bar:
            bar.skip(self.epoch)
            while self.epoch < recipe.epochs:
                with seeded_dropout(recipe.seed, self.epoch, self.device):
                    row = {"epoch": float(self.epoch + 1), "loss": self._train_epoch()}
                self.epoch += 1
                if self.holds_back:
                    accuracy = row["accuracy"] = self._accuracies(with_mirrors=False)[0]
                self.seconds = before + time.monotonic() - started
                self.history.append(row | {"seconds": self.seconds})
                bar.update(**row)
                if report is not None and accuracy is not None:
                    report(self.epoch, accuracy)
                if time.monotonic() - saved >= SECONDS_BETWEEN_SAVES:
                    self._save(parts)
                    saved = time.monotonic()
            at_end, with_mirrors = self._accuracies(self.data.mirrored)
        if not self.holds_back or accuracy is None:
            accuracy = at_end
        if not finished:  # measuring again costs nothing that belongs to training
            self.seconds = before + time.monotonic() - started
            self._save(parts)
        result = self._result(accuracy, with_mirrors)
        self._write(result)
        return result

    def _train_epoch(self) -> float:
        """One pass over the training images; the mean loss."""
        recipe, steps = self.recipe, len(self.train) // self.recipe.batch
        generator = batches_generator(recipe.seed, self.epoch, self.device)
        losses = torch.zeros((), device=self.device)
        self.network.train()
        for step, (images, labels) in enumerate(self.train.shuffled(recipe.batch, generator)):
            place = self.epoch + step / steps
            for group in self.optimizer.param_groups:
                group["lr"] = recipe.schedule.rate(place, place / recipe.epochs)
            with self._autocast():
                scores: Tensor = self.forward(images)
            loss = F.cross_entropy(scores.float(), labels, label_smoothing=recipe.label_smoothing)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            if recipe.gradient_norm > 0:
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), recipe.gradient_norm)
            self.optimizer.step()
            losses += loss.detach()
        mean = float(losses) / steps
        if mean != mean:
            raise DvaeError("training diverged: the loss is not a number; lower schedule.highest")
        return mean

    @torch.no_grad()
    def _accuracies(self, with_mirrors: bool) -> tuple[float, float | None]:
        """By the scores of each unseen image, and by those added to its mirror image's."""
        self.network.eval()
        correct = torch.zeros(2, dtype=torch.int64, device=self.device)
        for images, labels in self.unseen.parts(EVALUATION_BATCH):
            with self._autocast():
                scores = self.network(images)
                both = scores + self.network(images.flip(3)) if with_mirrors else scores
            correct += torch.stack([(one.argmax(1) == labels).sum() for one in (scores, both)])
        plain, mirrored = (count / len(self.unseen) for count in correct.tolist())
        return plain, mirrored if with_mirrors else None

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda")

    def _resume(self, parts: checkpoint.Parts) -> None:
        if self.folder is None or not (self.folder / CHECKPOINT).is_file():
            return
        header = checkpoint.load(self.folder / CHECKPOINT, parts, self.settings)
        self.epoch, self.seconds, self.history = header["epoch"], header["seconds"], header["history"]
        remove_leftovers(self.folder / CHECKPOINT)
        log.info("going on after epoch %d", self.epoch)

    def _save(self, parts: checkpoint.Parts) -> None:
        if self.folder is not None:
            header = {"epoch": self.epoch, "seconds": self.seconds, "history": self.history, "settings": self.settings}
            checkpoint.save(self.folder / CHECKPOINT, parts, header)

    def _result(self, accuracy: float, with_mirrors: float | None) -> Trained:
        size = size_of(self.architecture, self.recipe.network, resolution=self.data.side)
        images = "validation" if self.holds_back else "test"
        return Trained(
            accuracy, images, size, self.epoch, self.seconds, self.data.note, tuple(self.history), with_mirrors
        )

    def _write(self, result: Trained) -> None:
        if self.folder is None:
            return
        summary = {
            "accuracy": result.accuracy, "images": result.images,
            "accuracy_with_mirrors": result.accuracy_with_mirrors, "parameters": result.size.parameters,
            "flops": result.size.flops, "epochs": result.epochs, "seconds": result.seconds, "note": result.note,
        }  # fmt: skip
        record = provenance.record(self.recipe.seed, to_mapping(self.recipe))
        write_json(self.folder / RESULT, {"dag": to_plain(self.architecture.dag()), **summary, "record": record})


def _compiled(network: torch.nn.Module) -> Any:
    """The compiler keeps eight versions of a function, and networks are versions of one `forward`: the ninth would run
    uncompiled. So it forgets the ones before."""
    torch.compiler.reset()
    return torch.compile(network)


def _maybe_path(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder)
