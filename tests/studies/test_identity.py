"""A study goes on only as it was begun: with its score, direction, model and known scores. One process proposes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.dag import ScoredDag
from dvae.errors import StudyError
from dvae.models import VAE
from dvae.studies import MemoryLedger, Study, storage_of, studies_of
from dvae.studies.identity import score_name
from dvae.studies.presence import PROPOSER, Presence, process_start

TASK = dvae.tasks.get("asia")


def few_edges(dag: Dag) -> float:
    return -float(len(dag.edges))


def many_edges(dag: Dag) -> float:
    return float(len(dag.edges))


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


def test_another_score_is_another_study(vae: VAE, tmp_path: Path) -> None:
    options: dict[str, Any] = {"strategy": "random", "storage": f"dvae:///{tmp_path / 's.db'}"}
    dvae.search(vae, TASK, score=few_edges, budget=3, **options)
    with pytest.raises(StudyError, match=r"was begun with score = '.*:few_edges', not '.*:many_edges'"):
        dvae.search(vae, TASK, score=many_edges, budget=5, **options)
    with pytest.raises(StudyError, match=r"was begun with score = '.*:few_edges', not the task's own"):
        dvae.search(vae, TASK, budget=5, **options)
    with pytest.raises(StudyError, match="was begun with direction = 'maximize', not 'minimize'"):
        dvae.search(vae, TASK, score=few_edges, budget=5, minimize=True, **options)
    assert len(dvae.search(vae, TASK, score=few_edges, budget=5, **options).trials) == 5


def test_another_model_or_other_known_scores_are_another_study(vae: VAE, tmp_path: Path) -> None:
    options: dict[str, Any] = {"score": few_edges, "strategy": "random", "storage": f"dvae:///{tmp_path / 's.db'}"}
    one, two = ([ScoredDag(TASK.sample(1, seed=seed)[0], 1.0)] for seed in (1, 2))
    dvae.search(vae, TASK, budget=3, warm=one, **options)
    with pytest.raises(StudyError, match="was begun with another set of known scores"):
        dvae.search(vae, TASK, budget=5, warm=two, **options)
    with pytest.raises(StudyError, match="was begun with another model"):
        dvae.search(dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=1), TASK, warm=one, **options)


def test_the_tasks_own_score_has_one_name(vae: VAE, tmp_path: Path) -> None:
    storage = f"dvae:///{tmp_path / 's.db'}"
    dvae.search(vae, strategy="random", budget=2, storage=storage)
    study = dvae.search(vae, score=TASK.score, task=TASK, strategy="random", budget=3, storage=storage)
    assert study.description["score"] is None


def test_a_score_is_named_by_its_place() -> None:
    assert score_name(few_edges).endswith(":few_edges")
    assert score_name(lambda dag: 0.0).endswith("<lambda> (local)")
    assert score_name(print) == "builtins:print"
    assert score_name(MemoryLedger()) == "dvae.studies.ledger:MemoryLedger"


def test_what_was_known_before_stands_beside_what_was_found(vae: VAE) -> None:
    dags = TASK.sample(20, seed=3)
    warm = [ScoredDag(dag, few_edges(dag)) for dag in dags]
    study = dvae.search(vae, TASK, score=few_edges, strategy="random", budget=5, warm=warm)
    known = study.known_before
    assert known is not None
    assert known.score == max(item.score for item in warm if item.score is not None)
    assert few_edges(known.dag) == known.score
    assert study.improved == (study.best_score > known.score)
    lowest = dvae.search(vae, TASK, score=few_edges, strategy="random", budget=5, warm=warm, minimize=True)
    assert lowest.known_before is not None
    assert lowest.known_before.score == min(item.score for item in warm if item.score is not None)
    best = [ScoredDag(Dag(TASK.sample(1, seed=0)[0].types), 0.0)]  # no edge at all
    assert dvae.search(vae, TASK, score=few_edges, strategy="random", budget=5, warm=best).improved is False
    nothing = dvae.search(vae, TASK, score=few_edges, strategy="random", budget=5)
    assert (nothing.known_before, nothing.improved) == (None, None)


def test_a_start_is_scored_first_and_counts(vae: VAE, tmp_path: Path) -> None:
    start = TASK.sample(6, seed=5)
    options: dict[str, Any] = {"score": few_edges, "strategy": "evolution", "batch": 4, "initial": 2, "start": start}
    study = dvae.search(vae, TASK, budget=10, **options)
    assert [trial.dag for trial in study.trials[:6]] == start
    assert {trial.round for trial in study.trials[:6]} == {0}
    assert len(study.trials) == 10
    storage = f"dvae:///{tmp_path / 's.db'}"
    dvae.search(vae, TASK, budget=3, storage=storage, **options)  # cut within the start
    resumed = dvae.search(vae, TASK, budget=10, storage=storage, **options)
    assert [trial.dag for trial in resumed.trials] == [trial.dag for trial in study.trials]


def test_no_round_begins_after_the_time_is_up(vae: VAE) -> None:
    def slow(dag: Dag) -> float:
        time.sleep(0.3)
        return few_edges(dag)

    options: dict[str, Any] = {"score": slow, "strategy": "random", "budget": 50, "batch": 2}
    study = dvae.search(vae, TASK, seconds=0.5, **options)
    assert len(study.trials) == 2
    assert study.ended
    assert dvae.search(vae, TASK, seconds=0.0, **options).trials == []


def test_each_round_is_told_and_may_be_the_last(vae: VAE, tmp_path: Path) -> None:
    seen: list[int] = []

    def on_round(study: Study) -> bool:
        seen.append(len(study.trials))
        return len(seen) == 3

    options: dict[str, Any] = {"score": few_edges, "strategy": "evolution", "batch": 5, "initial": 5}
    whole = dvae.search(vae, TASK, budget=25, **options)
    storage = f"dvae:///{tmp_path / 's.db'}"
    dvae.search(vae, TASK, budget=25, on_round=on_round, storage=storage, **options)
    assert seen == [5, 10, 15]
    resumed = dvae.search(vae, TASK, budget=25, storage=storage, **options)
    assert [trial.dag for trial in resumed.trials] == [trial.dag for trial in whole.trials]


def test_a_search_ended_by_its_callback_goes_on_the_same(vae: VAE, tmp_path: Path) -> None:
    def no_time(study: Study) -> bool:
        raise StudyError("out of time")

    options: dict[str, Any] = {"score": few_edges, "strategy": "evolution", "batch": 5, "initial": 5, "budget": 20}
    storage = f"dvae:///{tmp_path / 's.db'}"
    for _ in range(3):
        with pytest.raises(StudyError, match="out of time"):
            dvae.search(vae, TASK, on_round=no_time, storage=storage, **options)
    resumed = dvae.search(vae, TASK, storage=storage, **options)
    whole = dvae.search(vae, TASK, **options)
    assert [trial.dag for trial in resumed.trials] == [trial.dag for trial in whole.trials]


def proposer(**changes: object) -> dict[str, object]:
    return {"host": platform.node(), "pid": os.getppid(), "started": process_start(os.getppid()),
            "token": "other", "seen": time.time(), **changes}  # fmt: skip


def test_a_living_process_keeps_its_study() -> None:
    ledger = MemoryLedger()
    ledger.describe(PROPOSER, proposer())
    with pytest.raises(StudyError, match=f"process {os.getppid()} on .* is searching"), Presence(ledger):
        pass
    assert ledger.description()[PROPOSER]["token"] == "other"


@pytest.mark.parametrize(
    "gone",
    [
        {"started": "12"},  # the number belongs to another process by now
        {"pid": 2**22 + 1},
        {"host": "elsewhere", "seen": time.time() - 3600},
        {"host": "elsewhere", "seen": time.time() + 3600},  # by a clock in the future
    ],
)
def test_a_dead_process_blocks_nobody(gone: dict[str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.studies.presence.WATCH_SECONDS", 0.1)
    ledger = MemoryLedger()
    ledger.describe(PROPOSER, proposer(**gone))
    with Presence(ledger) as presence:
        assert ledger.description()[PROPOSER]["pid"] == os.getpid()
        presence.check()
    assert ledger.description()[PROPOSER] is None


def test_who_was_taken_over_says_so_and_leaves_the_other_alone() -> None:
    ledger = MemoryLedger()
    with Presence(ledger) as presence:
        ledger.describe(PROPOSER, proposer())
        with pytest.raises(StudyError, match="has taken over the study"):
            presence.check()
    assert ledger.description()[PROPOSER]["token"] == "other"


def test_a_process_has_a_beginning() -> None:
    assert process_start(os.getpid()) == process_start(os.getpid()) is not None
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert process_start(child.pid) is not None
    child.communicate()
    assert process_start(child.pid) is None


def test_the_studies_of_a_0_1_0_run_are_read_and_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    run = tmp_path / "generic"
    (before,) = studies_of(run)
    assert before.ended
    known = before.trials
    assert before.description["model_fingerprint"] == dvae.studies.model_fingerprint(dvae.load(run))
    monkeypatch.syspath_prepend(tmp_path)  # mine.py, its score
    study = dvae.search(
        dvae.load(run), score="mine:score", strategy="evolution", budget=16, batch=4, initial=5,
        storage=storage_of(run), name=before.name,
    )  # fmt: skip
    assert [trial.dag for trial in study.trials[:12]] == [trial.dag for trial in known]
    assert [trial.state for trial in study.trials] == ["complete"] * 16
