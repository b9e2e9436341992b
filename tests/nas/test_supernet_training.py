from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from dvae.config import replace
from dvae.errors import CheckpointError, ConfigError, MissingError
from dvae.nas import supernet_training
from dvae.nas.controller import ControllerConfig
from dvae.nas.scores import SharedWeightAccuracy
from dvae.nas.supernet_config import SupernetConfig
from dvae.nas.supernet_training import load_supernet, train_supernet
from dvae.tasks import EnasTask
from dvae.training import checkpoint
from nas.examples import TINY, ctrl_c_at, stripes
from training.runs import same
from training.test_resume import Crash, crash_after

CONFIG = SupernetConfig(
    depth=3, data="stripes", validation=32, epochs=3, batch=16, network=TINY,
    controller=ControllerConfig(hidden=8, architectures=4, steps=2),
)  # fmt: skip


@pytest.mark.parametrize("sampling", ["uniform", "enas"])
def test_a_resumed_run_is_an_uninterrupted_one(sampling: str, tmp_path: Path) -> None:
    config = replace(CONFIG, sampling=sampling, **{"network.dropout": 0.3})
    whole = train_supernet(config, tmp_path / "whole", data=stripes())
    train_supernet(replace(config, epochs=1), tmp_path / "parts", data=stripes())
    parts = train_supernet(config, tmp_path / "parts", data=stripes(), resume=True)
    assert (whole.ended, whole.epochs) == ("epochs", 3)
    assert [row["loss"] for row in parts.history] == [row["loss"] for row in whole.history]
    one, two = (load_supernet(tmp_path / name)[1] for name in ("whole", "parts"))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))


