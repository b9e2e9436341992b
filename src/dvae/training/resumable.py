"""The training loop: it can be stopped at any step and resumed, with the result of an uninterrupted run.

A `Job` is what is trained: its steps, what it reports after an epoch, what a checkpoint must hold. `run_job` does the
rest: resuming, checkpoints, time, Ctrl-C, metrics.csv, early stopping and the progress bar.
"""

from __future__ import annotations

import contextlib
import csv
import io
import logging
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dvae.errors import CheckpointError, DivergedError, DvaeError
from dvae.files import remove_leftovers, write_text
from dvae.progress import Progress, progress_bar
from dvae.training import checkpoint
from dvae.training.checkpoint import FILE
from dvae.training.interrupts import interruptible
from dvae.training.job import Ended, Job, Place, Row, place_of
from dvae.training.lock import locked
from dvae.training.snapshot import Snapshot

log = logging.getLogger("dvae")

METRICS = "metrics.csv"
FIRST_CHECKPOINT = 2.0  # seconds after which the first one is written, if the others are farther apart
LOWER_RATE = 0.1  # of the learning rate, after going back
STILL_GOOD = 1.0  # times the lowest loss above it: an epoch worth going back to
EXPLODED = 1e6  # times the lowest loss: as lost as one that is not finite ...
MAX_LOSS = 1e9  # ... as is one that began like this


@dataclass(frozen=True)
class Patience:
    """Stop when `column` of the history has not fallen for `epochs` epochs."""

    epochs: int
    column: str = "loss"


@dataclass(frozen=True)
class Finished:
    """How a training ended, where it is, and what it did in this process."""

    ended: Ended
    place: Place
    seconds: float  # in this process
    done: float  # in this process, in the unit of the progress bar


def run_job(
    job: Job,
    folder: Path | None = None,
    *,
    resume: bool = False,
    checkpoint_seconds: float = 30.0,
    patience: Patience | None = None,
    progress: bool | None = None,
) -> Finished:
    """Trains until the epochs, the time or the patience are used up, or Ctrl-C asks to stop after the step.

    When the loss or the weights are no longer finite, or the loss is a million times the lowest, training goes back to
    its last good epoch and on with a tenth of the learning rate; the second time, it stops there with a
    `DivergedError`. Weights that are not finite are never written.
    """
    loop = _Loop(job, folder, checkpoint_seconds, patience)
    with locked(folder) if folder is not None and job.writes else contextlib.nullcontext():
        loop.open(resume)
        return loop.run(progress)


