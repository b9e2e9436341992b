"""Studies: every candidate is written down, scored once, and never lost, whatever dies and when."""

from __future__ import annotations

import importlib.util
import itertools
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.dag import DagSet
from dvae.errors import MissingError, PrunedError, StudyError
from dvae.models.vae import VAE
from dvae.studies import MemoryLedger, Outcome, Study, Work, named_score, open_ledger, work_once
from dvae.studies.presence import PROPOSER
from dvae.studies.scoring import goes_badly, outcome_of, takes_report
from dvae.studies.study import ABOUT

TASK = dvae.tasks.get("asia")
needs_optuna = pytest.mark.skipif(
    importlib.util.find_spec("optuna") is None, reason="Optuna is not installed (extra: search)"
)
every_storage = pytest.mark.parametrize("scheme", ["dvae", pytest.param("sqlite", marks=needs_optuna)])


def edges_of(dag: Dag) -> float:
    """A score: networks with few edges are better."""
    return -float(len(dag.edges))


@pytest.fixture(scope="module")
def vae() -> VAE:
    model = dvae.models.build("dvae", TASK, hidden=24, latent=6, seed=0)
    dvae.fit(model, TASK.sample_batch(400, seed=0), epochs=12, batch_size=64, learning_rate=5e-3, progress=False)
    return model


class Crash(BaseException):
    """Stands for a process that is killed."""


def crashing(score: dvae.studies.Score, after: int, calls: Counter[object]) -> dvae.studies.Score:
    """A score that kills its process when it is called for the `after`-th time, before or after the work is done."""
    counter = itertools.count(1)

    def crash_or_score(dag: Dag) -> float:
        if next(counter) > after:
            raise Crash
        calls[TASK.key(dag)] += 1
        return score(dag)

    return crash_or_score


@every_storage
@pytest.mark.parametrize(
    "strategy",
    [
        "random",
        "trust-region",
        pytest.param("evolution", marks=pytest.mark.slow),
        pytest.param("gradient", marks=pytest.mark.slow),
    ],
)
def test_a_search_that_dies_again_and_again_is_the_uninterrupted_one(
    strategy: str, scheme: str, vae: VAE, tmp_path: Path
) -> None:
    if strategy == "trust-region":
        pytest.importorskip("botorch")
    options = {"budget": 24, "batch": 6, "initial": 12, "strategy": strategy, "seed": 4}
    whole = dvae.search(vae, TASK, score=edges_of, **options)
    storage = f"{scheme}:///{tmp_path / 'study.db'}"
    calls: Counter[object] = Counter()
    for after in itertools.cycle((5, 0, 9)):
        try:
            study = dvae.search(
                vae, TASK, score=crashing(edges_of, after, calls), storage=storage, heartbeat=1, **options
            )
        except Crash:
            _forget_the_running(storage)
            continue
        break
    assert [trial.dag for trial in study.trials] == [trial.dag for trial in whole.trials]
    assert [trial.score for trial in study.trials] == [trial.score for trial in whole.trials]
    assert set(calls.values()) == {1}
    assert len(calls) == 24


def _forget_the_running(storage: str) -> None:
    """What the death of a process does after the grace period, without waiting for it."""
    opened = Study.open(storage)
    for trial in opened.trials:
        if trial.state == "running":
            opened.ledger.release(trial.number)
    opened.close()


@every_storage
def test_a_death_while_candidates_are_written_down_leaves_no_double(
    scheme: str, vae: VAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"score": edges_of, "budget": 24, "batch": 6, "strategy": "random", "seed": 1}
    whole = dvae.search(vae, TASK, **options)
    storage = f"{scheme}:///{tmp_path / 'study.db'}"
    kind: Any = type(open_ledger(storage, "search", create="maximize"))
    propose, counter = kind.propose, itertools.count(1)

    def dying(*arguments: object) -> int:
        if next(counter) % 5 == 0:
            raise Crash
        return int(propose(*arguments))

    monkeypatch.setattr(kind, "propose", dying)
    deaths = 0
    while True:
        try:
            study = dvae.search(vae, TASK, storage=storage, **options)
            break
        except Crash:
            deaths += 1
    assert deaths >= 4
    ordered = sorted(study.trials, key=lambda trial: (trial.round, trial.place))
    assert [trial.dag for trial in ordered] == [trial.dag for trial in whole.trials]


