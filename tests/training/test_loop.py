from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest
import torch

import dvae
from dvae.dag import DagSet
from dvae.errors import ConfigError, DeviceError, MissingError, TaskError
from dvae.models import build
from dvae.tasks import EnasTask, get
from dvae.training import TrainingConfig, fit
from training.runs import BATCH, GRAPHS, TASK, data, model, same, train, weights


@pytest.mark.parametrize("name", ["enas3", "bn:A,B,C,D"])
def test_the_loss_falls(name: str) -> None:
    task = get(name)
    vae = build("dvae", task, hidden=8, latent=3, seed=0)
    result = train(vae, graphs=task.sample_batch(40, seed=0), epochs=15)
    losses = [row["loss"] for row in result.history]
    assert (result.ended, result.epochs, len(losses)) == ("epochs", 15, 15)
    assert losses[-1] < 0.8 * losses[0]
    assert result.final_loss == losses[-1]


def test_sixteen_graphs_are_learnt_by_heart() -> None:
    task = EnasTask(4)
    vae = build("dvae", task, hidden=32, latent=8, seed=0, readout="sum", noise_scale=0.0)
    batch = task.sample_batch(16, seed=0)
    assert len(set(task.keys(batch))) == 16
    train(vae, graphs=batch, epochs=200, batch_size=16, learning_rate=1e-2)
    decoded = vae.decode_batch(vae.encode(batch).mean, greedy=True)
    assert task.keys(decoded) == task.keys(batch)


def test_the_history_holds_the_means_of_both_losses() -> None:
    vae = model(noise_scale=0.0)
    with torch.no_grad():
        losses = vae(data(), torch.zeros(GRAPHS, 3))
    nll, kl = float(losses.nll.mean()), float(losses.kl.mean())
    (row,) = train(vae, epochs=1, learning_rate=1e-30).history
    assert row["nll"] == pytest.approx(nll, rel=1e-5)
    assert row["kl"] == pytest.approx(kl, rel=1e-5)
    assert row["loss"] == pytest.approx(nll + 0.005 * kl, rel=1e-5)


def test_one_step_is_adam_on_the_sum_of_the_losses() -> None:
    """Losses are summed over the batch, as in the original; the noise is the run's own."""
    ours, plain = model(noise_scale=0.0), model(noise_scale=0.0)
    train(ours, epochs=1, batch_size=GRAPHS, learning_rate=1e-3)
    optimizer = torch.optim.Adam(plain.parameters(), lr=1e-3)
    losses = plain(data(), torch.zeros(GRAPHS, 3))
    (losses.nll + 0.005 * losses.kl).sum().backward()
    optimizer.step()
    for (name, mine), theirs in zip(ours.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=2e-5, rtol=0, msg=lambda text, name=name: f"{name}: {text}")


def test_a_seed_repeats_a_run_and_another_differs() -> None:
    runs = []
    for seed in (3, 3, 4):
        vae = model()
        train(vae, seed=seed, epochs=2)
        runs.append(weights(vae))
    assert same(runs[0], runs[1])
    assert not same(runs[0], runs[2])


def test_training_leaves_the_global_random_numbers_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    train(model(), epochs=1)
    assert torch.equal(torch.rand(3), expected)


def test_dags_a_dag_set_and_a_batch_are_the_same_data() -> None:
    dags = TASK.sample(GRAPHS, seed=0)
    runs = []
    for given in (dags, DagSet.of(dags), data()):
        vae = model()
        fit(vae, given, epochs=1, batch_size=BATCH, device="cpu", progress=False)
        runs.append(weights(vae))
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])


def test_early_stop_ends_after_as_many_epochs_without_progress() -> None:
    """One graph without noise and next to no learning rate: the loss never falls after the first epoch."""
    result = train(model(noise_scale=0.0), graphs=data(1), epochs=50, learning_rate=1e-30, early_stop=3)
    assert (result.ended, result.epochs) == ("early-stop", 4)


def test_a_plateau_lowers_the_learning_rate() -> None:
    """Each epoch's progress is below the plateau's threshold: after three such epochs the rate is a tenth."""
    result = train(model(noise_scale=0.0), graphs=data(1), epochs=10, learning_rate=1e-6, plateau_patience=2)
    rates = [row["learning_rate"] for row in result.history]
    assert rates == pytest.approx([1e-6] * 4 + [1e-7] * 3 + [1e-8] * 3)


def test_a_time_budget_ends_within_a_step() -> None:
    result = train(model(), epochs=1000, time_budget=1e-6)
    assert (result.ended, result.epochs) == ("time-budget", 0)
    result = train(model(), epochs=100_000, time_budget=0.3)
    assert result.ended == "time-budget"
    assert 0.3 <= result.seconds < 3


