"""Training of shared weights: every batch trains one architecture, drawn uniformly or by the controller of ENAS."""

from __future__ import annotations

import csv
import io
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from dvae import provenance
from dvae.config import check, read_toml, to_mapping, to_toml
from dvae.data.images import ImageData, load_images
from dvae.errors import CheckpointError, MissingError
from dvae.files import remove_leftovers, write_json, write_text
from dvae.models.storage import load_distinct_state
from dvae.nas import checkpoint
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, Augmentation, DeviceImages, batches_generator, seeded_dropout
from dvae.nas.config import NetworkConfig
from dvae.nas.controller import Controller, ControllerConfig
from dvae.nas.network import MacroNetwork, channels_last, supernet
from dvae.nas.schedules import Schedule
from dvae.nas.scoring import count_correct
from dvae.progress import progress_bar
from dvae.tasks import EnasTask

log = logging.getLogger("dvae")

SETTINGS = "supernet.toml"
WEIGHTS = "supernet.safetensors"
CHECKPOINT = "checkpoint.safetensors"
METRICS = "metrics.csv"
RECORD = "supernet.json"
SECONDS_BETWEEN_SAVES = 15.0
WATCHED = 8  # architectures whose mean accuracy tells how training goes, on so many images:
WATCHED_IMAGES = 1_000
CONTROLLER_COLUMNS = ("reward", "entropy")  # of metrics.csv, where a controller samples
DRAWN_AHEAD = 64  # architectures drawn from the controller at once

Ended = Literal["epochs", "time-budget"]


@dataclass(frozen=True)
class SupernetConfig:
    """The original's settings, but for uniform sampling, the default here."""

    depth: int = 6
    data: str = "cifar10"
    validation: int = 5_000  # the last training images, kept for scores
    sampling: Literal["uniform", "enas"] = "uniform"
    epochs: int = 310
    batch: int = 128
    weight_decay: float = 2.5e-4
    momentum: float = 0.9
    gradient_norm: float = 5.0  # longer gradients are shortened to this
    seed: int = 0
    network: NetworkConfig = field(default_factory=NetworkConfig)
    schedule: Schedule = field(default_factory=Schedule)
    augmentation: Augmentation = field(default_factory=lambda: Augmentation(cutout=0.0))
    controller: ControllerConfig = field(default_factory=ControllerConfig)

    def __post_init__(self) -> None:
        check(self.depth >= 1, f"depth must be 1 or more: {self.depth}")
        check(self.epochs >= 1 and self.batch >= 2, "epochs must be 1 or more, batch 2 or more")
        check(self.validation >= 1, f"validation must be 1 or more: {self.validation}")
        check(self.weight_decay >= 0 and 0 <= self.momentum < 1, "weight_decay and momentum are out of range")
        check(self.gradient_norm > 0, f"gradient_norm must be positive: {self.gradient_norm}")
        check(self.augmentation.mixing == 0, "mixing is for full training; a supernet learns from whole images")


@dataclass(frozen=True)
class SupernetResult:
    ended: Ended
    epochs: int
    seconds: float
    history: tuple[dict[str, float], ...]
    note: str  # about the images


