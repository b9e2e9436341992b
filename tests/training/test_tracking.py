"""Losses that go to TensorBoard, MLflow and Weights & Biases as well."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from dvae import Run
from dvae.errors import ConfigError, DvaeError, MissingError
from dvae.training.tracking import FILE, metrics, recalled

SMALL: dict[str, Any] = {"task": "asia", "size": 40, "hidden": 8, "latent": 4, "batch_size": 20, "preset": "paper"}


class Book:
    """What stand-ins for services were told."""

    def __init__(self) -> None:
        self.started: list[str | None] = []
        self.rows: list[tuple[int, dict[str, float]]] = []
        self.settings: dict[str, object] = {}
        self.closed = 0
        self.fails = False

    def take(self, step: int, row: dict[str, float]) -> None:
        if self.fails:
            raise ConnectionError("the service is away\nand more")
        self.rows.append((step, row))


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> Book:
    """In place of Weights & Biases."""
    book, module = Book(), ModuleType("wandb")

    def init(**about: Any) -> SimpleNamespace:
        book.started.append(about["id"])
        book.settings = about["config"]
        return SimpleNamespace(id="run-7", log=lambda row, step: book.take(step, row), finish=lambda: close(book))

    module.init = init  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wandb", module)
    return book


def close(book: Book) -> None:
    book.closed += 1


@pytest.fixture
def mlflow(monkeypatch: pytest.MonkeyPatch) -> Book:
    """In place of MLflow."""
    book, module, entities = Book(), ModuleType("mlflow"), ModuleType("mlflow.entities")

    class Client:
        def create_run(self, experiment: str, run_name: str) -> SimpleNamespace:
            book.started.append(None)
            return SimpleNamespace(info=SimpleNamespace(run_id=f"{experiment}-{run_name}"))

        def update_run(self, run: str, status: str) -> None:
            book.started.append(run)

        def log_batch(self, run: str, metrics: Any = (), params: Any = ()) -> None:
            book.settings |= {param.key: param.value for param in params}
            if metrics:
                book.take(metrics[0].step, {metric.key: metric.value for metric in metrics})

        def set_terminated(self, run: str) -> None:
            close(book)

    names = SimpleNamespace(MLFLOW_EXPERIMENT_NAME=SimpleNamespace(get=lambda: None))
    contents = {"MlflowClient": Client, "environment_variables": names, "entities": entities}
    contents["set_experiment"] = lambda name: SimpleNamespace(experiment_id=name)
    for name, thing in contents.items():
        setattr(module, name, thing)
    entities.Param = lambda key, value: SimpleNamespace(key=key, value=value)  # type: ignore[attr-defined]
    entities.Metric = lambda key, value, timestamp, step: SimpleNamespace(  # type: ignore[attr-defined]
        key=key, value=value, timestamp=timestamp, step=step
    )
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    return book


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_a_service_is_told_every_epoch_and_a_resumed_training_goes_on_there(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    book: Book = request.getfixturevalue(name)
    run = Run.create(tmp_path / "run", epochs=2, validation=0.2, **{name: True}, **SMALL)
    run.fit(progress=False)
    assert [step for step, _ in book.rows] == [1, 2]
    assert {"train/loss", "train/kl", "validation/loss"} <= book.rows[0][1].keys()
    assert str(book.settings["epochs"]) == "2"
    assert book.settings["task"] == "asia"
    assert str(book.settings["model.hidden"]) == "8"
    assert book.closed == 1
    run.fit(resume=True, epochs=3, progress=False)
    assert [step for step, _ in book.rows] == [1, 2, 3]
    known = recalled(tmp_path / "run", name)
    assert book.started == [None, known]
    assert known is not None
    last = (tmp_path / "run" / "metrics.csv").read_text().splitlines()[-1].split(",")
    assert book.rows[-1][1]["train/loss"] == pytest.approx(float(last[1]))


def test_a_service_that_fails_does_not_end_a_training(
    wandb: Book, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wandb.fails = True
    run = Run.create(tmp_path / "run", epochs=3, wandb=True, **SMALL)
    with caplog.at_level(logging.WARNING, logger="dvae"):
        assert run.fit(progress=False).epochs == 3
    assert caplog.messages == ["Weights & Biases is no longer told of this training: the service is away"]


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_without_the_package_training_does_not_start(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    run = Run.create(tmp_path / "run", epochs=1, **{name: True}, **SMALL)
    with pytest.raises(MissingError, match=f"needs the package {name}: pip install '{name}"):
        run.fit(progress=False)
    assert not (tmp_path / "run").exists()


def test_tensorboard_gets_the_same_numbers(tmp_path: Path) -> None:
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    Run.create(tmp_path / "run", epochs=2, tensorboard=True, **SMALL).fit(progress=False)
    found = events.EventAccumulator(str(tmp_path / "run" / "tensorboard"))
    found.Reload()
    losses = [line.split(",")[1] for line in (tmp_path / "run" / "metrics.csv").read_text().splitlines()[1:]]
    assert [event.value for event in found.Scalars("train/loss")] == pytest.approx([float(loss) for loss in losses])


def test_names_of_numbers_say_which_dags_they_are_of() -> None:
    row = {"epoch": 3.0, "loss": 1.0, "validation_loss": 2.0}
    assert metrics(row) == {"train/loss": 1.0, "validation/loss": 2.0}


def test_a_damaged_memory_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(json.dumps({"wandb": 3}))
    with pytest.raises(DvaeError, match="remove it to start new ones"):
        recalled(tmp_path, "wandb")


def test_trackers_are_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected true or false"):
        Run.create(tmp_path / "run", mlflow="yes", **SMALL)
