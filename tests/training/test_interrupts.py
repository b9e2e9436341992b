"""Ctrl-C, and what a run that it stopped leaves behind."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from dvae.dag import DagBatch
from dvae.models import VAE, load
from dvae.training import checkpoint, vae_job
from dvae.training.interrupts import interruptible
from training.runs import TASK, data, model, same, train, weights
from training.test_resume import Crash, crash_after


@pytest.fixture
def ctrl_c_at(monkeypatch: pytest.MonkeyPatch):
    """Presses Ctrl-C during the n-th step of a training."""

    def press(step: int) -> None:
        real, count = vae_job.VaeJob.step, [0]

        def stepped(job, place) -> None:
            real(job, place)
            count[0] += 1
            if count[0] == step:
                signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(vae_job.VaeJob, "step", stepped)

    return press


def has_statistics_of_its_data(vae: VAE, graphs=None) -> bool:
    mean = vae.encode(graphs or data()).mean
    return torch.allclose(vae.latent_mean, mean.mean(0)) and torch.allclose(vae.latent_std, mean.std(0))


@pytest.mark.parametrize("in_folder", [False, True])
def test_an_interrupted_run_knows_where_its_data_lie(in_folder: bool, ctrl_c_at, tmp_path: Path) -> None:
    ctrl_c_at(6)
    vae = model()
    result = train(vae, tmp_path if in_folder else None)
    assert (result.ended, result.epochs) == ("interrupted", 1)
    assert has_statistics_of_its_data(vae)
    if in_folder:
        assert same(weights(load(tmp_path)), weights(vae))
        assert has_statistics_of_its_data(load(tmp_path))


def test_so_does_one_that_ran_out_of_time(tmp_path: Path) -> None:
    vae = model()
    assert train(vae, tmp_path, time_budget=1e-6).ended == "time-budget"
    assert has_statistics_of_its_data(load(tmp_path))


def test_a_checkpoint_of_a_killed_run_does_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash_after(6, monkeypatch)
    with pytest.raises(Crash):
        train(model(), tmp_path, checkpoint_seconds=0.0)
    vae = model(seed=99)
    checkpoint.load_weights(tmp_path / checkpoint.FILE, "vae", vae)
    assert has_statistics_of_its_data(vae)


def test_statistics_of_many_graphs_are_those_of_a_fixed_sample_until_the_end(
    ctrl_c_at, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vae_job, "CALIBRATION_GRAPHS", 40)
    graphs = TASK.sample_batch(100, seed=1)
    vae = model()
    assert train(vae, graphs=graphs, epochs=1).ended == "epochs"
    assert has_statistics_of_its_data(vae, graphs)
    several = []
    for _ in range(2):
        ctrl_c_at(6)
        vae = model()
        assert train(vae, graphs=graphs).ended == "interrupted"
        several.append(vae.latent_std.clone())
    spread = vae.encode(graphs).mean.std(0)
    assert not torch.allclose(several[0], spread)
    assert torch.allclose(several[0], spread, rtol=0.5)
    assert torch.equal(*several)


@pytest.mark.parametrize(("nodes", "graphs"), [(10_000, 100), (60, 12), (5, 4)])
def test_checkpoints_of_large_graphs_have_statistics_of_fewer(
    nodes: int, graphs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vae_job, "CALIBRATION_NODES", nodes)
    monkeypatch.setattr(vae_job, "FEWEST_GRAPHS", 4)
    counts, calibrate = [], VAE.calibrate

    def noted(vae: VAE, batch: DagBatch, **how: Any) -> None:
        counts.append(len(batch))
        calibrate(vae, batch, **how)

    monkeypatch.setattr(VAE, "calibrate", noted)
    vae, many = model(), TASK.sample_batch(100, seed=1)  # of five nodes each
    train(vae, tmp_path, graphs=many, epochs=1, checkpoint_seconds=0.0)
    assert len(counts) > 2
    assert counts == [*[graphs] * (len(counts) - 1), 100]
    assert has_statistics_of_its_data(vae, many)


def test_statistics_leave_the_training_as_it_is(tmp_path: Path) -> None:
    often, never = model(), model()
    train(often, tmp_path, checkpoint_seconds=0.0)
    train(never)
    assert same(weights(often), weights(never))


def test_the_first_ctrl_c_asks_and_the_second_stops() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as asked:
        signal.raise_signal(signal.SIGINT)
        assert asked.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_sigterm_is_heard_as_ctrl_c_is() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with interruptible() as asked:
        signal.raise_signal(signal.SIGTERM)
        assert asked.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_program_that_handles_ctrl_c_itself_goes_on_doing_so() -> None:
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with interruptible() as asked:
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [1]
    assert not asked.is_set()


def test_outside_the_main_thread_nothing_is_changed() -> None:
    before, seen = signal.getsignal(signal.SIGINT), []

    def run() -> None:
        with interruptible():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [before]
