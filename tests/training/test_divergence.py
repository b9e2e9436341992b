"""A training that diverges loses nothing that was good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dvae.errors import CheckpointError, DivergedError
from dvae.models import load
from dvae.training import checkpoint, vae_job
from dvae.training.validation import load_best
from training.runs import STEPS, data, model, same, train, weights


@pytest.fixture
def wreck(monkeypatch: pytest.MonkeyPatch):
    """Makes a weight infinite after the steps with these numbers."""

    def at(*steps: int) -> list[int]:
        real, count = vae_job.VaeJob.step, [0]

        def stepped(job: Any, place: Any) -> None:
            real(job, place)
            count[0] += 1
            if count[0] in steps:
                with torch.no_grad():
                    job.vae.mean.weight[0, 0] = torch.inf

        monkeypatch.setattr(vae_job.VaeJob, "step", stepped)
        return count

    return at


@pytest.mark.parametrize("in_folder", [False, True])
@pytest.mark.parametrize("schedule", ["plateau", "cosine"])
def test_it_goes_back_once_with_a_lower_rate(
    in_folder: bool, schedule: str, wreck, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wreck(2 * STEPS + 2)
    vae = model()
    result = train(vae, tmp_path if in_folder else None, schedule=schedule)
    assert (result.ended, result.epochs) == ("epochs", 5)
    rates = [row["learning_rate"] for row in result.history]
    assert rates[2] < 0.2 * rates[1]
    assert all(weight.isfinite().all() for weight in vae.parameters())
    assert "diverged in epoch 3: back to the end of epoch 2" in caplog.text


def test_the_second_time_it_stops_with_what_was_good(wreck, tmp_path: Path) -> None:
    good = model()
    train(good, epochs=2)
    wreck(2 * STEPS + 2, 3 * STEPS + 2)
    vae = model()
    with pytest.raises(DivergedError, match=r"in epoch 3 .* what it was after epoch 2 is kept"):
        train(vae, tmp_path)
    assert same(dict(vae.named_parameters()), dict(good.named_parameters()))
    kept = model(seed=9)
    checkpoint.load_weights(tmp_path / checkpoint.FILE, "vae", kept)
    assert same(dict(kept.named_parameters()), dict(good.named_parameters()))
    assert len((tmp_path / "metrics.csv").read_text().splitlines()) == 3


def test_going_back_counts_across_processes(wreck, tmp_path: Path) -> None:
    wreck(2 * STEPS + 2)
    train(model(), tmp_path, epochs=3)
    wreck(1)
    with pytest.raises(DivergedError):
        train(model(), tmp_path, epochs=5, resume=True)
    assert checkpoint.read(tmp_path / checkpoint.FILE)[1]["place"]["epoch"] == 3


def test_no_checkpoint_has_numbers_that_are_not_finite(wreck, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wreck(STEPS + 2)
    real, written = checkpoint.save, []

    def save(path: Path, parts: Any, *rest: Any) -> None:
        written.append(all(weight.isfinite().all() for weight in parts["vae"][0].parameters()))
        real(path, parts, *rest)

    monkeypatch.setattr(checkpoint, "save", save)
    train(model(), tmp_path, checkpoint_seconds=0.0)
    assert len(written) > 10
    assert all(written)


def test_a_loss_beyond_all_bounds_counts_as_divergence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    vae = model()
    with pytest.raises(DivergedError, match="nothing was learned"):
        train(vae, tmp_path, learning_rate=1e4)
    assert not (tmp_path / checkpoint.FILE).exists()
    assert same(weights(vae), weights(model()))


def test_the_best_epoch_survives(wreck, tmp_path: Path) -> None:
    wreck(2 * STEPS + 2, 3 * STEPS + 2)
    with pytest.raises(DivergedError):
        train(model(), tmp_path, validation=data(8))
    assert load_best(model(seed=9), tmp_path).encode(data(3)).mean.isfinite().all()


def test_weights_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    vae = model()
    with torch.no_grad():
        vae.mean.weight[0, 0] = torch.nan
    vae.save(tmp_path)
    with pytest.raises(CheckpointError, match=r"not finite \(in mean.weight\): the training that wrote it diverged"):
        load(tmp_path)
