"""Where stages are kept and made: their results on disk, and the data, models and scores they share in memory."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from dvae import provenance
from dvae.dag import DagBatch, Dataset
from dvae.errors import DvaeError, FormatError
from dvae.files import finite, read_json, write_json
from dvae.models import VAE, load
from dvae.paper.sources import Oracle, Source, oracle_of
from dvae.paper.stage import OutOfTime, Result, Stage
from dvae.tasks import Task

RESULT = "result.json"
STAGES, WORK = "stages", "work"
MIN_SECONDS = 5.0  # no stage is begun with less time left

T = TypeVar("T")


class StageStore:
    """Runs stages in a folder. A stage that has its result.json is finished; everything else may be deleted.

    The folder `stages` holds results, small enough to be moved to another machine; `work` holds what a stage in
    progress needs to continue after it was killed.
    """

    def __init__(
        self, folder: str | Path, *, device: str = "cpu", seconds: float | None = None, progress: bool | None = None
    ) -> None:
        self.root = Path(folder)
        self.device, self.progress = device, progress
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self._data: dict[Source, Dataset] = {}
        self._batches: dict[Source, DagBatch] = {}
        self._oracles: dict[Source, Oracle] = {}
        self._model: tuple[str, VAE] | None = None

    def folder(self, stage: Stage[Any]) -> Path:
        """Where the result of a stage is kept."""
        return self.root / STAGES / stage.folder_name

    def work_folder(self, stage: Stage[Any]) -> Path:
        """Where a stage in progress keeps what it needs to continue."""
        return self.root / WORK / stage.folder_name

    def seconds_left(self) -> float | None:
        """None without a time limit."""
        return None if self.deadline is None else self.deadline - time.monotonic()

    def is_done(self, stage: Stage[Any]) -> bool:
        """Whether the stage has its result."""
        return (self.folder(stage) / RESULT).is_file()

    def record(self, stage: Stage[Any]) -> Mapping[str, Any] | None:
        """The whole file of a finished stage: its result as plain values, when and where it was made."""
        path = self.folder(stage) / RESULT
        if not path.is_file():
            return None
        record = read_json(path)
        if not isinstance(record, dict) or not isinstance(record.get("result"), dict):
            raise FormatError(f"{path} is not the result of a stage; remove it to have it made again")
        return record

    def _read(self, stage: Stage[T], result: Result) -> T:
        path = self.folder(stage) / RESULT
        try:
            return stage.read(result, "result")
        except (DvaeError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            problem = f"{error} is missing" if isinstance(error, KeyError) else error
            raise FormatError(f"{path} cannot be read ({problem}); remove it to have it made again") from None

    def result(self, stage: Stage[T]) -> T | None:
        """The result of a finished stage."""
        record = self.record(stage)
        return None if record is None else self._read(stage, record["result"])

    def make(self, stage: Stage[T]) -> T:
        """Runs the stage, after what it needs, and keeps its result; raises `OutOfTime` where time is up."""
        for need in stage.needs():
            if not self.is_done(need):
                self.make(need)
        left = self.seconds_left()
        if left is not None and left < MIN_SECONDS:
            raise OutOfTime("the time is up")
        folder = self.folder(stage)
        shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was killed
        folder.mkdir(parents=True)
        started = time.monotonic()
        try:
            result = finite(stage.run(self))
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        record = {
            "stage": stage.kind,
            "title": stage.title,
            "key": stage.key,
            "seconds": time.monotonic() - started,
            "result": result,
            "provenance": provenance.record(stage.seed_of_model),
        }
        write_json(folder / RESULT, record)
        shutil.rmtree(self.work_folder(stage), ignore_errors=True)
        return self._read(stage, result)

    def task(self, source: Source) -> Task:
        """The task of a source."""
        return source.load_task()

    def data(self, source: Source) -> Dataset:
        """The data set of a source, read once."""
        if source not in self._data:
            self._data[source] = source.dataset(self.root)
        return self._data[source]

    def train_batch(self, source: Source) -> DagBatch:
        """The training DAGs of a source as tensors, made once."""
        if source not in self._batches:
            self._batches[source] = self.task(source).batch(self.data(source).train.dags)
        return self._batches[source]

    def oracle(self, source: Source) -> Oracle:
        """What scores new DAGs of a source, made once."""
        if source not in self._oracles:
            self._oracles[source] = oracle_of(self.task(source), self.data(source))
        return self._oracles[source]

    def model(self, stage: Stage[Any]) -> VAE:
        """The model of a training stage, in single precision; the last one asked for is remembered."""
        if not self.is_done(stage):
            self.make(stage)
        if self._model is None or self._model[0] != stage.key:
            self._model = (stage.key, load(self.folder(stage)).float().to(self.device))
        return self._model[1]