class _Loop:
    def __init__(self, job: Job, folder: Path | None, checkpoint_seconds: float, patience: Patience | None) -> None:
        self.job, self.folder, self.patience = job, folder, patience
        self.checkpoint_seconds, self.saved_at = checkpoint_seconds, time.monotonic()
        self.next_save = min(checkpoint_seconds, FIRST_CHECKPOINT)
        self.place = Place()
        self.fields: dict[str, object] = {}

    def open(self, resume: bool) -> None:
        if self.folder is None or not self._is_kept():
            return
        if not resume:
            raise CheckpointError(f"{self.folder} already holds a run: resume it (--resume) or choose another folder")
        job, path = self.job, self.folder / FILE
        header = checkpoint.load(path, job.parts, job.settings, job.generators)
        self.place = place_of(header.get("place", {}), path)
        try:
            job.restore(header.get("state", {}))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
            if isinstance(error, DvaeError):
                raise
            raise CheckpointError(f"{path} does not hold the state of this training ({error!r})") from None
        if job.writes:
            remove_leftovers(path)
        log.info("resuming at epoch %d, step %d", self.place.epoch, self.place.step)

    def run(self, progress: bool | None) -> Finished:
        job, place = self.job, self.place
        job.start()
        job.clock.start(place.seconds)
        began, first, before = time.monotonic(), job.done(place), (place.epoch, place.step)
        self.good = Snapshot(job, place)
        with (
            interruptible() as interrupted,
            progress_bar(job.title, job.total(), job.unit, progress if job.writes else False) as bar,
        ):
            bar.skip(min(first, job.total()))
            diverged: DivergedError | None = None
            try:
                ended = self._epochs(interrupted, bar)
            except DivergedError as error:
                ended, diverged = "interrupted", error
            seconds = time.monotonic() - began
            if ended == "epochs":
                job.finish()
            if (place.epoch, place.step) != before:
                place.seconds = job.clock.seconds
            if (place.epoch, place.step) != before or not (self._is_kept() or diverged):
                self._save()
        if self.folder is not None and job.writes and place.history:
            write_metrics(self.folder, place.history)
        if diverged is not None:
            raise diverged
        return Finished(ended, place, seconds, job.done(place) - first)

    def _epochs(self, interrupted: threading.Event, bar: Progress) -> Ended:
        job, place = self.job, self.place
        while place.epoch < job.epochs:
            if self._is_stale():
                return "early-stop"
            job.begin_epoch(place)
            stop = self._steps(interrupted, bar)
            is_short = stop == "time-budget" and job.counts_short_epochs
            if not job.is_finite() or ((stop is None or is_short) and not self._end_epoch()):
                self._go_back()
                is_short = False
            if stop is not None and not is_short:
                return stop
            if is_short or (job.counts_short_epochs and job.clock.is_over):
                return "time-budget"
        return "epochs"

    def _steps(self, interrupted: threading.Event, bar: Progress) -> Ended | None:
        job, place = self.job, self.place
        while place.step < job.steps:
            job.step(place)
            place.step += 1
            bar.update(job.done(place) - bar.done, **self.fields)
            stop, save = job.agreed(self._reason_to_stop(interrupted), self._is_time_to_save())
            if stop or (save and not job.is_finite()):
                return stop
            if save:
                place.seconds = job.clock.seconds
                self._save()
        return None

    def _go_back(self) -> None:
        """Makes the training what it was after its last good epoch, with a lower rate; the second time, gives up."""
        job, place, epoch = self.job, self.place, self.place.epoch + 1
        self.good.put_back(place)
        if place.rate_share < 1:
            kept = f"what it was after epoch {place.epoch} is kept" if place.epoch else "nothing was learned"
            raise DivergedError(
                f"training diverged: in epoch {epoch} the loss or the weights left all bounds, also with a tenth of "
                f"the learning rate; {kept}: start again with a lower learning rate"
            )
        place.rate_share = LOWER_RATE
        job.slow_down(LOWER_RATE)
        where = f"the end of epoch {place.epoch}" if place.epoch else "its start"
        log.warning("training diverged in epoch %d: back to %s, and on with a tenth of the learning rate", epoch, where)

    def _reason_to_stop(self, interrupted: threading.Event) -> Ended | None:
        if interrupted.is_set():
            return "interrupted"
        return "time-budget" if self.job.clock.is_over else None

    def _is_time_to_save(self) -> bool:
        return self.folder is not None and time.monotonic() - self.saved_at >= self.next_save

    def _end_epoch(self) -> bool:
        """Takes the epoch into the history, unless its loss has grown beyond all bounds."""
        place = self.place
        place.seconds = self.job.clock.seconds
        row = self.job.end_epoch(place)
        lowest = min((before.get("loss", math.inf) for before in place.history), default=math.inf)
        size = max(1.0, abs(lowest))  # losses of numbers with a density may be negative
        if not row["loss"] <= min(MAX_LOSS, EXPLODED * size):
            return False
        place.history.append(row)
        place.epoch, place.step = place.epoch + 1, 0
        self.fields = self.job.shown(row)
        if self.folder is not None and self.job.writes:
            write_metrics(self.folder, place.history)
        if row["loss"] <= lowest + STILL_GOOD * size:
            self.good.take(place)
        return True

    def _is_stale(self) -> bool:
        if self.patience is None:
            return False
        best = best_row(self.place.history, self.patience.column)
        measured = [row for row in self.place.history if self.patience.column in row]
        return bool(measured) and measured[-1]["epoch"] - (best["epoch"] if best else 0) >= self.patience.epochs

    def _is_kept(self) -> bool:
        return self.folder is not None and (self.folder / FILE).is_file()

    def _save(self) -> None:
        state = self.job.state()  # perhaps gathered from several processes, so asked for in each
        if self.folder is not None and self.job.writes:
            self.job.prepare_checkpoint()
            header = {"place": asdict(self.place), "state": state, "settings": dict(self.job.settings)}
            checkpoint.save(self.folder / FILE, self.job.parts, header, self.job.generators)
        self.saved_at, self.next_save = time.monotonic(), self.checkpoint_seconds


def best_row(history: Sequence[Row], column: str) -> Row | None:
    """The first row with the lowest value of `column`, where there is one."""
    measured = [row for row in history if not math.isnan(row.get(column, math.nan))]
    return min(measured, key=lambda row: row[column], default=None)


def write_metrics(folder: Path, history: Sequence[Row]) -> None:
    """metrics.csv; a value that was not measured in an epoch is left empty."""
    columns = dict.fromkeys(name for row in history for name in row)
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(history)
    write_text(folder / METRICS, text.getvalue())
