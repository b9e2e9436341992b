"""Searches whose processes are killed with -9, on files of our own and of Optuna's, and on PostgreSQL."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import dvae
from dvae.studies import Study
from postgres import postgres_server

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
TASK = dvae.tasks.get("asia")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    command = ["train", "--task", "asia", "--run", str(folder), "--size", "600", "--epochs", "12", "--set"]
    command += ["model.hidden=24", "--set", "model.latent=6", "--set", "training.learning_rate=5e-3"]
    program(folder, *command).check_returncode()
    return folder


def environment(marks: Path, **more: str) -> dict[str, str]:
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "DVAE_TEST_MARKS": str(marks), **more}


def program(marks: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dvae", *arguments]
    return subprocess.run(command, env=environment(marks, **more), capture_output=True, text=True, check=False)


def started(marks: Path, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dvae", *arguments]
    return subprocess.Popen(command, env=environment(marks, **more), stdout=subprocess.DEVNULL)


def until(condition: Callable[[], bool]) -> None:
    """Waits, but not for ever: what should happen may have died."""
    deadline = time.monotonic() + 600
    while not condition():
        assert time.monotonic() < deadline, "nothing happens any more"
        time.sleep(0.005)


def evaluations(study: Study) -> set[tuple[object, float | None]]:
    return {(TASK.key(trial.dag), trial.score) for trial in study.trials}


@pytest.mark.parametrize("scheme", ["dvae", "sqlite"])
def test_a_search_killed_ten_times_equals_an_uninterrupted_one(scheme: str, run: Path, tmp_path: Path) -> None:
    pytest.importorskip("botorch")
    if scheme == "sqlite":
        pytest.importorskip("optuna")
    arguments = [
        "search",
        str(run),
        "--budget",
        "60",
        "--batch",
        "6",
        "--initial",
        "12",
        "--score",
        "scores:slow_edges",
    ]
    arguments += ["--heartbeat", "1", "--json", "--storage"]
    (tmp_path / "whole").mkdir()
    whole = program(tmp_path / "whole", *arguments, f"{scheme}:///{tmp_path / 'whole.db'}")
    assert whole.returncode == 0, whole.stderr
    marks = tmp_path / "killed"
    marks.mkdir()
    storage = f"{scheme}:///{tmp_path / 'killed.db'}"
    chance = random.Random(0)
    for _ in range(10):
        process = started(marks, *arguments, storage)
        seen = len(list(marks.iterdir()))
        deadline = time.monotonic() + 60
        while len(list(marks.iterdir())) < seen + 3 and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(chance.random() * 0.3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = program(marks, *arguments, storage)
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["complete"] == 60
    first, second = Study.open(f"{scheme}:///{tmp_path / 'whole.db'}"), Study.open(storage)
    assert evaluations(first) == evaluations(second)
    assert len(evaluations(second)) == len(second.trials) == 60


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[str]:
    with postgres_server() as server:
        yield server.get_uri()


def test_four_workers_on_postgres_two_of_them_killed(run: Path, postgres: str, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    share_and_kill(run, postgres, tmp_path)


def test_four_workers_on_a_file_of_our_own_two_of_them_killed(run: Path, tmp_path: Path) -> None:
    share_and_kill(run, f"dvae:///{tmp_path / 'shared.db'}", tmp_path)


def share_and_kill(run: Path, storage: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    more = {"DVAE_STORAGE": storage, "DVAE_TEST_SECONDS": "0.3"}
    arguments = ["search", str(run), "--budget", "200", "--batch", "20", "--strategy", "random", "--workers", "0"]
    arguments += ["--score", "scores:slow_edges", "--heartbeat", "1", "--study", "shared"]
    proposer = started(marks, *arguments, **more)
    # The scores run in the workers themselves, whose numbers the marks have.
    work = ["worker", "--study", "shared", "--score", "scores:slow_edges", "--wait", "--heartbeat", "1"]
    work += ["--isolate", "no"]
    workers = [started(marks, *work, **more) for _ in range(4)]
    for victim in workers[:2]:
        begun = f"*-{victim.pid}"  # what it has begun leaves a mark
        seen = len(list(marks.iterdir()))
        until(lambda: any(marks.glob(begun)) and len(list(marks.iterdir())) >= seen + 10)  # noqa: B023
        own = len(list(marks.glob(begun)))
        until(lambda: len(list(marks.glob(begun))) > own)  # noqa: B023
        victim.send_signal(signal.SIGKILL)  # it has just begun an evaluation
        victim.wait()
    assert proposer.wait(timeout=600) == 0
    assert [worker.wait(timeout=300) for worker in workers[2:]] == [0, 0]
    study = Study.open(storage, "shared")
    trials, distinct = study.trials, evaluations(study)
    study.close()
    assert len(trials) == len(distinct) == 200
    assert {trial.state for trial in trials} == {"complete"}
    repeated = len(list(marks.iterdir())) - 200
    assert 1 <= repeated <= 2  # what the dead held was begun twice, and recorded once
