"""What every ledger promises: trials are taken once, finished once, never lost; notes are written in one step."""

from __future__ import annotations

import importlib.util
import multiprocessing
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae.errors import MissingError, StudyError
from dvae.studies import Ledger, MemoryLedger, Outcome, open_ledger, study_names

TASK = dvae.tasks.get("asia")
needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (extra: search)"
)
optuna_ledger = pytest.param("sqlite", marks=needs_optuna)
every_ledger = pytest.mark.parametrize("kind", ["memory", "dvae", optuna_ledger])
every_file = pytest.mark.parametrize("kind", ["dvae", optuna_ledger])


def address_of(kind: str, folder: Path) -> str:
    return f"{kind}:///{folder / 'study.db'}"


def ledger_of(kind: str, folder: Path) -> Ledger:
    if kind == "memory":
        return MemoryLedger()
    return open_ledger(address_of(kind, folder), "test", create="maximize", heartbeat=1)


def with_trials(kind: str, folder: Path, count: int) -> Ledger:
    ledger = ledger_of(kind, folder)
    for place, dag in enumerate(TASK.sample(count, seed=0)):
        ledger.propose(dag, {"round": 0, "place": place})
    return ledger


@every_ledger
def test_a_trial_goes_from_waiting_to_complete_once(kind: str, tmp_path: Path) -> None:
    ledger = ledger_of(kind, tmp_path)
    dags = TASK.sample(2, seed=0)
    for place, dag in enumerate(dags):
        assert ledger.propose(dag, {"round": 3, "place": place}) == place
    assert [trial.state for trial in ledger.trials()] == ["waiting", "waiting"]
    first = ledger.take("me")
    assert first is not None
    assert (first.number, first.dag, first.state, first.round) == (0, dags[0], "running", 3)
    assert ledger.finish(0, Outcome(score=1.5), {"seconds": 0.1})
    assert not ledger.finish(0, Outcome(score=9.0), {})
    second = ledger.take("me")
    assert second is not None
    assert second.number == 1
    assert ledger.take("another") is None
    ledger.finish(1, Outcome(error="broken"), {})
    done = ledger.trials()
    assert [(trial.state, trial.score, trial.error) for trial in done] == [
        ("complete", 1.5, None),
        ("failed", None, "broken"),
    ]
    assert done[0].attributes["worker"] == "me"


@every_ledger
def test_what_is_described_is_found(kind: str, tmp_path: Path) -> None:
    ledger = ledger_of(kind, tmp_path)
    ledger.describe("plan", {"round": 1, "values": [0.1, None]})
    ledger.describe("plan", {"round": 2})
    assert ledger.description()["plan"] == {"round": 2}


@every_ledger
def test_of_many_takers_each_gets_another_trial(kind: str, tmp_path: Path) -> None:
    ledger = with_trials(kind, tmp_path, 12)
    taken: list[int] = []

    def take() -> None:
        while (trial := ledger.take("worker")) is not None:
            taken.append(trial.number)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(12))


