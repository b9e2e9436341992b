"""A run that stops anywhere goes on as if it had not stopped: bit for bit, on one CPU process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dvae.dag import DagSet
from dvae.errors import CheckpointError
from dvae.training import checkpoint
from training.runs import GRAPHS, STEPS, TASK, data, model, same, train, weights


class Crash(Exception):
    pass


@pytest.fixture(scope="module")
def uninterrupted() -> dict:
    vae = model()
    train(vae)
    return weights(vae)


def crash_after(saves: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the n-th checkpoint be written, and nothing happen after it."""
    real, count = checkpoint.save, [0]

    def save(*args, **kwargs) -> None:
        real(*args, **kwargs)
        count[0] += 1
        if count[0] == saves:
            raise Crash

    monkeypatch.setattr(checkpoint, "save", save)


@pytest.mark.parametrize("saves", [1, STEPS - 1, STEPS, STEPS + 1, 5 * STEPS - 1, 5 * STEPS, 5 * STEPS + 1])
def test_after_a_crash(saves: int, uninterrupted: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train(model(), tmp_path, checkpoint_seconds=0.0)
    resumed = model(seed=99)  # its own weights must not matter
    result = train(resumed, tmp_path, resume=True)
    assert (result.ended, len(result.history)) == ("epochs", 5)
    assert same(weights(resumed), uninterrupted)


@pytest.mark.parametrize("head", ["linear", "one-to-one"])
@pytest.mark.parametrize("saves", [1, STEPS, 2 * STEPS + 1])
def test_after_a_crash_with_heads(head: str, saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Features and scores are learned beside the graphs; a resumed run learns the same, and carries on their sums."""
    dags = TASK.sample(GRAPHS, seed=0)
    scored = DagSet.of(dags, [len(dag.edges) if place % 3 else None for place, dag in enumerate(dags)])
    heads = {"head": head, "targets": ("score",), "latent": 40}
    settings: dict[str, Any] = {"graphs": scored, "epochs": 3}
    expected = model(**heads)
    history = train(expected, **settings).history
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train(model(**heads), tmp_path, checkpoint_seconds=0.0, **settings)
    resumed = model(seed=99, **heads)
    again = train(resumed, tmp_path, resume=True, **settings).history
    assert same(weights(resumed), weights(expected))
    assert [(row["loss"], row["heads"]) for row in again] == [(row["loss"], row["heads"]) for row in history]


def test_after_one_crash_after_another(uninterrupted: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(6):
        with monkeypatch.context() as patch:
            crash_after(3, patch)
            with pytest.raises(Crash):  # without a checkpoint, resuming starts the run
                train(model(), tmp_path, resume=True, checkpoint_seconds=0.0)
    resumed = model(seed=99)
    train(resumed, tmp_path, resume=True)
    assert same(weights(resumed), uninterrupted)


def test_after_a_crash_while_writing(uninterrupted: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint that was being written does not count; the one before it does."""
    with monkeypatch.context() as patch:
        crash_after(5, patch)
        with pytest.raises(Crash):
            train(model(), tmp_path, checkpoint_seconds=0.0)
    with monkeypatch.context() as patch:

        def broken(tensors, path, **kwargs) -> None:
            Path(path).write_bytes(b"half a checkp")
            raise Crash

        patch.setattr("dvae.models.tensor_file.save_file", broken)
        with pytest.raises(Crash):
            train(model(seed=98), tmp_path, resume=True, checkpoint_seconds=0.0)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".tmp")]
    resumed = model(seed=99)
    train(resumed, tmp_path, resume=True)
    assert same(weights(resumed), uninterrupted)


def test_more_epochs_after_fewer(uninterrupted: dict, tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=2)
    resumed = model(seed=99)
    result = train(resumed, tmp_path, resume=True, epochs=5)
    assert [row["epoch"] for row in result.history] == [1, 2, 3, 4, 5]
    assert same(weights(resumed), uninterrupted)


