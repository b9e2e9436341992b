"""What the resumable loop needs to know of anything that is trained."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from dvae.errors import CheckpointError
from dvae.training.checkpoint import Generators, Parts

Ended = Literal["epochs", "early-stop", "time-budget", "interrupted"]
Row = dict[str, float]

MAX_COUNT = 2**53  # of epochs and steps; more is no count


@dataclass
class Place:
    """How far a training is: whole epochs, steps of the unfinished one, seconds, and a row for every epoch."""

    epoch: int = 0
    step: int = 0
    seconds: float = 0.0
    history: list[Row] = field(default_factory=list)
    rate_share: float = 1.0  # of the learning rate; less once training has diverged and gone back


def place_of(mapping: Mapping[str, Any], where: object) -> Place:
    """The place that the checkpoint `where` names."""
    try:
        place = Place(**mapping)
        whole = all(type(count) is int and 0 <= count < MAX_COUNT for count in (place.epoch, place.step))
        timed = 0 <= place.seconds < math.inf and 0 < place.rate_share <= 1
        rows = all(isinstance(value, int | float) for row in place.history for value in row.values())
        ordered = all(type(row["epoch"]) in (int, float) for row in place.history)
    except (TypeError, AttributeError, KeyError):
        whole = timed = rows = ordered = False
    if not (whole and timed and rows and ordered):
        raise CheckpointError(f"{where} does not tell where its training was: epochs, steps, seconds and a history")
    return place


class Clock:
    """Seconds of training, those before an interruption included, and how many there may be."""

    def __init__(self, budget: float | None = None) -> None:
        self.budget = budget
        self._before, self._started = 0.0, time.monotonic()

    def start(self, before: float) -> None:
        """Starts to count, after `before` seconds in earlier processes."""
        self._before, self._started = before, time.monotonic()

    @property
    def seconds(self) -> float:
        return self._before + time.monotonic() - self._started

    @property
    def share(self) -> float:
        """How much of the budget is used."""
        return 0.0 if self.budget is None else self.seconds / self.budget

    @property
    def is_over(self) -> bool:
        return self.budget is not None and self.seconds >= self.budget


class Job:
    """What is trained, as the loop sees it."""

    title = "training"
    unit: str | None = "epochs"  # what the progress bar counts
    counts_short_epochs = False  # whether an epoch cut short by the time budget counts
    writes = True  # of several processes, one writes files
    parts: Parts
    generators: Generators
    settings: Mapping[str, Any]  # what must not change between a training and its resumption
    epochs: int
    steps: int  # per epoch

    def __init__(self, clock: Clock) -> None:
        self.clock, self.generators = clock, {}

    def begin_epoch(self, place: Place) -> None:
        """Prepares the steps of the epoch at `place`, from `place.step` on."""
        raise NotImplementedError

    def step(self, place: Place) -> None:
        """Takes the step at `place`."""
        raise NotImplementedError

    def end_epoch(self, place: Place) -> Row:
        """What is reported of the epoch at `place`, whose steps are all taken."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Plain values that a checkpoint must hold beside parts and generators."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Takes back what `state` gave."""

    def is_finite(self) -> bool:
        """Whether the weights are still numbers; asked at the ends of epochs and before every checkpoint."""
        weights = [weight for module, _ in self.parts.values() for weight in module.parameters()]
        # A sum is finite where all of its terms are, and makes no copy of them.
        return not weights or bool(torch.stack([weight.detach().sum() for weight in weights]).isfinite().all())

    def slow_down(self, share: float) -> None:
        """Lowers a learning rate that is not computed anew, with `Place.rate_share`, at every step."""

    def start(self) -> None:
        """Is called once, before the first step and after everything is restored."""

    def prepare_checkpoint(self) -> None:
        """Is called in the process that writes, before every checkpoint."""

    def finish(self) -> None:
        """Is called when all epochs are done; its time counts as training."""

    def agreed(self, stop: Ended | None, save: bool) -> tuple[Ended | None, bool]:
        """What all processes do, which must stop and save together."""
        return stop, save

    def total(self) -> float:
        """The length of the progress bar."""
        return self.epochs

    def done(self, place: Place) -> float:
        """How far along the progress bar `place` is."""
        return place.epoch + place.step / self.steps

    def shown(self, row: Row) -> dict[str, object]:
        """What the progress bar shows of an epoch's row."""
        return dict(row)