@pytest.mark.parametrize("sampling", ["uniform", "enas"])
@pytest.mark.parametrize("saves", [2, 4, 5])
def test_a_run_that_was_killed_inside_an_epoch_goes_on(
    sampling: str, saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An epoch has four steps."""
    config = replace(CONFIG, sampling=sampling, epochs=2, **{"network.dropout": 0.3})
    whole = train_supernet(config, tmp_path / "whole", data=stripes())
    monkeypatch.setattr(supernet_training, "SECONDS_BETWEEN_SAVES", 0.0)
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train_supernet(config, tmp_path / "parts", data=stripes())
    parts = train_supernet(config, tmp_path / "parts", data=stripes(), resume=True)
    for name in ("loss", "accuracy", "watched"):
        assert [row[name] for row in parts.history] == [row[name] for row in whole.history]
    one, two = (load_file(tmp_path / name / checkpoint.FILE) for name in ("whole", "parts"))
    assert same(one, two)


def test_ctrl_c_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train_supernet(CONFIG, tmp_path / "whole", data=stripes())
    with monkeypatch.context() as patch:
        ctrl_c_at(6, patch)
        with pytest.raises(KeyboardInterrupt):
            train_supernet(CONFIG, tmp_path / "parts", data=stripes())
    place = checkpoint.read(tmp_path / "parts" / checkpoint.FILE)[1]["place"]
    assert (place["epoch"], place["step"]) == (1, 2)
    assert not (tmp_path / "parts" / "supernet.safetensors").exists()
    again = train_supernet(CONFIG, tmp_path / "parts", data=stripes(), resume=True)
    assert [row["loss"] for row in again.history] == [row["loss"] for row in whole.history]


def test_settings_given_by_name_are_checked(tmp_path: Path) -> None:
    assert train_supernet(CONFIG, tmp_path / "net", data=stripes(), epochs=1).epochs == 1
    with pytest.raises(ConfigError, match="supernet: unknown setting 'epoch'; did you mean 'epochs'"):
        train_supernet(CONFIG, tmp_path / "other", data=stripes(), epoch=1)
    with pytest.raises(ConfigError, match=r"supernet.epochs: expected an integer, got the string '1'"):
        train_supernet(CONFIG, tmp_path / "other", data=stripes(), epochs="1")
    with pytest.raises(ConfigError, match="depth: expected an integer"):
        SupernetConfig(depth="6")  # type: ignore[arg-type]


def test_a_controller_can_be_watched(tmp_path: Path) -> None:
    result = train_supernet(replace(CONFIG, sampling="enas"), tmp_path, data=stripes())
    assert all(0 <= row["reward"] <= 1 and row["entropy"] > 0 for row in result.history)
    header, *rows = (tmp_path / "metrics.csv").read_text().splitlines()
    assert header.endswith("reward,entropy")
    assert len(rows) == 3
    uniform = train_supernet(CONFIG, tmp_path / "uniform", data=stripes())
    assert "reward" not in uniform.history[0]


def test_a_run_from_before_the_controller_was_watched_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = replace(CONFIG, sampling="enas")
    with monkeypatch.context() as before:
        before.setattr(supernet_training, "CONTROLLER_COLUMNS", ())
        before.setattr(supernet_training._SharedTraining, "_controller_epoch", lambda job, place: {})
        train_supernet(replace(config, epochs=1), tmp_path, data=stripes())
    train_supernet(config, tmp_path, data=stripes(), resume=True)
    header, first, second, _ = (tmp_path / "metrics.csv").read_text().splitlines()
    assert header.endswith("reward,entropy")
    assert first.endswith(",,")
    assert not second.endswith(",,")


def test_a_limit_of_time_is_kept_over_interruptions(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=1_000_000)
    first = train_supernet(config, tmp_path, data=stripes(), minutes=0.02)
    again = train_supernet(config, tmp_path, data=stripes(), resume=True)  # an epoch, and time is over again
    assert (again.ended, again.epochs) == ("time-budget", first.epochs + 1)


def test_images_of_another_kind_are_refused(tmp_path: Path) -> None:
    train_supernet(replace(CONFIG, epochs=1), tmp_path, data=stripes())
    with pytest.raises(ConfigError, match=r"digits has 1 channels and 10 classes, the supernet in .* is for 1 and 2"):
        SharedWeightAccuracy(tmp_path, data="digits")
    assert SharedWeightAccuracy(tmp_path, data=stripes()).images.classes == 2
    with pytest.raises(ConfigError, match="digits has"):  # as the command line gives arguments
        SharedWeightAccuracy(folder=str(tmp_path), data="digits", device="cpu", images="20", batch="10")
    score = SharedWeightAccuracy(folder=str(tmp_path), data=stripes(), images="20", batch="10")
    assert (len(score.images), score.batch) == (20, 10)
    with pytest.raises(ConfigError, match="images must be a whole number of 1 or more, not 'all'"):
        SharedWeightAccuracy(str(tmp_path), data=stripes(), images="all")


def test_it_learns(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=12, **{"schedule.kind": "cosine", "augmentation.crop": 0.0})
    result = train_supernet(config, tmp_path / "net", data=stripes())
    assert result.history[-1]["loss"] < 0.75 * result.history[0]["loss"]
    score = SharedWeightAccuracy(tmp_path / "net", data=stripes())
    dags = EnasTask(3).sample(10, seed=1)
    accuracies = score.many(dags)
    assert sum(accuracies) / len(accuracies) > 0.7
    assert score(dags[0]) == accuracies[0]
    assert SharedWeightAccuracy(tmp_path / "net", data=stripes()).many(dags) == accuracies


def test_time_ends_training_and_keeps_the_weights(tmp_path: Path) -> None:
    result = train_supernet(replace(CONFIG, epochs=100_000), tmp_path / "net", data=stripes(), minutes=0.005)
    assert result.ended == "time-budget"
    assert load_supernet(tmp_path / "net")[0].epochs == 100_000


def test_a_supernet_is_not_overwritten_nor_resumed_as_another(tmp_path: Path) -> None:
    config = replace(CONFIG, epochs=1)
    train_supernet(config, tmp_path / "net", data=stripes())
    with pytest.raises(CheckpointError, match="already holds"):
        train_supernet(config, tmp_path / "net", data=stripes())
    (tmp_path / "killed").mkdir()
    (tmp_path / "net" / "supernet.toml").rename(tmp_path / "killed" / "supernet.toml")  # before its first checkpoint
    with pytest.raises(CheckpointError, match="already holds"):
        train_supernet(config, tmp_path / "killed", data=stripes())
    with pytest.raises(CheckpointError, match="batch = 16, not 8"):
        train_supernet(replace(config, batch=8), tmp_path / "net", data=stripes(), resume=True)


def test_what_is_missing_or_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="train-supernet"):
        load_supernet(tmp_path)
    with pytest.raises(ConfigError, match="do not fill a batch"):
        train_supernet(replace(CONFIG, batch=1000), tmp_path / "net", data=stripes())
    with pytest.raises(ConfigError, match="validation"):
        train_supernet(replace(CONFIG, validation=96), tmp_path / "net", data=stripes())
