"""Runs in processes of their own: killed, interrupted, and several together."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import dvae
from training.processes import main

HERE = Path(__file__).parent
PATHS = os.pathsep.join([str(HERE.parent), str(Path(dvae.__file__).parent.parent)])


def run(script: str, *arguments: object, timeout: float = 120) -> str:
    environment = {**os.environ, "PYTHONPATH": PATHS, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes)
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # with all the processes it started
        output, errors = process.communicate()
        pytest.fail(f"{script} hangs: not over after {timeout} s\n{errors[-2000:]}")
    assert process.returncode == 0, errors[-3000:]
    return output


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return json.loads(run("driver.py", tmp_path_factory.mktemp("runs"), 4).splitlines()[-1])


def test_a_killed_run_goes_on_bit_for_bit(answer: dict[str, Any]) -> None:
    assert answer["reference"]["status"] == 0
    assert answer["killed"]["killed"] >= 2, "the run was over before it could be killed"
    assert answer["killed"]["status"] == 0
    assert answer["killed"]["equal"]


def test_ctrl_c_ends_a_run_with_a_checkpoint(answer: dict[str, Any]) -> None:
    interrupted = answer["interrupted"]
    assert (interrupted["status"], interrupted["ended"]) == (0, "interrupted")
    assert interrupted["checkpoint"]
    assert interrupted["model"]


def test_an_interrupted_run_goes_on_bit_for_bit(answer: dict[str, Any]) -> None:
    interrupted = answer["interrupted"]
    assert (interrupted["status_after"], interrupted["ended_after"]) == (0, "epochs")
    assert interrupted["equal"]


@pytest.mark.slow
def test_ten_kills_change_nothing(tmp_path: Path) -> None:
    killed = json.loads(run("driver.py", tmp_path, 10).splitlines()[-1])["killed"]
    assert killed["killed"] >= 5
    assert killed["equal"]


def trained(folder: Path, devices: int, **settings: Any) -> dict[str, torch.Tensor]:
    run("processes.py", folder, devices, json.dumps(settings), timeout=60)
    return load_file(folder / "model.safetensors")


def assert_close(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> None:
    assert first.keys() == second.keys()
    for name, value in first.items():
        close = torch.isclose(value, second[name], rtol=1e-5, atol=1e-7)
        assert bool(close.all()), f"{name} differs by {float((value - second[name]).abs().max())}"


def test_two_processes_train_the_model_of_one(tmp_path: Path) -> None:
    """21 graphs in batches of 6: the last batch is odd, and its filling must count nothing."""
    two = trained(tmp_path / "two", 2, epochs=3)
    main(tmp_path / "one", 1, {"epochs": 3})
    assert_close(two, load_file(tmp_path / "one" / "model.safetensors"))
    histories = [(tmp_path / name / "metrics.csv").read_text().splitlines() for name in ("one", "two")]
    for one, other in zip(*histories, strict=True):
        mine, theirs = one.split(",")[1:4], other.split(",")[1:4]
        if "loss" not in mine:
            assert list(map(float, mine)) == pytest.approx(list(map(float, theirs)), rel=1e-6)


def test_two_processes_lose_a_step_together(tmp_path: Path) -> None:
    """The gradient of one of them is not finite: neither moves."""
    settings = {"epochs": 1, "count": 240, "batch_size": 2, "clip": 5.0, "broken": 30}
    two = trained(tmp_path / "two", 2, **settings)
    main(tmp_path / "one", 1, dict(settings))
    assert_close(two, load_file(tmp_path / "one" / "model.safetensors"))
    main(tmp_path / "whole", 1, {**settings, "broken": 0})
    whole = load_file(tmp_path / "whole" / "model.safetensors")
    assert not all(torch.equal(value, whole[name]) for name, value in two.items())


@pytest.mark.slow
def test_two_processes_save_together_however_their_clocks_run(tmp_path: Path) -> None:
    """Whether to save is one decision of all processes: gathering the losses is a common step."""
    settings = {"epochs": 40, "checkpoint_seconds": 0.02}
    two = trained(tmp_path / "two", 2, **settings)
    one = trained(tmp_path / "one", 1, **settings)
    assert_close(two, one)


@pytest.mark.slow
def test_two_processes_stop_together_when_their_time_is_over(tmp_path: Path) -> None:
    trained(tmp_path / "two", 2, epochs=100_000, time_budget=2.0)
    record = json.loads((tmp_path / "two" / "training.json").read_text())
    assert record["result"]["ended"] == "time-budget"


@pytest.mark.slow
def test_two_processes_go_on_with_the_run_of_two(tmp_path: Path) -> None:
    trained(tmp_path / "two", 2, epochs=1)
    run("processes.py", tmp_path / "two", 2, json.dumps({"epochs": 3, "resume": True}))
    whole = trained(tmp_path / "whole", 2, epochs=3)
    assert_close(load_file(tmp_path / "two" / "model.safetensors"), whole)


@pytest.mark.slow
def test_two_processes_stop_early_together_by_validation(tmp_path: Path) -> None:
    settings = {"epochs": 40, "learning_rate": 0.1, "early_stop": 2, "early_stop_on": "validation", "validated": True}
    two = trained(tmp_path / "two", 2, **settings)
    one = trained(tmp_path / "one", 1, **settings)
    results = [json.loads((tmp_path / name / "training.json").read_text())["result"] for name in ("one", "two")]
    assert [result["ended"] for result in results] == ["early-stop"] * 2
    assert results[0]["best_epoch"] == results[1]["best_epoch"] == results[1]["epochs"] - 2
    assert_close(two, one)
    assert_close(*(load_file(tmp_path / name / "best.safetensors") for name in ("two", "one")))