def train_supernet(
    config: SupernetConfig,
    folder: str | Path,
    *,
    data: ImageData | None = None,
    device: str = "cpu",
    minutes: float | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> SupernetResult:
    """Trains shared weights in `folder`.

    With `minutes`, a schedule that is one curve over all training reaches its end when time does. Checkpoints are
    written at ends of epochs; a run resumed from one goes on as if it had not stopped.
    """
    data = data or load_images(config.data)
    trainer = _Trainer(config, Path(folder), data, torch.device(device), None if minutes is None else 60 * minutes)
    trainer.open(resume)
    result = trainer.run(progress)
    trainer.close(result)
    return result


def load_supernet(folder: str | Path, device: str = "cpu") -> tuple[SupernetConfig, MacroNetwork]:
    """Trained shared weights and how they were made."""
    folder = Path(folder)
    if not (folder / WEIGHTS).is_file():
        raise MissingError(f"{folder} holds no trained supernet ({WEIGHTS} is not there): dvae nas train-supernet")
    config = read_toml(SupernetConfig, folder / SETTINGS)
    network = supernet(config.depth, config.network)
    tensors, _ = checkpoint.read(folder / WEIGHTS)
    with torch.no_grad():
        prefix = "network.model."
        state = {name.removeprefix(prefix): value for name, value in tensors.items()}
        load_distinct_state(network, state, folder / WEIGHTS)
    return config, network.to(device).eval()


class _Trainer:
    def __init__(
        self, config: SupernetConfig, folder: Path, data: ImageData, device: torch.device, budget: float | None
    ) -> None:
        self.config, self.folder, self.data, self.device, self.budget = config, folder, data, device, budget
        train, validation = data.without_test(config.validation)
        check(len(train) >= config.batch, f"{len(train)} training images do not fill a batch of {config.batch}")
        self.train = DeviceImages(train, data, device, config.augmentation)
        self.validation = DeviceImages(validation, data, device, NO_AUGMENTATION)
        network = supernet(config.depth, config.network, seed=config.seed)
        self.network = channels_last(network, device)
        self.optimizer = torch.optim.SGD(
            self.network.parameters(), lr=config.schedule.highest, momentum=config.momentum, nesterov=True,
            weight_decay=config.weight_decay,
        )  # fmt: skip
        self.controller = Controller(config.depth, config.controller, config.seed).to(device)
        self.controller_optimizer = torch.optim.Adam(
            self.controller.parameters(), lr=config.controller.learning_rate, betas=(0.0, 0.999)
        )
        self.epoch, self.seconds = 0, 0.0
        self.history: list[dict[str, float]] = []
        self.started = self.saved = time.monotonic()
        watched = EnasTask(config.depth).sample(WATCHED, seed=config.seed)
        self.watched = sorted({Architecture.from_dag(dag) for dag in watched})

    @property
    def parts(self) -> checkpoint.Parts:
        parts: dict[str, Any] = {"network": (self.network, self.optimizer)}
        if self.config.sampling == "enas":
            parts["controller"] = (self.controller, self.controller_optimizer)
        return parts

    @property
    def settings(self) -> dict[str, object]:
        """What must not change between a run and its resumption."""
        return {key: value for key, value in to_mapping(self.config).items() if key != "epochs"}

    def open(self, resume: bool) -> None:
        path = self.folder / CHECKPOINT
        held = (WEIGHTS,) if resume else (CHECKPOINT, WEIGHTS, SETTINGS)  # what is not to be overwritten
        if resume and path.is_file():
            header = checkpoint.load(path, self.parts, self.settings)
            self.epoch, self.seconds, self.history = header["epoch"], header["seconds"], header["history"]
            self.budget = self.budget or header.get("budget")
            remove_leftovers(path)
            log.info("resuming at epoch %d", self.epoch)
        elif any((self.folder / name).is_file() for name in held):
            raise CheckpointError(f"{self.folder} already holds a supernet: go on with --resume, or choose another")
        write_text(self.folder / SETTINGS, to_toml(self.config))

    def run(self, progress: bool | None) -> SupernetResult:
        config = self.config
        before, self.started = self.seconds, time.monotonic()
        ended: Ended = "epochs"
        controlled: dict[str, float] = {}
        if config.sampling == "enas":  # what was told last, until the controller has learned again
            last = self.history[-1] if self.history else {}
            controlled = {name: last.get(name, 0.0) for name in CONTROLLER_COLUMNS}
        # Where time is what runs out, it is also what is counted.
        total, unit = (config.epochs, "epochs") if self.budget is None else (round(self.budget), None)
        with progress_bar("supernet", total=total, unit=unit, enabled=progress) as bar:
            bar.skip(min(self.epoch if self.budget is None else before, total))
            while self.epoch < config.epochs:
                with seeded_dropout(config.seed, self.epoch, self.device):
                    loss, accuracy = self._child_epoch(before)
                if config.sampling == "enas" and not self._out_of_time(before):
                    controlled = self._controller_epoch()
                self.epoch += 1
                self.seconds = before + time.monotonic() - self.started
                row = {
                    "epoch": self.epoch, "loss": loss, "accuracy": accuracy, "watched": self._watched_accuracy(),
                    "learning_rate": float(self.optimizer.param_groups[0]["lr"]), "seconds": self.seconds,
                    **controlled,
                }  # fmt: skip
                self.history.append(row)
                advance = 1.0 if self.budget is None else self.seconds - bar.done
                bar.update(advance, epoch=self.epoch, loss=loss, validation=f"{row['watched']:.3f}")
                if self._out_of_time(before):
                    ended = "time-budget"
                    break
                if time.monotonic() - self.saved >= SECONDS_BETWEEN_SAVES:
                    self._save()
        self._save()
        return SupernetResult(ended, self.epoch, self.seconds, tuple(self.history), self.data.note)

    def close(self, result: SupernetResult) -> None:
        checkpoint.save(self.folder / WEIGHTS, {"network": (self.network, None)}, {})
        summary = {"ended": result.ended, "epochs": result.epochs, "seconds": result.seconds}
        last = result.history[-1] if result.history else None
        record = provenance.record(self.config.seed, to_mapping(self.config))
        answer = {"result": summary, "last": last, "images": self.data.note, "device": str(self.device)}
        write_json(self.folder / RECORD, {**answer, "record": record})

    def _child_epoch(self, before: float) -> tuple[float, float]:
        """One pass over the training images; mean loss and accuracy."""
        config, steps = self.config, len(self.train) // self.config.batch
        generator = batches_generator(config.seed, self.epoch, self.device)
        architectures = self._architectures()
        losses = torch.zeros((), device=self.device)
        correct = torch.zeros((), device=self.device)
        self.network.train()
        done = 0
        for step, (images, labels) in enumerate(self.train.shuffled(config.batch, generator)):
            place = self.epoch + step / steps
            rate = config.schedule.rate(place, self._share(place, before))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
                scores = self.network(images, next(architectures))
            loss = F.cross_entropy(scores.float(), labels)
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), config.gradient_norm)
            self.optimizer.step()
            losses += loss.detach()
            correct += (scores.argmax(1) == labels).sum()
            done += 1
            if self._out_of_time(before):
                break
        return float(losses) / done, float(correct) / (done * config.batch)

    def _controller_epoch(self) -> dict[str, float]:
        """Steps of REINFORCE; the reward is the accuracy on one batch of validation images. Means of what was drawn."""
        config = self.config.controller
        generator = batches_generator(self.config.seed + 1, self.epoch, self.device)
        size = min(self.config.batch, len(self.validation))
        sums = torch.zeros(len(CONTROLLER_COLUMNS), device=self.device)
        for _ in range(config.steps):
            drawn = self.controller.draw(config.architectures, generator)
            first = int(torch.randint(len(self.validation) - size + 1, (1,), generator=generator, device=self.device))
            part = (self.validation.plain(first, first + size), self.validation.labels[first : first + size])
            rewards = self._accuracies(drawn.architectures, part)
            loss = self.controller.loss(drawn, rewards)
            self.controller_optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.controller_optimizer.step()
            sums += torch.stack([rewards.mean(), drawn.entropy.detach().mean()])
        return dict(zip(CONTROLLER_COLUMNS, (sums / config.steps).tolist(), strict=True))

    def _accuracies(self, architectures: list[Architecture], part: tuple[Tensor, Tensor]) -> Tensor:
        distinct = sorted(set(architectures))
        shares = count_correct(self.network, distinct, [part]).float() / len(part[1])
        place = {architecture: index for index, architecture in enumerate(distinct)}
        return shares[[place[architecture] for architecture in architectures]].clone()

    def _architectures(self) -> Iterator[Architecture]:
        """The architectures of an epoch, without end."""
        config = self.config
        if config.sampling == "enas":
            generator = batches_generator(config.seed + 2, self.epoch, self.device)
            while True:
                with torch.no_grad():
                    drawn = self.controller.draw(DRAWN_AHEAD, generator)
                yield from drawn.architectures
        steps = len(self.train) // config.batch
        seed = config.seed * 1_000_003 + self.epoch
        yield from map(Architecture.from_dag, EnasTask(config.depth).sample(steps, seed))

    def _watched_accuracy(self) -> float:
        """The mean accuracy of a few fixed architectures: how good the shared weights are."""
        count = min(WATCHED_IMAGES, len(self.validation))
        part = (self.validation.plain(0, count), self.validation.labels[:count])
        correct = count_correct(self.network, self.watched, [part])
        return float(correct.double().mean()) / count

    def _share(self, place: float, before: float) -> float:
        """How much of training is done, by epochs or by time, whichever is more."""
        share = place / self.config.epochs
        if self.budget is not None:
            share = max(share, (before + time.monotonic() - self.started) / self.budget)
        return share

    def _out_of_time(self, before: float) -> bool:
        return self.budget is not None and before + time.monotonic() - self.started >= self.budget

    def _save(self) -> None:
        header = {
            "epoch": self.epoch, "seconds": self.seconds, "history": self.history, "settings": self.settings,
            "budget": self.budget,
        }  # fmt: skip
        checkpoint.save(self.folder / CHECKPOINT, self.parts, header)
        if self.history:
            text = io.StringIO()
            # Rows of a run begun before a column was there leave it empty.
            writer = csv.DictWriter(text, fieldnames=list(self.history[-1]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.history)
            write_text(self.folder / METRICS, text.getvalue())
        self.saved = time.monotonic()
