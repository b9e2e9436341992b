"""Scores in processes of their own: whatever kills one costs its candidate alone, and nothing outlives the search."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.errors import ConfigError, StudyError
from dvae.models import VAE
from dvae.processes import process_start
from dvae.studies import MemoryLedger, TaskScore, Work, placement, work_once
from dvae.studies.isolated import AbandonedError, IsolatedScore
from dvae.studies.keepers import CAN_FORK, Keeper, shared_keeper
from dvae.studies.ledger import LOST
from dvae.studies.worker import MAX_LOST

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="this system has no forks")

TASK = dvae.tasks.get("asia")
HERE = Path(__file__).parent
NAME = "isolated_scores"
EVEN, ODD = Dag(("a", "b", "c"), ((0, 1), (1, 2))), Dag(("a", "b"), ((0, 1),))


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


def until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "nothing happens any more"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("aborts", "the score's process died of SIGABRT, in each of 3 attempts"),
        ("segfaults", "the score's process died of SIGSEGV, in each of 3 attempts"),
        ("leaves", "the score's process ended itself with exit code 7, in each of 3 attempts"),
        ("exits", "the score called sys.exit(3)"),
        (
            "is_killed",
            "the score's process was killed (SIGKILL: by the system where memory runs out, or by somebody), in each "
            "of 3 attempts",
        ),
    ],
)
def test_a_score_that_dies_is_a_failed_candidate_and_the_search_goes_on(
    name: str, reason: str, vae: VAE, marks: Path
) -> None:
    study = dvae.search(vae, TASK, score=f"{NAME}:{name}", strategy="random", budget=8, batch=4)
    for trial in study.trials:
        odd = len(trial.dag.edges) % 2
        assert (trial.state, trial.error) == (("failed", reason) if odd else ("complete", None))
    assert {trial.state for trial in study.trials} == {"failed", "complete"}
    if name == "aborts":
        failed = sum(trial.state == "failed" for trial in study.trials)
        assert len(list(marks.iterdir())) == 8 + 2 * failed  # three attempts at each that dies, one at the others


def test_attempts_are_as_many_as_asked_for(vae: VAE, marks: Path) -> None:
    study = dvae.search(vae, TASK, score=f"{NAME}:aborts", strategy="random", budget=4, attempts=1)
    assert len(list(marks.iterdir())) == 4
    assert {failure.reason for failure in study.failures} == {"the score's process died of SIGABRT"}
    with pytest.raises(ConfigError, match="at least one attempt"):
        dvae.search(vae, TASK, score=f"{NAME}:edges", strategy="random", budget=4, attempts=0)


def test_one_that_hangs_is_ended_and_costs_the_others_nothing(vae: VAE) -> None:
    study = dvae.search(vae, TASK, score=f"{NAME}:hangs", strategy="random", budget=6, timeout=0.3, workers=2)
    for trial in study.trials:
        assert trial.error == ("timed out after 0.3 s" if len(trial.dag.edges) % 2 else None)


def test_a_timeout_ends_the_score_and_what_it_has_started(marks: Path) -> None:
    score = IsolatedScore({"score": f"{NAME}:starts_another"}).start()
    outcome = score.outcome(EVEN, lambda step, value: None, timeout=5.0)
    assert outcome.error == "timed out after 5 s"
    numbers = [int(word) for word in (marks / "pids").read_text().split()]
    until(lambda: all(process_start(number) is None for number in numbers))
    score.close()


def test_a_cell_is_kept_for_the_next_candidate_and_replaced_when_it_dies() -> None:
    score = IsolatedScore({"score": f"{NAME}:number"}).start()
    first, second = score(EVEN), score(EVEN)
    assert first == second != os.getpid()
    os.kill(int(first), signal.SIGKILL)
    assert score(EVEN) != first  # the next attempt finds another
    score.close()
    with pytest.raises(AbandonedError):
        score(EVEN)


def test_a_keeper_that_was_killed_is_replaced() -> None:
    score = IsolatedScore({"score": f"{NAME}:number"}).start()
    first = int(score(EVEN))
    keeper = shared_keeper()
    process: Any = keeper._process
    process.kill()
    process.wait()
    until(lambda: process_start(first) is None)  # its cells go with it
    assert score(EVEN) != first
    assert shared_keeper() is not keeper
    score.close()


def test_what_a_score_prints_is_no_answer(vae: VAE, capfd: pytest.CaptureFixture[str]) -> None:
    dvae.search(vae, TASK, score=f"{NAME}:says", strategy="random", budget=2)
    assert "a score speaks" not in capfd.readouterr().out


def test_a_round_that_kills_its_process_is_scored_one_by_one(vae: VAE) -> None:
    study = dvae.search(vae, TASK, score=f"{NAME}:Rounds", strategy="random", budget=6, batch=6)
    for trial in study.trials:
        assert (trial.state == "failed") == (len(trial.dag.edges) % 2 == 1)


def test_rounds_are_for_one_worker_only() -> None:
    for workers, rounds in ((1, True), (2, False)):
        with placement.placed_score(f"{NAME}:Rounds", TASK, workers=workers) as placed:
            assert Work(placed.function).scores_rounds is rounds


def test_reports_reach_the_search_and_may_end_the_score() -> None:
    ledger = MemoryLedger()
    for dag in TASK.sample(9, seed=0):
        ledger.propose(dag, {})
    with placement.placed_score(f"{NAME}:reports", TASK) as placed:
        while work_once(ledger, Work(placed.function, prune=True)):
            pass
    states = [trial.state for trial in ledger.trials()]
    assert states[:5] == ["complete"] * 5
    assert set(states) == {"complete", "pruned"}
    assert all("worse than the median" in (trial.error or "") for trial in ledger.trials() if trial.state == "pruned")


def test_a_function_with_a_timeout_runs_in_a_fork(vae: VAE) -> None:
    calls: list[int] = []

    def moody(dag: Dag) -> float:
        calls.append(1)
        while len(dag.edges) % 2:
            pass
        return float(os.getpid())

    study = dvae.search(vae, TASK, score=moody, strategy="random", budget=6, timeout=0.3)
    assert calls == []  # what it changes stays there
    numbers = {trial.score for trial in study.trials if trial.score is not None}
    assert os.getpid() not in numbers
    assert study.failures[0].reason == "timed out after 0.3 s"


def test_a_function_may_be_isolated_and_a_name_may_not(vae: VAE) -> None:
    here = {"strategy": "random", "budget": 2}
    forked = dvae.search(vae, TASK, score=lambda dag: float(os.getpid()), isolate=True, **here)
    assert os.getpid() not in {trial.score for trial in forked.trials}
    named = dvae.search(vae, TASK, score=f"{NAME}:number", isolate=False, **here)
    assert {trial.score for trial in named.trials} == {os.getpid()}


def test_a_tasks_own_score_is_the_same_in_processes(vae: VAE) -> None:
    options: dict[str, Any] = {"strategy": "random", "budget": 6, "batch": 6}
    here = dvae.search(vae, **options)
    for more in ({"workers": 2}, {"timeout": 60.0}, {"isolate": True}):
        there = dvae.search(vae, **options, **more)
        assert [trial.score for trial in there.trials] == [trial.score for trial in here.trials]


def test_where_a_score_runs_follows_the_rule() -> None:
    def isolated(score: Any, **options: Any) -> bool:
        with placement.placed_score(score, TASK, **options) as placed:
            return isinstance(placed.function, IsolatedScore)

    assert not isolated(None)
    assert isolated(None, workers=2)
    assert isolated(None, timeout=1.0)
    assert not isolated(TaskScore(TASK))
    assert isolated(f"{NAME}:edges")
    assert not isolated(f"{NAME}:edges", isolate=False)
    assert not isolated(f"{NAME}:edges", workers=0)  # others score
    assert not isolated(lambda dag: 0.0)
    assert isolated(lambda dag: 0.0, timeout=1.0)


def test_a_search_that_is_given_up_leaves_nobody_waiting_and_nothing_running(vae: VAE, marks: Path) -> None:
    ledger = MemoryLedger()
    with placement.placed_score(f"{NAME}:starts_another", TASK) as placed:
        ledger.propose(EVEN, {})
        ended: list[type] = []

        def work() -> None:
            try:
                work_once(ledger, Work(placed.function))
            except AbandonedError as error:
                ended.append(type(error))

        thread = threading.Thread(target=work)
        thread.start()
        until(lambda: (marks / "pids").exists())
    thread.join(timeout=30)
    assert ended == [AbandonedError]
    assert [trial.state for trial in ledger.trials()] == ["waiting"]
    until(lambda: all(process_start(int(word)) is None for word in (marks / "pids").read_text().split()))


@pytest.mark.parametrize("name", ["isolated_scores:nothing", "no_such_module:f", "nothing", "math:pi"])
def test_a_score_that_cannot_be_made_in_its_process_is_said_here(name: str, vae: VAE) -> None:
    with pytest.raises(StudyError, match=name.partition(":")[0]):
        dvae.search(vae, TASK, score=name, strategy="random", budget=2)


def test_nothing_outlives_a_search_that_is_killed(marks: Path) -> None:
    """Killed with -9, so that nothing of the search's own can tidy up."""
    program = (
        f"from dvae.studies.isolated import IsolatedScore; from dvae import Dag; import threading\n"
        f"score = IsolatedScore({{'score': '{NAME}:starts_another'}}).start()\n"
        "threading.Thread(target=score, args=(Dag(('a',)),)).start()\n"
    )
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    search = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path})
    until(lambda: (marks / "pids").exists())
    numbers = [int(word) for word in (marks / "pids").read_text().split()]
    assert all(process_start(number) for number in numbers)
    search.kill()
    search.wait()
    until(lambda: all(process_start(number) is None for number in numbers))


