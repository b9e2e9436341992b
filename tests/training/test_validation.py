"""DAGs that are not trained on: measured at intervals, without changing the training."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from dvae.dag import DagSet
from dvae.errors import CheckpointError, ConfigError
from dvae.models import load
from dvae.training import FitResult, fit, load_best
from dvae.training.validation import BEST, ValidationLosses, validation_losses
from training.runs import BATCH, TASK, data, model, same, train, weights
from training.test_resume import Crash, crash_after

COLUMNS = ["validation_loss", "validation_nll", "validation_kl", "validation_reconstruction"]


def unseen(count: int = 12):
    return TASK.sample_batch(count, seed=5)


def losses(result: FitResult) -> list[float | None]:
    return [row.get("validation_loss") for row in result.history]


def test_validation_changes_nothing_about_training(tmp_path: Path) -> None:
    plain, validated = model(), model()
    without = train(plain, tmp_path / "without")
    result = train(validated, tmp_path / "with", validation=unseen())
    assert same(weights(plain), weights(validated))
    for row, other in zip(result.history, without.history, strict=True):
        assert {key: row[key] for key in ("loss", "nll", "kl")} == {key: other[key] for key in ("loss", "nll", "kl")}
    assert (tmp_path / "without" / "metrics.csv").read_text().splitlines()[
        0
    ] == "epoch,loss,nll,kl,learning_rate,seconds"
    assert without.best_epoch is without.validation is None
    assert not (tmp_path / "without" / BEST).exists()


def test_losses_are_those_at_the_means_and_reconstruction_is_greedy() -> None:
    vae, batch = model(), unseen()
    result = train(vae, epochs=2, validation=batch)
    with torch.no_grad():
        expected = vae(batch, torch.zeros(len(batch), 3))
    nll, kl = float(expected.nll.mean()), float(expected.kl.mean())
    last = result.history[-1]
    assert last["validation_nll"] == pytest.approx(nll, rel=1e-5)
    assert last["validation_kl"] == pytest.approx(kl, rel=1e-5)
    assert last["validation_loss"] == pytest.approx(nll + 0.005 * kl, rel=1e-5)
    decoded = vae.decode_batch(vae.encode(batch).mean, greedy=True)
    same_share = sum(a == b for a, b in zip(TASK.keys(batch), TASK.keys(decoded), strict=True)) / len(batch)
    assert last["validation_reconstruction"] == same_share
    assert result.validation == {name: last[name] for name in COLUMNS}
    few = validation_losses(vae, batch, 3)
    assert (
        few.reconstruction == sum(a == b for a, b in zip(TASK.keys(batch)[:3], TASK.keys(decoded)[:3], strict=True)) / 3
    )
    assert validation_losses(vae, batch, 0).row().keys() == set(COLUMNS[:3])


def test_what_is_learnt_by_heart_comes_back() -> None:
    vae = model(hidden=32, latent=8, readout="sum", noise_scale=0.0)
    batch = data(6)
    result = train(vae, graphs=batch, epochs=90, validation=batch, validation_every=30)
    assert [row["epoch"] for row in result.history if "validation_loss" in row] == [30, 60, 90]
    assert result.history[-1]["validation_reconstruction"] == 1


def test_what_is_not_measured_is_left_empty(tmp_path: Path) -> None:
    train(model(), tmp_path, validation=unseen(), validation_every=2)
    with (tmp_path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[-4:] == COLUMNS
    assert [bool(row["validation_loss"]) for row in rows] == [False, True, False, True, False]


def test_dags_a_dag_set_and_a_batch_are_the_same_data() -> None:
    dags = TASK.sample(12, seed=5)
    found = []
    for given in (dags, DagSet.of(dags), unseen()):
        result = fit(model(), data(), validation=given, epochs=1, batch_size=BATCH, device="cpu", progress=False)
        found.append(result.validation)
    assert found[0] == found[1] == found[2]


def test_the_best_weights_are_kept_beside_the_last(tmp_path: Path) -> None:
    """A learning rate so high that later epochs are worse."""
    result = train(model(), tmp_path, epochs=12, learning_rate=0.1, validation=unseen())
    values = losses(result)
    best = min(range(12), key=lambda place: values[place])
    assert result.best_epoch == best + 1 < 12
    record = json.loads((tmp_path / "training.json").read_text())["result"]
    assert (record["best_epoch"], record["validation"]["validation_loss"]) == (best + 1, values[-1])
    again = model()
    train(again, epochs=best + 1, learning_rate=0.1)
    kept = load_best(load(tmp_path), tmp_path)
    assert same(weights(kept), weights(again))  # statistics of the latents too
    assert validation_losses(kept, unseen(), 0).loss == values[best]
    assert not same(weights(load(tmp_path)), weights(kept))


def test_losses_beyond_all_numbers_are_recorded_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beyond = ValidationLosses(float("inf"), float("inf"), 1.0, 0.0)
    monkeypatch.setattr("dvae.training.vae_job.validation_losses", lambda *_: beyond)
    result = train(model(), tmp_path, epochs=2, validation=unseen())
    assert not (tmp_path / "best.safetensors").exists()
    assert losses(result)[-1] == float("inf")
    assert json.loads((tmp_path / "training.json").read_text())["result"]["validation"]["validation_loss"] is None


@pytest.mark.parametrize("saves", [9, 20])
def test_a_resumed_run_has_the_same_best(saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"epochs": 6, "learning_rate": 0.3, "validation": unseen()}
    whole = train(model(), tmp_path / "whole", **options)
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train(model(), tmp_path / "parts", checkpoint_seconds=0.0, **options)
    parts = train(model(seed=99), tmp_path / "parts", resume=True, **options)
    assert (parts.best_epoch, losses(parts)) == (whole.best_epoch, losses(whole))
    one, two = (load_best(model(), tmp_path / name) for name in ("whole", "parts"))
    assert same(weights(one), weights(two))


def test_training_can_stop_early_by_validation(tmp_path: Path) -> None:
    options = {"epochs": 60, "learning_rate": 0.3, "early_stop": 3, "validation": unseen()}
    result = train(model(), tmp_path, early_stop_on="validation", **options)
    assert result.ended == "early-stop"
    assert result.best_epoch is not None
    assert result.epochs == result.best_epoch + 3
    again = train(model(seed=99), tmp_path, resume=True, early_stop_on="validation", **options)
    assert (again.ended, again.epochs) == ("early-stop", result.epochs)


def test_early_stopping_waits_for_what_is_measured() -> None:
    """One graph and next to no learning rate: nothing ever gets better."""
    still = {"graphs": data(1), "learning_rate": 1e-30, "validation": data(1)}
    result = train(
        model(noise_scale=0.0), epochs=50, early_stop=3, early_stop_on="validation", validation_every=5, **still
    )
    assert (result.ended, result.epochs, result.best_epoch) == ("early-stop", 10, 5)


def test_validation_may_begin_later_but_not_change(tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=1)
    later = train(model(), tmp_path, epochs=3, resume=True, validation=unseen())
    assert [value is None for value in losses(later)] == [True, False, False]
    with pytest.raises(CheckpointError, match="validated on other DAGs"):
        train(model(), tmp_path, epochs=4, resume=True, validation=unseen(11))
    assert train(model(), tmp_path, epochs=4, resume=True).epochs == 4


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ConfigError, match="no DAG to validate on"):
        train(model(), validation=[])
    with pytest.raises(ConfigError, match="needs validation DAGs"):
        train(model(), early_stop=2, early_stop_on="validation")