@every_ledger
def test_a_note_is_claimed_by_one(kind: str, tmp_path: Path) -> None:
    ledger = ledger_of(kind, tmp_path)
    assert ledger.claim("who", "first", lambda there: there is None) is None
    assert ledger.claim("who", "second", lambda there: there is None) == "first"
    assert ledger.description()["who"] == "first"
    assert ledger.claim("who", None, lambda there: there == "first") == "first"
    winners: list[int] = []

    def claim(number: int) -> None:
        if ledger.claim("who", number, lambda there: there is None) is None:
            winners.append(number)

    threads = [threading.Thread(target=claim, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert winners == [ledger.description()["who"]]


@every_ledger
def test_a_trial_that_is_given_up_waits_again(kind: str, tmp_path: Path) -> None:
    ledger = with_trials(kind, tmp_path, 1)
    assert ledger.take("me") is not None
    ledger.release(0)
    assert [trial.state for trial in ledger.trials()] == ["waiting"]
    again = ledger.take("another")
    assert again is not None
    assert again.number == 0
    ledger.finish(0, Outcome(score=1.0), {})
    ledger.release(0)  # too late
    assert [trial.state for trial in ledger.trials()] == ["complete"]


@every_ledger
def test_reports_of_finished_trials_are_told(kind: str, tmp_path: Path) -> None:
    ledger = with_trials(kind, tmp_path, 2)
    for number in range(2):
        ledger.take("me")
        ledger.report(number, 1, 0.5)
        ledger.report(number, 2, 0.75)
    ledger.finish(0, Outcome(score=1.0), {})
    assert ledger.reports_of_finished() == [{1: 0.5, 2: 0.75}]


@every_file
def test_a_dead_workers_trial_waits_again_under_its_own_number(kind: str, tmp_path: Path) -> None:
    """Also a loud test of what we use of Optuna's private parts (`_get_stale_trial_ids`)."""
    ledger = with_trials(kind, tmp_path, 1)
    assert ledger.take("doomed") is not None
    assert ledger.reclaim() == []  # it has just been heard of
    deadline = time.monotonic() + 30
    while not (reclaimed := ledger.reclaim()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert reclaimed == [0]
    again = ledger.take("heir")
    assert again is not None
    assert again.number == 0
    assert ledger.finish(0, Outcome(score=1.0), {})
    assert not ledger.finish(0, Outcome(score=2.0), {})  # the doomed one was only slow
    assert [trial.score for trial in ledger.trials()] == [1.0]


def test_a_worker_says_itself_how_soon_it_counts_as_dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = with_trials("dvae", tmp_path, 2)
    hasty, calm = (open_ledger(address_of("dvae", tmp_path), "test", heartbeat=every) for every in (1, 100))
    hasty.take("hasty")
    calm.take("calm")
    now = time.time()
    monkeypatch.setattr("dvae.studies.sqlite_ledger.time.time", lambda: now + 10)
    assert ledger.reclaim() == [0]
    monkeypatch.setattr("dvae.studies.sqlite_ledger.time.time", lambda: now + 400)
    assert ledger.reclaim() == [1]


def test_a_clock_that_was_set_back_keeps_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = with_trials("dvae", tmp_path, 1)
    now = time.time()
    monkeypatch.setattr("dvae.studies.sqlite_ledger.time.time", lambda: now + 3600)
    assert ledger.take("in the future") is not None
    monkeypatch.setattr("dvae.studies.sqlite_ledger.time.time", lambda: now)
    assert ledger.reclaim() == [0]


@every_file
def test_what_one_process_writes_another_reads(kind: str, tmp_path: Path) -> None:
    ledger = with_trials(kind, tmp_path, 3)
    ledger.describe("plan", {"a": 1})
    ledger.take("me")
    ledger.finish(0, Outcome(score=0.1 + 0.2), {"seconds": 0.5})
    again = open_ledger(address_of(kind, tmp_path), "test")
    assert again.trials() == ledger.trials()
    assert again.description() == ledger.description()
    assert again.trials()[0].score == 0.1 + 0.2
    again.finish(1, Outcome(pruned=True, error="hopeless"), {})
    assert [trial.state for trial in ledger.trials()] == ["complete", "pruned", "waiting"]


@every_file
def test_studies_of_one_file_do_not_meet(kind: str, tmp_path: Path) -> None:
    one = with_trials(kind, tmp_path, 2)
    two = open_ledger(address_of(kind, tmp_path), "two", create="minimize")
    assert two.propose(TASK.sample(1, seed=5)[0], {}) == 0
    two.describe("plan", 2)
    assert (len(one.trials()), len(two.trials())) == (2, 1)
    assert "plan" not in one.description()
    assert study_names(address_of(kind, tmp_path)) == ["test", "two"]
    with pytest.raises(StudyError, match="holds no study 'three'"):
        open_ledger(address_of(kind, tmp_path), "three")


@every_file
def test_a_file_that_is_not_there_is_not_made_by_looking(kind: str, tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="is not there"):
        study_names(address_of(kind, tmp_path))
    assert list(tmp_path.iterdir()) == []


def taken_by(address: str, worker: str, start: Any, answers: Any) -> None:
    """In a process of its own: takes trials until none waits."""
    ledger, taken = open_ledger(address, "test"), []
    start.wait()
    while (trial := ledger.take(worker)) is not None:
        taken.append(trial.number)
    ledger.close()
    answers.put(taken)


@every_file
def test_of_many_processes_each_gets_other_trials(kind: str, tmp_path: Path) -> None:
    with_trials(kind, tmp_path, 30).close()
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(2), context.Queue()
    arguments = [(address_of(kind, tmp_path), name, start, answers) for name in ("a", "b")]
    processes = [context.Process(target=taken_by, args=each) for each in arguments]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # these children need none of the parent's threads
        for process in processes:
            process.start()
    taken = [answers.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(taken[0] + taken[1]) == list(range(30))


def test_a_file_says_whose_it_is(tmp_path: Path) -> None:
    ledger_of("dvae", tmp_path)
    path = tmp_path / "study.db"
    for address in (f"dvae:///{path}", f"sqlite:///{path}", str(path)):
        assert study_names(address) == ["test"]
    other = tmp_path / "other.db"
    other.write_bytes(b"not a database, but long enough to be looked at" * 10)
    with pytest.raises(StudyError, match=r"other\.db cannot be read or written: file is not a database"):
        study_names(f"dvae:///{other}")


@needs_optuna
def test_a_file_of_optunas_is_not_taken_for_ours(tmp_path: Path) -> None:
    ledger_of("sqlite", tmp_path)
    assert study_names(str(tmp_path / "study.db")) == ["test"]
    with pytest.raises(StudyError, match="not a file of dvae's own studies; one of Optuna's is sqlite:///"):
        study_names(f"dvae:///{tmp_path / 'study.db'}")


def test_a_later_format_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dvae.studies.sqlite_ledger.VERSION", 2)
        ledger_of("dvae", tmp_path)
    with pytest.raises(StudyError, match="later version of dvae"):
        ledger_of("dvae", tmp_path)