@pytest.mark.parametrize("lost", [2, 3, MAX_LOST])
def test_a_candidate_that_has_cost_too_many_workers_is_given_up(lost: int) -> None:
    ledger = MemoryLedger()
    ledger.propose(EVEN, {LOST: lost})
    ledger.propose(ODD, {})
    work_once(ledger, Work(lambda dag: 1.0))  # in this process: it may be what kills it
    given_up = lost >= 3
    first, second = ledger.trials()
    assert (first.state, second.state) == (("failed", "complete") if given_up else ("complete", "waiting"))
    assert not given_up or f"{lost} workers were not heard of again" in (first.error or "")
    pure = MemoryLedger()
    pure.propose(TASK.sample(1, seed=0)[0], {LOST: lost})
    work_once(pure, Work(TaskScore(TASK)))
    assert (pure.trials()[0].state == "failed") == (lost >= MAX_LOST)


class DeathsFirst(selectors.DefaultSelector):
    """Hears of deaths and of cells nobody wants any more in one turn, the deaths first."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        super().select(timeout)
        time.sleep(0.3)
        return sorted(super().select(0), key=lambda event: event[0].data is not None)


def test_a_cell_that_dies_as_it_is_let_go_does_not_end_its_keeper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", DeathsFirst)
    keeper = Keeper(lambda dag: 1.0)
    try:
        work, fate = keeper.start()
        work.close()  # the cell ends,
        fate.close()  # and is not wanted
        time.sleep(1)
        work, fate = keeper.start()
        work.close()
        assert fate.receive(timeout=60) == {"status": 0}
        fate.close()
    finally:
        keeper.close()