def test_a_failing_score_is_a_failed_trial_and_the_search_goes_on(vae: VAE) -> None:
    def moody(dag: Dag) -> float:
        if len(dag.edges) % 2:
            raise ValueError("odd")
        return edges_of(dag) if len(dag.edges) > 4 else float("nan")

    study = dvae.search(vae, TASK, score=moody, budget=30, strategy="random")
    assert len(study.trials) == 30
    failed = [trial for trial in study.trials if trial.state == "failed"]
    assert {trial.error for trial in failed} <= {"ValueError: odd", "the score is nan"}
    assert failed
    assert study.best_score == max(trial.score for trial in study.trials if trial.score is not None)


def test_a_score_that_takes_too_long_is_a_failed_trial() -> None:
    dag = TASK.sample(1, seed=0)[0]
    ended = threading.Event()

    def endless(dag: Dag) -> float:
        ended.wait(30)
        return 0.0

    outcome = outcome_of(endless, dag, lambda step, value: None, timeout=0.05)
    ended.set()
    assert outcome == Outcome(error="timed out after 0.05 s")
    assert outcome.state == "failed"


def test_workers_are_threads_that_share_a_round(vae: VAE) -> None:
    together = threading.Barrier(3, timeout=20)

    def meet(dag: Dag) -> float:
        together.wait()
        return edges_of(dag)

    study = dvae.search(vae, TASK, score=meet, budget=12, batch=6, strategy="random", workers=3)
    assert [trial.state for trial in study.trials] == ["complete"] * 12


def test_lower_is_better_where_it_is_said(vae: VAE) -> None:
    study = dvae.search(
        vae, TASK, score=lambda dag: -edges_of(dag), budget=40, initial=20, strategy="evolution", minimize=True
    )
    assert study.best_score == min(trial.score for trial in study.trials if trial.score is not None)
    chance = dvae.search(vae, TASK, score=lambda dag: -edges_of(dag), budget=40, strategy="random", minimize=True)
    assert study.best_score < chance.best_score


def test_a_warm_start_is_known_from_the_beginning(vae: VAE) -> None:
    dags = TASK.sample(60, seed=2)
    warm = DagSet.of(dags, [edges_of(dag) for dag in dags])
    study = dvae.search(vae, TASK, score=edges_of, budget=10, strategy="evolution", warm=warm)
    assert study.description["warm"] == 60
    known = {TASK.key(dag) for dag in dags}
    assert not known & {TASK.key(trial.dag) for trial in study.trials}


def test_the_task_scores_where_no_function_is_given(vae: VAE) -> None:
    study = dvae.search(vae, budget=5, strategy="random")
    assert study.best_score == pytest.approx(TASK.score(study.best_dag))


@every_storage
def test_a_study_is_resumed_only_as_it_was_begun(scheme: str, vae: VAE, tmp_path: Path) -> None:
    options = {"score": edges_of, "strategy": "random", "storage": f"{scheme}:///{tmp_path / 'study.db'}"}
    dvae.search(vae, TASK, budget=5, **options)
    with pytest.raises(StudyError, match="was begun with seed = 0, not 1"):
        dvae.search(vae, TASK, budget=5, seed=1, **options)
    assert len(dvae.search(vae, TASK, budget=8, **options).trials) == 8  # more of the same is fine