def test_after_a_time_budget(uninterrupted: dict, tmp_path: Path) -> None:
    assert train(model(), tmp_path, time_budget=1e-6).ended == "time-budget"
    resumed = model(seed=99)
    train(resumed, tmp_path, resume=True)
    assert same(weights(resumed), uninterrupted)


def test_a_finished_run_stays_as_it_is(uninterrupted: dict, tmp_path: Path) -> None:
    first = train(model(), tmp_path)
    again = model(seed=99)
    second = train(again, tmp_path, resume=True)
    assert same(weights(again), uninterrupted)
    assert second.history == first.history


def test_a_run_that_stopped_early_stays_as_it_is(tmp_path: Path) -> None:
    options = {"epochs": 50, "learning_rate": 0.3, "early_stop": 2}
    first_vae, again = model(), model(seed=99)
    first = train(first_vae, tmp_path, **options)
    assert first.ended == "early-stop"
    second = train(again, tmp_path, resume=True, **options)
    assert (second.ended, second.epochs) == (first.ended, first.epochs)
    assert same(weights(again), weights(first_vae))


def test_the_history_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train(model())
    with monkeypatch.context() as patch:
        crash_after(6, patch)
        with pytest.raises(Crash):
            train(model(), tmp_path, checkpoint_seconds=0.0)
    resumed = train(model(), tmp_path, resume=True)
    for key in ("epoch", "learning_rate", "loss", "nll", "kl"):
        assert [row[key] for row in resumed.history] == pytest.approx([row[key] for row in whole.history], rel=1e-12)
    assert resumed.seconds > 0


def test_the_plateau_goes_on(tmp_path: Path) -> None:
    options = {"learning_rate": 1e-6, "plateau_patience": 2}
    for epochs in (1, 3, 6, 10):
        result = train(model(noise_scale=0.0), tmp_path, resume=True, epochs=epochs, **options)
    rates = [row["learning_rate"] for row in result.history]
    assert rates == pytest.approx([1e-6] * 4 + [1e-7] * 3 + [1e-8] * 3)


def test_resuming_nothing_starts_a_run(uninterrupted: dict, tmp_path: Path) -> None:
    vae = model()
    train(vae, tmp_path / "new", resume=True)
    assert same(weights(vae), uninterrupted)


def test_a_run_is_not_overwritten_by_accident(tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=1)
    before = (tmp_path / checkpoint.FILE).read_bytes()
    with pytest.raises(CheckpointError, match="already holds a run"):
        train(model(), tmp_path)
    assert (tmp_path / checkpoint.FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "options", "words"),
    [
        ({"seed": 7}, {}, "seed = 0, not 7"),
        ({"batch_size": 5}, {}, "batch_size = 6, not 5"),
        ({"learning_rate": 0.1}, {}, "learning_rate = 0.01, not 0.1"),
        ({"plateau_patience": 3}, {}, "plateau_patience"),
        ({"precision": "bf16"}, {}, "precision"),
        ({}, {"kl_weight": 0.1}, "model = "),
        ({}, {"hidden": 7}, "model = "),
    ],
)
def test_a_run_goes_on_with_its_own_settings_only(settings: dict, options: dict, words: str, tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=1)
    with pytest.raises(CheckpointError, match=words):
        train(model(**options), tmp_path, resume=True, **settings)


def test_a_run_goes_on_with_its_own_data_only(tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=1)
    with pytest.raises(CheckpointError, match="graphs = 20, not 19"):
        train(model(), tmp_path, resume=True, graphs=data(19))


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x02" + bytes(7) + b"{}"])
def test_a_broken_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    train(model(), tmp_path, epochs=1)
    (tmp_path / checkpoint.FILE).write_bytes(content)
    with pytest.raises(CheckpointError, match="not a whole checkpoint"):
        train(model(), tmp_path, resume=True)
