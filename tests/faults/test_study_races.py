"""Two who want one study: processes that begin at the same moment, clocks that are wrong, numbers that are reused."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import platform
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.errors import StudyError
from dvae.models import VAE
from dvae.processes import process_space, process_start
from dvae.studies import Ledger, MemoryLedger, Study, open_ledger
from dvae.studies.presence import PROPOSER, Presence
from postgres import postgres_server

TASK = dvae.tasks.get("asia")
needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (extra: search)"
)
every_storage = pytest.mark.parametrize("scheme", ["dvae", pytest.param("sqlite", marks=needs_optuna)])


def few_edges(dag: Dag) -> float:
    return -float(len(dag.edges))


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


def in_processes(count: int, work: Callable[..., None], *arguments: Any) -> list[Any]:
    """What `count` processes answer that begin at the same moment; each stays until all have answered."""
    context = multiprocessing.get_context("fork")
    start, answers = context.Barrier(count, timeout=60), context.Queue()
    processes = [context.Process(target=work, args=(start, answers, *arguments)) for _ in range(count)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # these children need none of the parent's threads
        for process in processes:
            process.start()
    found = [answers.get(timeout=120) for _ in processes]
    for process in processes:
        process.join(60)
    return found


def sign(start: Any, answers: Any, address: str) -> None:
    ledger = open_ledger(address, "test")
    start.wait()
    try:
        with Presence(ledger):
            answers.put("signed")
            start.wait()
    except StudyError as error:
        answers.put(str(error))
        start.wait()


def race(address: str, times: int) -> None:
    open_ledger(address, "test", create="maximize").close()
    for _ in range(times):
        found = in_processes(3, sign, address)
        assert found.count("signed") == 1, found
        assert sum("is searching with the study 'test' already" in each for each in found) == 2, found


@pytest.mark.parametrize("times", [4, pytest.param(100, marks=pytest.mark.slow)])
@every_storage
def test_of_processes_that_sign_at_the_same_moment_one_may(scheme: str, times: int, tmp_path: Path) -> None:
    race(f"{scheme}:///{tmp_path / 'study.db'}", times)


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with postgres_server() as server:
        yield server.get_uri()


@pytest.mark.slow
def test_so_it_is_on_postgres(postgres: str) -> None:
    race(postgres, 40)


def search(start: Any, answers: Any, address: str, vae: VAE) -> None:
    start.wait()
    try:
        dvae.search(vae, TASK, score=few_edges, strategy="random", budget=20, batch=5, storage=address, name="test")
        answers.put("searched")
    except StudyError as error:
        answers.put(str(error))


@pytest.mark.parametrize("times", [1, pytest.param(15, marks=pytest.mark.slow)])
@every_storage
def test_of_searches_that_begin_at_the_same_moment_one_runs_and_nothing_is_doubled(
    scheme: str, times: int, vae: VAE, tmp_path: Path
) -> None:
    whole = dvae.search(vae, TASK, score=few_edges, strategy="random", budget=20, batch=5)
    for number in range(times):
        address = f"{scheme}:///{tmp_path / f'{number}.db'}"
        found = in_processes(2, search, address, vae)
        assert "searched" in found
        trials = Study.open(address, "test").trials
        assert [trial.dag for trial in trials] == [trial.dag for trial in whole.trials]
        assert {trial.state for trial in trials} == {"complete"}


def signed(**changes: object) -> dict[str, object]:
    parent = os.getppid()
    known = {"host": platform.node(), "space": process_space(), "pid": parent, "started": process_start(parent)}
    return {**known, "token": "other", "seen": time.time(), **changes}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.studies.presence.WATCH_SECONDS", 0.3)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    "sign_of_the_dead",
    [
        signed(started="12"),  # its number was given to another process
        signed(pid=2**22 + 1),
        signed(space="another boot", seen=time.time() - 60),  # the machine was started again since
        signed(host="elsewhere", seen=time.time() - 3600),
        signed(host="elsewhere", seen=time.time() + 10**7),  # by a clock in the future
        {"host": "elsewhere"},
        {"pid": "x", "host": platform.node()},
        "nonsense",
        [1, 2],
    ],
)
def test_no_sign_blocks_for_ever(sign_of_the_dead: Any) -> None:
    ledger = MemoryLedger()
    ledger.describe(PROPOSER, sign_of_the_dead)
    with Presence(ledger) as presence:
        presence.check()
    assert ledger.description()[PROPOSER] is None


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("wrong", [-3600.0, 3600.0, 10.0**7])
@pytest.mark.parametrize("elsewhere", [{"host": "elsewhere"}, {"space": "another container of the same name"}])
def test_a_living_search_keeps_its_study_though_its_clock_is_wrong(wrong: float, elsewhere: dict[str, object]) -> None:
    ledger, ended = MemoryLedger(), threading.Event()

    def beats() -> None:
        while not ended.wait(0.05):
            ledger.describe(PROPOSER, signed(**elsewhere, seen=time.time() + wrong))

    ledger.describe(PROPOSER, signed(**elsewhere, seen=time.time() + wrong))
    thread = threading.Thread(target=beats)
    thread.start()
    try:
        with pytest.raises(StudyError, match="is searching with the study"):
            Presence(ledger).__enter__()
    finally:
        ended.set()
        thread.join()


def test_a_dead_process_that_nobody_has_buried_blocks_nobody() -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    deadline = time.monotonic() + 30
    while process_start(child) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ledger = MemoryLedger()
    ledger.describe(PROPOSER, signed(pid=child))
    with Presence(ledger):
        pass
    os.waitpid(child, 0)


def test_two_searches_in_one_process_are_two(vae: VAE) -> None:
    ledger = MemoryLedger()
    with Presence(ledger), pytest.raises(StudyError, match=f"process {os.getpid()} on .* is searching"):
        Presence(ledger).__enter__()
    with Presence(ledger):  # the one before has left
        pass


@every_storage
def test_a_study_may_be_taken_over_and_who_had_it_says_so(scheme: str, vae: VAE, tmp_path: Path) -> None:
    storage = f"{scheme}:///{tmp_path / 'study.db'}"
    options: dict[str, Any] = {"score": few_edges, "strategy": "random", "batch": 3, "storage": storage, "name": "one"}

    def overtaken(study: Study) -> None:
        if len(study.trials) == 6:
            dvae.search(vae, TASK, budget=12, take_over=True, **options)

    ledger: Ledger = open_ledger(storage, "one", create="maximize")
    ledger.describe(PROPOSER, signed())
    with pytest.raises(StudyError, match="add --take-over"):
        dvae.search(vae, TASK, budget=12, **options)
    ledger.describe(PROPOSER, None)
    ledger.close()
    with pytest.raises(StudyError, match="has taken over the study 'one' from this one"):
        dvae.search(vae, TASK, budget=12, on_round=overtaken, **options)
    found = Study.open(storage, "one")
    whole = dvae.search(vae, TASK, score=few_edges, strategy="random", budget=12, batch=3)
    assert [trial.dag for trial in found.trials] == [trial.dag for trial in whole.trials]
    assert found.ended
