"""Training of shared weights: every batch trains one architecture, drawn uniformly or by the controller of ENAS."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from dvae import provenance
from dvae.config import read_toml, to_mapping, to_toml, with_overrides
from dvae.data.images import ImageData, load_images
from dvae.errors import CheckpointError, MissingError
from dvae.files import write_json, write_text
from dvae.nas.architecture import Architecture
from dvae.nas.batches import NO_AUGMENTATION, DeviceImages, epoch_seed
from dvae.nas.controller import Controller
from dvae.nas.image_job import ImageJob
from dvae.nas.network import MacroNetwork, channels_last, supernet
from dvae.nas.scoring import count_correct
from dvae.nas.supernet_config import SupernetConfig
from dvae.tasks import EnasTask
from dvae.training import checkpoint
from dvae.training.job import Clock, Place, Row
from dvae.training.resumable import METRICS, run_job

__all__ = ["METRICS", "SETTINGS", "WEIGHTS", "SupernetResult", "load_supernet", "train_supernet"]

SETTINGS = "supernet.toml"
WEIGHTS = "supernet.safetensors"
RECORD = "supernet.json"
SECONDS_BETWEEN_SAVES = 15.0
WATCHED = 8  # architectures whose mean accuracy shows how training proceeds, on this many images:
WATCHED_IMAGES = 1_000
CONTROLLER_COLUMNS = ("reward", "entropy")  # of metrics.csv, where a controller samples
DRAWN_AHEAD = 64  # architectures drawn from the controller at once

Ended = Literal["epochs", "time-budget"]


@dataclass(frozen=True)
class SupernetResult:
    """How the training of shared weights ended, and a row for every epoch."""

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
    **settings: Any,
) -> SupernetResult:
    """Trains shared weights in `folder`; `settings` change single fields of `config`.

    With `minutes`, a schedule that is one curve over all training reaches its end when time does. A resumed run
    gives the weights of an uninterrupted one. Ctrl-C finishes the step, writes a checkpoint and raises
    `KeyboardInterrupt`.
    """
    config, folder = with_overrides(config, settings, "supernet"), Path(folder)
    data = data or load_images(config.data)
    job = _SharedTraining(config, folder, data, torch.device(device), Clock(None if minutes is None else 60 * minutes))
    # Without a checkpoint there is nothing to resume, and finished weights are never overwritten.
    held = (WEIGHTS,) if resume else (checkpoint.FILE, WEIGHTS, SETTINGS)
    if not (resume and (folder / checkpoint.FILE).is_file()) and any((folder / name).is_file() for name in held):
        raise CheckpointError(f"{folder} already holds a supernet: resume it (--resume) or choose another folder")
    done = run_job(job, folder, resume=resume, checkpoint_seconds=SECONDS_BETWEEN_SAVES, progress=progress)
    if done.ended == "interrupted":
        raise KeyboardInterrupt
    place = done.place
    ended: Ended = "time-budget" if done.ended == "time-budget" else "epochs"
    result = SupernetResult(ended, place.epoch, place.seconds, tuple(place.history), data.note)
    checkpoint.save(folder / WEIGHTS, {"network": (job.network, None)}, {})
    _write_record(folder, config, result, device)
    return result


def load_supernet(folder: str | Path, device: str = "cpu") -> tuple[SupernetConfig, MacroNetwork]:
    """Trained shared weights and how they were made."""
    folder = Path(folder)
    if not (folder / WEIGHTS).is_file():
        raise MissingError(f"{folder} holds no trained supernet ({WEIGHTS} is not there): dvae nas train-supernet")
    config = read_toml(SupernetConfig, folder / SETTINGS)
    network = supernet(config.depth, config.network)
    checkpoint.load_weights(folder / WEIGHTS, "network", network)
    return config, network.to(device).eval()


def _write_record(folder: Path, config: SupernetConfig, result: SupernetResult, device: str) -> None:
    summary = {"ended": result.ended, "epochs": result.epochs, "seconds": result.seconds}
    last = result.history[-1] if result.history else None
    record = provenance.record(config.seed, to_mapping(config))
    answer = {"result": summary, "last": last, "images": result.note, "device": device}
    write_json(folder / RECORD, {**answer, "record": record})


class _SharedTraining(ImageJob):
    title = "supernet"
    counts_short_epochs = True

    def __init__(
        self, config: SupernetConfig, folder: Path, data: ImageData, device: torch.device, clock: Clock
    ) -> None:
        self.config, self.folder = config, folder
        train, validation = data.without_test(config.validation)
        network = channels_last(supernet(config.depth, config.network, seed=config.seed), device)
        super().__init__(network, DeviceImages(train, data, device, config.augmentation), config, clock)
        self.validation = DeviceImages(validation, data, device, NO_AUGMENTATION)
        self.controller = Controller(config.depth, config.controller, config.seed).to(device)
        self.controller_optimizer = torch.optim.Adam(
            self.controller.parameters(), lr=config.controller.learning_rate, betas=(0.0, 0.999)
        )
        parts: dict[str, Any] = {"network": (network, self.optimizer)}
        if config.sampling == "enas":
            parts["controller"] = (self.controller, self.controller_optimizer)
        self.parts = parts
        self.settings = {key: value for key, value in to_mapping(config).items() if key != "epochs"}
        self.architectures: Iterator[Architecture] = iter(())
        watched = EnasTask(config.depth).sample(WATCHED, seed=config.seed)
        self.watched = sorted({Architecture.from_dag(dag) for dag in watched})

    def start(self) -> None:
        write_text(self.folder / SETTINGS, to_toml(self.config))
        if self.clock.budget is not None:  # where time is what runs out, it is also what is counted
            self.unit = None

    def begin_epoch(self, place: Place) -> None:
        super().begin_epoch(place)
        self.architectures = islice(self._drawn(place), place.step, None)

    def scores(self, images: Tensor) -> Tensor:
        found: Tensor = self.network(images, next(self.architectures))
        return found

    def share(self, place: Place) -> float:
        """By epochs or by time, whichever is more."""
        by_time = 0.0 if self.clock.budget is None else self.clock.seconds / self.clock.budget
        return max(super().share(place), by_time)

    def end_epoch(self, place: Place) -> Row:
        loss, accuracy = self.mean_loss(), float(self.correct) / (self.taken * self.config.batch)
        controlled = self._controlled(place)
        seconds = self.clock.seconds
        return {
            "epoch": place.epoch + 1, "loss": loss, "accuracy": accuracy, "watched": self._watched_accuracy(),
            "learning_rate": float(self.optimizer.param_groups[0]["lr"]), "seconds": seconds, **controlled,
        }  # fmt: skip

    def state(self) -> dict[str, Any]:
        return {**super().state(), "budget": self.clock.budget}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.clock.budget = self.clock.budget or state.get("budget")

    def total(self) -> float:
        return self.epochs if self.clock.budget is None else round(self.clock.budget)

    def done(self, place: Place) -> float:
        return super().done(place) if self.clock.budget is None else self.clock.seconds

    def shown(self, row: Row) -> dict[str, object]:
        return {"epoch": row["epoch"], "loss": row["loss"], "validation": f"{row['watched']:.3f}"}

    def _controlled(self, place: Place) -> dict[str, float]:
        """What is reported of the controller: what was last, where it has no time to learn."""
        if self.config.sampling != "enas":
            return {}
        if not self.clock.is_over:
            return self._controller_epoch(place)
        last = place.history[-1] if place.history else {}
        return {name: last.get(name, 0.0) for name in CONTROLLER_COLUMNS}

    def _controller_epoch(self, place: Place) -> dict[str, float]:
        """Steps of REINFORCE; the reward is the accuracy on one batch of validation images. Means of what was drawn."""
        config = self.config.controller
        generator = self.generator(place, 1)
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

    def _drawn(self, place: Place) -> Iterator[Architecture]:
        """The architectures of an epoch."""
        if self.config.sampling == "enas":
            generator = self.generator(place, 2)
            while True:
                with torch.no_grad():
                    drawn = self.controller.draw(DRAWN_AHEAD, generator)
                yield from drawn.architectures
        seed = epoch_seed(self.config.seed, place.epoch)
        yield from map(Architecture.from_dag, EnasTask(self.config.depth).sample(self.steps, seed))

    def _watched_accuracy(self) -> float:
        """The mean accuracy of a few fixed architectures: how good the shared weights are."""
        count = min(WATCHED_IMAGES, len(self.validation))
        part = (self.validation.plain(0, count), self.validation.labels[:count])
        correct = count_correct(self.network, self.watched, [part])
        return float(correct.double().mean()) / count