@every_storage
def test_two_searches_of_one_study_are_refused(
    scheme: str, vae: VAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dvae.studies.presence.WATCH_SECONDS", 0.1)
    storage = f"{scheme}:///{tmp_path / 'study.db'}"
    ledger = open_ledger(storage, "test", create="maximize")
    ledger.describe(PROPOSER, {"host": "elsewhere", "pid": 1, "seen": time.time()})
    with pytest.raises(StudyError, match="process 1 on elsewhere"):
        dvae.search(vae, TASK, score=edges_of, budget=5, strategy="random", storage=storage, name="test")
    ledger.describe(PROPOSER, {"host": "elsewhere", "pid": 1, "seen": time.time() - 3600})
    dvae.search(vae, TASK, score=edges_of, budget=5, strategy="random", storage=storage, name="test")


@every_storage
def test_a_study_is_opened_by_name_or_alone(scheme: str, vae: VAE, tmp_path: Path) -> None:
    storage = f"{scheme}:///{tmp_path / 'study.db'}"
    with pytest.raises(MissingError, match="is not there"):
        Study.open(storage)
    made = dvae.search(vae, TASK, score=edges_of, budget=5, strategy="random", storage=storage, name="one")
    opened = Study.open(storage)
    assert opened.ended
    assert (opened.name, opened.best_dag) == ("one", made.best_dag)
    assert opened.description["strategy"] == "random"
    with pytest.raises(StudyError, match="holds no study 'two' \\(it holds: one\\)"):
        Study.open(storage, "two")
    dvae.search(vae, TASK, score=edges_of, budget=5, strategy="random", storage=storage, name="two")
    with pytest.raises(StudyError, match="several studies: one, two"):
        Study.open(storage)


@needs_optuna
def test_a_storage_opened_by_two_at_once_is_opened_again(
    vae: VAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import optuna
    from sqlalchemy.exc import IntegrityError

    original, failures = optuna.storages.RDBStorage.__init__, [2]

    def opened(storage: Any, *arguments: Any, **settings: Any) -> None:
        if failures[0]:
            failures[0] -= 1
            raise IntegrityError("INSERT INTO alembic_version", None, Exception("duplicate key"))
        original(storage, *arguments, **settings)

    monkeypatch.setattr(optuna.storages.RDBStorage, "__init__", opened)
    url = f"sqlite:///{tmp_path / 'twice.db'}"
    dvae.search(vae, TASK, score=edges_of, budget=3, strategy="random", storage=url, name="one")
    assert failures == [0]
    failures[0] = 100
    with pytest.raises(StudyError, match="cannot be opened"):
        Study.open(url)


def test_no_password_is_shown() -> None:
    from dvae.studies.storage import shown

    assert shown("postgresql://me:secret@host:5432/studies") == "postgresql://me@host:5432/studies"
    with pytest.raises(StudyError, match="no storage") as caught:
        Study.open("nonsense", "x")
    assert "secret" not in str(caught.value)


def test_a_score_may_report_and_be_left() -> None:
    ledger = MemoryLedger()
    for dag in TASK.sample(8, seed=0):
        ledger.propose(dag, {})
    values = iter([5.0, 6.0, 7.0, 8.0, 9.0, 1.0, 9.0, 2.0])

    def slow(dag: Dag, report: dvae.studies.Report) -> float:
        value = next(values)
        report(1, value)
        return value

    work = Work(slow, prune=True)
    while work_once(ledger, work):
        pass
    states = [trial.state for trial in ledger.trials()]
    assert states == ["complete"] * 5 + ["pruned", "complete", "pruned"]
    assert ledger.trials()[5].error == "at step 1, 1 is worse than the median of the others"


def test_badly_is_below_the_median_at_the_same_step() -> None:
    others = [{1: 0.5, 2: float(number)} for number in range(6)]
    assert goes_badly(2, {2: 1.0}, others)
    assert not goes_badly(2, {2: 4.0}, others)
    assert goes_badly(2, {2: 4.0}, others, higher_is_better=False)
    assert not goes_badly(2, {2: -1.0}, [{1: 1.0}])  # too few to tell


def test_one_bad_step_does_not_end_a_good_trial() -> None:
    """Curves of accuracies rise with noise: the best so far is compared with the best so far, and not too early."""
    others = [{step: number / 10 + step / 100 for step in range(1, 10)} for number in range(6)]
    own = {1: 0.0, 2: 0.0, 3: 0.9}
    assert not goes_badly(2, own, others)  # in the first third
    assert not goes_badly(3, own, others)
    assert not goes_badly(4, {**own, 4: 0.1}, others)
    assert goes_badly(4, {1: 0.0, 2: 0.0, 3: 0.0, 4: 0.1}, others)


def test_trials_that_still_run_have_no_say() -> None:
    ledger = MemoryLedger()
    for dag in TASK.sample(8, seed=0):
        ledger.propose(dag, {})
    for number in range(7):
        ledger.take("someone")
        ledger.report(number, 1, 10.0)

    def slow(dag: Dag, report: dvae.studies.Report) -> float:
        report(1, 1.0)
        return 1.0

    assert work_once(ledger, Work(slow, prune=True)) is not None
    assert ledger.trials()[7].state == "complete"


def test_a_score_says_whether_it_reports() -> None:
    assert takes_report(lambda dag, report: 0.0)
    assert not takes_report(lambda dag, scale=2.0: 0.0)
    assert not takes_report(edges_of)


def test_pruned_is_no_failure() -> None:
    def pruned(dag: Dag) -> float:
        raise PrunedError("hopeless")

    outcome = outcome_of(pruned, TASK.sample(1, seed=0)[0], lambda step, value: None)
    assert (outcome.state, outcome.error) == ("pruned", "hopeless")


@pytest.mark.parametrize("name", ["nothing", "no.such.module:f", "math:no_such", "math:pi"])
def test_a_score_that_cannot_be_found_is_named(name: str) -> None:
    with pytest.raises(StudyError, match=name.split(":")[0]):
        named_score(name)


def test_the_description_tells_what_was_done(vae: VAE) -> None:
    study = dvae.search(vae, TASK, score=edges_of, budget=5, strategy="random")
    about = study.ledger.description()[ABOUT]
    assert about["task"] == "asia"
    assert {"strategy", "seed", "budget", "direction", "record", "model_fingerprint"} <= about.keys()
