"""Scores: by name, with arguments, whole rounds at once; what went wrong is said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae import Dag
from dvae.dag import ScoredDag
from dvae.errors import ConfigError, StudyError, TaskError
from dvae.models import VAE
from dvae.strategies import PaperSearch, PaperSearchConfig
from dvae.studies import MemoryLedger, Study, TaskScore, Work, named_score, work_round
from dvae.studies.scoring import MAX_SCORE, outcome_from
from dvae.studies.values import judged
from dvae.tasks import GenericTask

TASK = dvae.tasks.get("asia")
MODULE = """
calls = []

class Weighted:
    def __init__(self, weight=1, *, label="none", negative=False):
        self.weight, self.label, self.negative = weight, label, negative

    def __call__(self, dag):
        calls.append(1)
        return (-1 if self.negative else 1) * self.weight * len(dag.edges)

class Uncallable:
    pass

class Broken:
    def __init__(self):
        raise RuntimeError("no disk")

def scaled(dag, scale=1.0):
    return scale * len(dag.edges)
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "scores_of_tests.py").write_text(MODULE)
    (tmp_path / "scores_with_a_mistake.py").write_text("def score(dag:\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "scores_of_tests", raising=False)
    return "scores_of_tests"


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


DAG = Dag(("a", "b"), ((0, 1),))


class Rounds:
    """A score that takes whole rounds, and remembers them."""

    def __init__(self) -> None:
        self.rounds: list[int] = []
        self.singles = 0

    def __call__(self, dag: Dag) -> float:
        self.singles += 1
        return self._one(dag)

    def many(self, dags: Sequence[Dag]) -> list[Any]:
        self.rounds.append(len(dags))
        return [self._one(dag) for dag in dags]

    def _one(self, dag: Dag) -> float:
        return float(len(dag.edges))


def test_a_round_is_scored_at_once(vae: VAE) -> None:
    score = Rounds()
    study = dvae.search(vae, TASK, score=score, strategy="random", budget=14, batch=6)
    assert score.rounds == [6, 6, 2]
    assert score.singles == 0
    assert [trial.score for trial in study.trials] == [len(trial.dag.edges) for trial in study.trials]
    assert all("seconds" in trial.attributes for trial in study.trials)


def test_one_that_cannot_be_scored_does_not_cost_the_others_theirs(vae: VAE) -> None:
    class Moody(Rounds):
        def _one(self, dag: Dag) -> float:
            if len(dag.edges) % 2:
                raise ValueError("odd")
            return super()._one(dag)

    score = Moody()
    study = dvae.search(vae, TASK, score=score, strategy="random", budget=12, batch=6)
    odd = [trial for trial in study.trials if len(trial.dag.edges) % 2]
    assert odd
    assert {(trial.state, trial.error) for trial in odd} == {("failed", "ValueError: odd")}
    assert all(trial.state == "complete" for trial in study.trials if trial not in odd)
    assert score.singles == 12


def test_a_score_may_say_which_of_a_round_failed_and_why(vae: VAE) -> None:
    class Choosy(Rounds):
        def many(self, dags: Sequence[Dag]) -> list[Any]:
            self.rounds.append(len(dags))
            return [TaskError("odd") if len(dag.edges) % 2 else 1.0 for dag in dags]

    score = Choosy()
    study = dvae.search(vae, TASK, score=score, strategy="random", budget=20, batch=20)
    assert (score.rounds, score.singles) == ([20], 0)
    assert {trial.error for trial in study.trials} == {None, "TaskError: odd"}


@pytest.mark.parametrize("options", [{"timeout": 5.0, "isolate": False}, {"prune": True}])
def test_what_needs_candidates_one_by_one_gets_them_so(options: dict[str, Any], vae: VAE) -> None:
    score = Rounds()
    dvae.search(vae, TASK, score=score, strategy="random", budget=4, batch=4, **options)
    assert (score.rounds, score.singles) == ([], 4)


def test_a_wrong_number_of_scores_is_not_taken() -> None:
    class Short(Rounds):
        def many(self, dags: Sequence[Dag]) -> list[Any]:
            return [1.0]

    ledger = MemoryLedger()
    for dag in TASK.sample(3, seed=0):
        ledger.propose(dag, {})
    score = Short()
    assert len(work_round(ledger, Work(score))) == 3
    assert score.singles == 3
    assert work_round(ledger, Work(score)) == []


def test_a_score_interrupted_by_the_user_waits_again() -> None:
    ledger = MemoryLedger()
    for dag in TASK.sample(3, seed=0):
        ledger.propose(dag, {})

    class Interrupted(Rounds):
        def many(self, dags: Sequence[Dag]) -> list[Any]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work_round(ledger, Work(Interrupted()))
    assert [trial.state for trial in ledger.trials()] == ["waiting"] * 3


def test_a_tasks_own_score_takes_rounds(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    score = TaskScore(TASK)
    dags = TASK.sample(3, seed=0)
    assert score.many(dags) == pytest.approx([score(dag) for dag in dags])
    sizes: list[int] = []
    original = type(TASK).scores
    monkeypatch.setattr(type(TASK), "scores", lambda task, dags: sizes.append(len(dags)) or original(task, dags))
    dvae.search(vae, strategy="random", budget=8, batch=8)
    assert sizes == [0, 8]


def test_a_task_without_a_score_is_refused_before_anything_begins(tmp_path: Path) -> None:
    task = GenericTask.infer("mine", [DAG, Dag(("a",))])
    vae = dvae.models.build("dvae", task, hidden=8, latent=3, seed=0)
    with pytest.raises(TaskError, match="no score of its own"):
        dvae.search(vae, strategy="random", storage=f"dvae:///{tmp_path / 'study.db'}")
    assert list(tmp_path.iterdir()) == []


def test_several_values_are_no_score_unless_some_are_asked_for() -> None:
    error = judged(outcome_from({"a": 1}), None).error
    assert error == "the score gives several values; say which to search for, e.g. with --maximize NAME"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((1, 2), "the score is (1, 2), a tuple; it must be a number"),
        ({"a": [1]}, "of a: the score is [1], a list; it must be a number"),
        (None, "the score is None, a NoneType; it must be a number"),
        (float("nan"), "the score is nan"),
        (1e308, "the score is 1e+308; scores are at most 1e+50 in size"),
    ],
)
def test_what_is_no_score_is_said(value: object, words: str) -> None:
    assert outcome_from(value).error == words