def test_no_epochs_train_nothing() -> None:
    vae = model()
    before = [parameter.detach().clone() for parameter in vae.parameters()]
    assert train(vae, epochs=0).history == ()
    assert all(torch.equal(one, two) for one, two in zip(before, vae.parameters(), strict=True))


def test_after_training_the_prior_lies_where_the_data_lie() -> None:
    vae = model()
    train(vae)
    mean = vae.encode(data()).mean
    torch.testing.assert_close(vae.latent_mean, mean.mean(0))
    torch.testing.assert_close(vae.latent_std, mean.std(0))


def test_the_run_folder_holds_the_model_and_its_records(tmp_path: Path) -> None:
    vae = model()
    result = train(vae, tmp_path / "run", epochs=3)
    loaded = dvae.load(tmp_path / "run")
    assert same(weights(loaded), weights(vae))
    with (tmp_path / "run" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [row["loss"] for row in result.history]
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["result"]["ended"] == "epochs"
    assert not [path for path in (tmp_path / "run").iterdir() if path.name.startswith(".tmp")]


def test_bf16_products_train_too() -> None:
    vae, exact = model(), model()
    result, expected = train(vae, epochs=5, precision="bf16"), train(exact, epochs=5)
    assert not same(weights(vae), weights(exact))
    assert all(bool(value.isfinite().all()) for value in weights(vae).values())
    assert result.final_loss == pytest.approx(expected.final_loss, rel=0.1)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"epoch": 3}, ConfigError, "unknown setting 'epoch'; did you mean 'epochs'"),
        ({"epochs": "3"}, ConfigError, "training.epochs: expected an integer, got the string '3'"),
        ({"tensorboard": 1}, ConfigError, "training.tensorboard: expected true or false"),
        ({"early_stop_on": "test"}, ConfigError, "expected one of 'train', 'validation'"),
        ({"validation_every": 0}, ConfigError, "validation_every"),
        ({"validation_decodings": -1}, ConfigError, "validation_decodings"),
        ({"learning_rate": 0.0}, ConfigError, "learning_rate"),
        ({"batch_size": 0}, ConfigError, "batch_size"),
        ({"time_budget": 0.0}, ConfigError, "time_budget"),
        ({"early_stop": 0}, ConfigError, "early_stop"),
        ({"plateau_factor": 1.0}, ConfigError, "plateau_factor"),
        ({"epochs": -1}, ConfigError, "epochs"),
        ({"device": "tpu"}, DeviceError, "auto, cpu or cuda"),
        ({"devices": 0}, DeviceError, "at least 1"),
    ],
)
def test_wrong_settings_are_refused(settings: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        train(model(), **settings)


def test_settings_of_the_wrong_type_are_refused_in_the_class_too() -> None:
    with pytest.raises(ConfigError, match="epochs: expected an integer, got the string '3'"):
        TrainingConfig(epochs="3")  # type: ignore[arg-type]
    assert TrainingConfig(learning_rate=1).learning_rate == 1


def test_without_tensorboard_training_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingError, match="TensorBoard needs the package tensorboard: pip install 'tensorboard"):
        train(model(), tmp_path / "run", tensorboard=True)
    assert not (tmp_path / "run").exists()


def test_the_rate_counts_graphs_however_large_a_batch_may_be() -> None:
    for batch_size in (GRAPHS, 1000 * GRAPHS):
        result = train(model(), batch_size=batch_size, epochs=20)
        assert 0 < result.graphs_per_second <= 20 * GRAPHS / result.history[-1]["seconds"] * 1.01


def test_no_data_and_data_of_another_task_are_refused() -> None:
    with pytest.raises(ConfigError, match="no DAG to train on"):
        fit(model(), [], device="cpu")
    with pytest.raises(TaskError, match="unknown to enas3"):
        fit(model(), get("asia").sample(3, seed=0), device="cpu")


def test_the_papers_settings_are_the_defaults() -> None:
    config = TrainingConfig()
    assert (config.learning_rate, config.plateau_factor, config.plateau_patience) == (1e-4, 0.1, 10)
    assert (TASK.hints.batch_size, TASK.hints.epochs) == (32, 300)
    assert (get("asia").hints.batch_size, get("asia").hints.epochs) == (128, 100)


def test_memory_stays_flat() -> None:
    """Steps leave nothing behind: after a warm-up the process does not grow."""
    statm = Path("/proc/self/statm")
    if not statm.is_file():
        pytest.skip("the memory of a process is read from /proc here")

    def resident() -> float:
        return int(statm.read_text().split()[1]) * 4096 / 2**20

    vae, graphs = model(hidden=64), data(32)
    train(vae, graphs=graphs, epochs=5, batch_size=16)
    before = resident()
    train(vae, graphs=graphs, epochs=60, batch_size=16)
    assert resident() - before < 16, "MiB more than before 120 steps"
