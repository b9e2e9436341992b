"""Where the losses of every epoch go besides the run's folder: TensorBoard, MLflow, Weights & Biases.

All three are a `Tracker`. A training whose tracker fails goes on without it: its numbers are in metrics.csv anyway.
"""

from __future__ import annotations

import importlib
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from dvae.errors import DvaeError
from dvae.extras import missing
from dvae.files import read_json, write_json
from dvae.training.job import Row

log = logging.getLogger("dvae")

FILE = "trackers.json"  # by which a resumed training finds its place again
PROJECT = "dvae"
VALIDATION = "validation_"  # how names of numbers begin that were measured on validation DAGs
PARAMETER_LENGTH = 500  # what MLflow takes


class Tracker(Protocol):
    """Takes the numbers of one epoch after another."""

    def track(self, row: Row) -> None:
        """An epoch has ended; `row` has its number under "epoch"."""

    def close(self) -> None:
        """No more epochs will come in this process."""


class TensorBoardTracker:
    """Event files in the run's folder `tensorboard`."""

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        self.folder = folder

    def track(self, row: Row) -> None:
        from torch.utils.tensorboard import SummaryWriter

        with SummaryWriter(str(self.folder / "tensorboard")) as writer:  # whole after every epoch
            for name, value in metrics(row).items():
                writer.add_scalar(name, value, int(row["epoch"]))

    def close(self) -> None:
        pass


class MlflowTracker:
    """A run of MLflow, where its own variables say (MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME)."""

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        mlflow: Any = importlib.import_module("mlflow")
        self.entities: Any = importlib.import_module("mlflow.entities")
        self.client = mlflow.MlflowClient()
        known = recalled(folder, "mlflow")
        if known is None:
            experiment = mlflow.set_experiment(mlflow.environment_variables.MLFLOW_EXPERIMENT_NAME.get() or PROJECT)
            known = self.client.create_run(experiment.experiment_id, run_name=folder.name).info.run_id
            remember(folder, "mlflow", known)
            parameters = [self.entities.Param(name, str(value)[:PARAMETER_LENGTH]) for name, value in settings.items()]
            self.client.log_batch(known, params=parameters)
        else:
            self.client.update_run(known, status="RUNNING")
        self.run = known

    def track(self, row: Row) -> None:
        now, epoch = int(1000 * time.time()), int(row["epoch"])
        found = [self.entities.Metric(name, value, now, epoch) for name, value in metrics(row).items()]
        self.client.log_batch(self.run, metrics=found)

    def close(self) -> None:
        self.client.set_terminated(self.run)


class WandbTracker:
    """A run of Weights & Biases, where its own variables say (WANDB_PROJECT, WANDB_MODE=offline, ...)."""

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        wandb: Any = importlib.import_module("wandb")
        known = recalled(folder, "wandb")
        self.run = wandb.init(
            project=None if "WANDB_PROJECT" in os.environ else PROJECT,
            name=folder.name, id=known, resume="allow", config=dict(settings), dir=str(folder),
        )  # fmt: skip
        if known is None:
            remember(folder, "wandb", self.run.id)

    def track(self, row: Row) -> None:
        self.run.log(metrics(row), step=int(row["epoch"]))

    def close(self) -> None:
        self.run.finish()


TRACKERS: dict[str, Callable[[Path, Mapping[str, object]], Tracker]] = {
    "tensorboard": TensorBoardTracker,
    "mlflow": MlflowTracker,
    "wandb": WandbTracker,
}
NAMES = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "Weights & Biases"}


class Trackers:
    """All trackers of a training; `start` makes them."""

    def __init__(self, names: Sequence[str], folder: Path, settings: Mapping[str, object]) -> None:
        self.names, self.folder, self.settings = names, folder, settings
        self.open: dict[str, Tracker] = {}

    def start(self) -> None:
        """Greets every service, which may take seconds: not to be counted as training."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in self.names:
            try:
                self.open[name] = TRACKERS[name](self.folder, self.settings)
            except Exception as error:  # whatever a service may raise
                _lost(name, error)

    def track(self, row: Row) -> None:
        """Tells every tracker of an epoch."""
        for name, tracker in list(self.open.items()):
            try:
                tracker.track(row)
            except Exception as error:
                del self.open[name]
                _lost(name, error)

    def close(self) -> None:
        """Lets go of all of them."""
        for name, tracker in self.open.items():
            try:
                tracker.close()
            except Exception as error:
                _lost(name, error)
        self.open = {}


def check_installed(names: Sequence[str]) -> None:
    """Raises `MissingError` for the first tracker whose package is not there."""
    for name in names:
        try:
            there = find_spec(name) is not None
        except ValueError:  # a module without a specification, which somebody has put there
            there = True
        if not there:
            raise missing(name, name, f"logging for {NAMES[name]}")


def metrics(row: Row) -> dict[str, float]:
    """The numbers of an epoch as train/loss, validation/loss, ..."""
    named = {name: value for name, value in row.items() if name != "epoch"}
    return {
        f"validation/{name.removeprefix(VALIDATION)}" if name.startswith(VALIDATION) else f"train/{name}": value
        for name, value in named.items()
    }


def recalled(folder: Path, name: str) -> str | None:
    """The identity under which a tracker knows the run in `folder`."""
    if not (folder / FILE).is_file():
        return None
    found = read_json(folder / FILE)
    if not isinstance(found, dict) or not isinstance(found.get(name), str | None):
        raise DvaeError(f"{folder / FILE} does not say which runs of trackers these are; remove it to start new ones")
    known: str | None = found.get(name)
    return known


def remember(folder: Path, name: str, identity: str) -> None:
    """Notes the identity that a tracker has given the run in `folder`."""
    before = read_json(folder / FILE) if (folder / FILE).is_file() else {}
    write_json(folder / FILE, {**(before if isinstance(before, dict) else {}), name: identity})


def _lost(name: str, error: Exception) -> None:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    log.warning("%s is no longer told of this training: %s", NAMES[name], reason)