@pytest.mark.parametrize("strategy", ["evolution", "gradient", "trust-region", "paper"])
def test_the_largest_scores_are_computed_with(strategy: str, vae: VAE) -> None:
    if strategy in ("trust-region", "paper"):
        pytest.importorskip("botorch")

    def score(dag: Dag) -> float:
        return MAX_SCORE if len(dag.edges) % 2 else -MAX_SCORE

    quick = PaperSearchConfig(inducing=8, epochs=2, decodings=20, raw_samples=8, restarts=1, iterations=3)
    how: Any = partial(PaperSearch, config=quick) if strategy == "paper" else strategy
    warm = [ScoredDag(dag, score(dag)) for dag in TASK.sample(10, seed=0)]
    warm.append(ScoredDag(TASK.sample(1, seed=99)[0], 1e308))  # is not told
    study = dvae.search(vae, TASK, score=score, strategy=how, warm=warm, budget=3, batch=2, initial=2)
    assert study.description["warm"] == 10
    assert not study.failures


def test_a_named_score_takes_arguments(module: str, vae: VAE) -> None:
    score: Any = named_score(f"{module}:Weighted?weight=2.5&label=runs/net&negative=true")
    assert (score.weight, score.label, score.negative) == (2.5, "runs/net", True)
    assert score(DAG) == -2.5
    assert named_score(f"{module}:Weighted?weight=3")(DAG) == 3
    assert isinstance(named_score(f"{module}:Weighted?weight=3").weight, int)  # type: ignore[attr-defined]
    assert named_score(f"{module}:scaled?scale=0.5")(DAG) == 0.5
    study = dvae.search(vae, TASK, score=f"{module}:Weighted?weight=2", strategy="random", budget=3)
    assert study.best_score == 2 * len(study.best_dag.edges)
    assert study.description["score"] == f"{module}:Weighted?weight=2"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("scores_of_tests:Weighted?colour=2", "cannot be made: TypeError.*colour"),
        ("scores_of_tests:Weighted?weight", "'weight' where key=value is expected"),
        ("scores_of_tests:Uncallable", "which cannot be called"),
        ("scores_of_tests:Broken", "cannot be made: RuntimeError: no disk"),
        ("scores_of_tests:nothing", "has no 'nothing'"),
        ("scores_with_a_mistake:score", "cannot be imported: SyntaxError"),
        ("no_such_module_of_tests:score", "cannot be imported from the current folder"),
    ],
)
def test_a_named_score_that_cannot_be_had_is_refused(name: str, words: str, module: str, vae: VAE) -> None:
    with pytest.raises(StudyError, match=words):
        dvae.search(vae, TASK, score=name, strategy="random", budget=3)


def test_what_is_no_score_at_all_is_refused(vae: VAE) -> None:
    with pytest.raises(ConfigError, match="not a function of a Dag"):
        dvae.search(vae, TASK, score=3, strategy="random")  # type: ignore[arg-type]


def test_why_scores_failed_is_told_in_order(vae: VAE) -> None:
    def moody(dag: Dag) -> Any:
        if len(dag.edges) % 3 == 0:
            raise KeyError("three")
        return (1, 2) if len(dag.edges) % 3 == 1 else 1.0

    study: Study = dvae.search(vae, TASK, score=moody, strategy="random", budget=30)
    reasons = {failure.reason: failure.count for failure in study.failures}
    assert reasons.keys() == {"KeyError: 'three'", "the score is (1, 2), a tuple; it must be a number"}
    assert sum(reasons.values()) == sum(trial.state == "failed" for trial in study.trials)
    first = next(trial for trial in study.trials if trial.state == "failed")
    assert study.failures[0].reason == first.error
