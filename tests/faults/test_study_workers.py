"""Workers and scores that die, stall and come back; clocks that jump: every candidate is recorded once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.models import VAE
from dvae.processes import process_start
from dvae.studies import Study, Work, open_ledger, work_once

TASK = dvae.tasks.get("asia")
HERE = Path(__file__).parent
SCORE = "study_scores:slow_edges"


@pytest.fixture(autouse=True)
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(HERE)
    folder = tmp_path / "marks"
    folder.mkdir()
    monkeypatch.setenv("DVAE_TEST_MARKS", str(folder))
    return folder


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


def few_edges(dag: Dag) -> float:
    return -float(len(dag.edges))


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "nothing happens any more"
        time.sleep(0.01)


def begun(marks: Path) -> list[tuple[str, int]]:
    """Which candidates were begun, and by which process."""
    names = sorted(path.name for path in marks.iterdir())
    return [(name.partition("@")[0], int(name.rpartition("@")[2])) for name in names]


def recorded_once(study: Study, whole: Study) -> None:
    assert [trial.dag for trial in study.trials] == [trial.dag for trial in whole.trials]
    assert [trial.score for trial in study.trials] == [trial.score for trial in whole.trials]


def test_scores_that_are_killed_from_outside_are_begun_again_elsewhere(vae: VAE, marks: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"strategy": "random", "budget": 16, "batch": 8}
    whole = dvae.search(vae, TASK, score=few_edges, **options)
    ended, killed = threading.Event(), []

    def kill() -> None:
        chance = random.Random(0)
        while len(killed) < 5 and not ended.wait(0.05 + 0.2 * chance.random()):
            living = [number for _, number in begun(marks) if process_start(number) and number not in killed]
            if living:
                killed.append(living[-1])
                os.kill(living[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    study = dvae.search(
        vae, TASK, score=SCORE, workers=2, attempts=10, storage=f"dvae:///{tmp_path / 'study.db'}", **options
    )
    ended.set()
    killer.join()
    recorded_once(study, whole)
    assert len(killed) == 5
    assert len(begun(marks)) - 16 <= 5  # nothing is begun twice but what was killed


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_clock_that_jumps_loses_and_doubles_no_record(
    jump: float, vae: VAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, moved = time.time, [0.0]
    for module in ("sqlite_ledger", "presence"):
        monkeypatch.setattr(f"dvae.studies.{module}.time.time", lambda: now() + moved[0])
    calls: Counter[object] = Counter()

    def jumping(dag: Dag) -> float:
        calls[TASK.key(dag)] += 1
        if sum(calls.values()) in (3, 9):
            moved[0] += jump
        return few_edges(dag)

    options: dict[str, Any] = {"strategy": "random", "budget": 12, "batch": 4}
    whole = dvae.search(vae, TASK, score=few_edges, **options)
    study = dvae.search(vae, TASK, score=jumping, workers=2, storage=f"dvae:///{tmp_path / 's.db'}", **options)
    recorded_once(study, whole)


def test_a_worker_that_comes_back_late_changes_nothing(tmp_path: Path) -> None:
    address = f"dvae:///{tmp_path / 'study.db'}"
    ledger = open_ledger(address, "one", create="maximize", heartbeat=1)
    ledger.propose(TASK.sample(1, seed=0)[0], {"round": 0, "place": 0})
    stalled, woken = threading.Event(), threading.Event()

    def stalls(dag: Dag) -> float:
        stalled.set()
        assert woken.wait(60)
        return 1.0

    late = threading.Thread(
        target=work_once, args=(open_ledger(address, "one", heartbeat=1), Work(stalls, heartbeat=99))
    )
    late.start()
    assert stalled.wait(60)
    until(ledger.reclaim)
    assert work_once(ledger, Work(lambda dag: 2.0)) is not None
    woken.set()
    late.join()
    (trial,) = ledger.trials()
    assert (trial.score, trial.lost) == (2.0, 1)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    command = ["train", "--task", "asia", "--run", str(folder), "--size", "300", "--epochs", "2", "--set"]
    started(*command, "model.hidden=16", "--set", "model.latent=4").wait(300)
    return folder


def started(*arguments: str, **more: str) -> subprocess.Popen[bytes]:
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **more}
    return subprocess.Popen([sys.executable, "-m", "dvae", *arguments], env=environment, stdout=subprocess.DEVNULL)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[bytes]]]:
    """Whatever a test has started, ended with it."""
    found: list[subprocess.Popen[bytes]] = []
    yield found
    for process in found:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_stalled_worker_is_replaced_and_may_come_back(
    run: Path, marks: Path, tmp_path: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    storage = f"dvae:///{tmp_path / 'study.db'}"
    words = ["search", str(run), "--budget", "30", "--batch", "10", "--strategy", "random", "--workers", "0"]
    words += ["--score", SCORE, "--heartbeat", "1", "--study", "one", "--storage", storage]
    work = ["worker", "--study", "one", "--score", SCORE, "--wait", "--heartbeat", "1", "--storage", storage]
    processes.append(started(*words))
    processes += [started(*work, DVAE_TEST_SECONDS="0.3") for _ in range(2)]
    search, stalls, _ = processes
    until(lambda: len(begun(marks)) >= 6)
    stalls.send_signal(signal.SIGSTOP)
    until(lambda: search.poll() is not None)
    stalls.send_signal(signal.SIGCONT)
    assert search.returncode == 0
    assert [process.wait(60) for process in processes[1:]] == [0, 0]
    trials = Study.open(storage, "one").trials
    assert len({TASK.key(trial.dag) for trial in trials}) == len(trials) == 30
    assert {trial.state for trial in trials} == {"complete"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_search_with_workers_that_is_killed_again_and_again_leaves_nothing_and_loses_nothing(
    seed: int, run: Path, marks: Path, tmp_path: Path, processes: list[subprocess.Popen[bytes]]
) -> None:
    words = ["search", str(run), "--budget", "30", "--batch", "6", "--strategy", "random", "--workers", "2"]
    words += ["--score", SCORE, "--heartbeat", "1", "--study", "one", "--storage"]
    storage, chance = f"dvae:///{tmp_path / 'study.db'}", random.Random(seed)
    for _ in range(5):
        seen = len(begun(marks))
        search = started(*words, storage)
        processes.append(search)
        until(lambda: len(begun(marks)) >= seen + 3 or search.poll() is not None)  # noqa: B023
        time.sleep(0.3 * chance.random())
        search.send_signal(signal.SIGKILL)
        search.wait()
        until(lambda: not any(process_start(number) for _, number in begun(marks)))  # nothing outlives it
    assert started(*words, storage).wait(300) == 0
    assert started(*words, f"dvae:///{tmp_path / 'whole.db'}").wait(300) == 0
    killed, whole = Study.open(storage, "one"), Study.open(f"dvae:///{tmp_path / 'whole.db'}", "one")
    recorded_once(killed, whole)
