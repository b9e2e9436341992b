"""DAGs in Optuna's studies, and our studies as Optuna's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.examples import edges, small_model
from dvae.dag import Dag, ScoredDag
from dvae.dag.jsonl import format_line
from dvae.errors import ConfigError, StudyError

optuna = pytest.importorskip("optuna", reason="optuna is not installed")

import dvae  # noqa: E402
from dvae.optuna import DagSampler, DagSpace, suggest_dag, to_optuna  # noqa: E402
from dvae.studies import Study  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def studied(space: DagSpace, trials: int, direction: str = "maximize", **how: Any) -> Any:
    study = optuna.create_study(direction=direction, **how)
    sign = 1 if direction == "maximize" else -1
    study.optimize(lambda trial: sign * edges(suggest_dag(trial, space)), n_trials=trials)
    return study


def test_a_dag_is_a_parameter_beside_others() -> None:
    space = DagSpace(small_model(), strategy="evolution", initial=4)
    study = optuna.create_study(direction="maximize", sampler=DagSampler(space))

    def objective(trial: Any) -> float:
        dag = suggest_dag(trial, space)
        assert suggest_dag(trial, space) == dag
        return edges(dag) - trial.suggest_float("x", 0.0, 1.0)

    study.optimize(objective, n_trials=15)
    dags = [space.dag_of(trial) for trial in study.trials]
    task = small_model().task
    assert len({task.key(dag) for dag in dags}) == len(dags)
    assert all(task.is_valid(dag) for dag in dags)
    assert json.loads(study.best_trial.user_attrs["dag"])["types"]
    assert set(study.best_params) == {"x"}


def test_the_strategy_learns_whatever_samples_the_rest() -> None:
    model, each = small_model(), 12
    best = studied(
        DagSpace(model, strategy="evolution", initial=each), 3 * each, sampler=optuna.samplers.RandomSampler()
    )
    begun = max(trial.value for trial in best.trials[:each])
    assert best.best_value > begun
    lowest = studied(DagSpace(model, strategy="evolution", initial=each), 3 * each, direction="minimize")
    assert lowest.best_value < -begun


def test_known_scores_take_the_place_of_a_start() -> None:
    model = small_model()
    known = [ScoredDag(dag, edges(dag)) for dag in model.task.sample(20, seed=5)]
    study = studied(DagSpace(model, strategy="evolution", known=known), 6)
    keys = {model.task.key(item.dag) for item in known}
    space = DagSpace(model)
    assert all(model.task.key(space.dag_of(trial)) not in keys for trial in study.trials)
    with pytest.raises(ConfigError, match="initial must be at least 2"):
        DagSpace(model, initial=1)


def test_a_study_goes_on_in_another_process(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    first = studied(DagSpace(small_model(), strategy="evolution"), 5, storage=storage, study_name="s")
    again = optuna.load_study(study_name="s", storage=storage)
    space = DagSpace(small_model(), strategy="evolution")
    again.optimize(lambda trial: edges(suggest_dag(trial, space)), n_trials=5)
    dags = [space.dag_of(trial) for trial in again.trials]
    assert len({small_model().task.key(dag) for dag in dags}) == 10
    assert len(first.trials) == 10


def test_failures_are_not_tried_again_and_a_dag_may_be_enqueued() -> None:
    space = DagSpace(small_model(), strategy="evolution", initial=3)
    study = optuna.create_study(direction="maximize", sampler=DagSampler(space))
    own = small_model().task.sample(1, seed=9)[0]
    study.enqueue_trial({}, user_attrs={"dag": format_line(own)})

    def objective(trial: Any) -> float:
        dag = suggest_dag(trial, space)
        if trial.number % 2:
            raise ValueError("no")
        return edges(dag)

    study.optimize(objective, n_trials=8, catch=ValueError)
    assert space.dag_of(study.trials[0]) == own
    assert len({small_model().task.key(space.dag_of(trial)) for trial in study.trials}) == 8
    with pytest.raises(StudyError, match="trial 0 has no DAG in its attribute 'other'"):
        DagSpace(small_model(), name="other").dag_of(study.trials[0])


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["maximize", "minimize"])
    with pytest.raises(ConfigError, match="one objective"):
        suggest_dag(study.ask(), DagSpace(small_model()))


def searched(**how: Any) -> Study:
    return dvae.search(small_model(), score=edges, strategy="random", budget=6, batch=3, isolate=False, **how)


def drawing_of(trial: Any, study: Any) -> list[str]:
    meta = optuna.artifacts.get_all_artifact_meta(trial, storage=study._storage)
    return [f"{item.filename} {item.mimetype}" for item in meta]


@pytest.mark.parametrize("kind", ["dvae", "sqlite"])
def test_our_study_is_copied_with_drawings(kind: str, tmp_path: Path) -> None:
    ours = searched(storage=f"{kind}:///{tmp_path / 'ours.db'}")
    storage, drawings = f"sqlite:///{tmp_path / 'optuna.db'}", tmp_path / "drawings"
    copied = to_optuna(ours, storage, drawings=drawings, task=small_model().task)
    assert copied.best_value == ours.best_score
    assert DagSpace(small_model()).dag_of(copied.best_trial) == ours.best_dag
    assert len(to_optuna(ours, storage, drawings=drawings).trials) == 6
    assert len(list(drawings.iterdir())) == 6
    assert "<svg" in next(drawings.iterdir()).read_text()
    assert drawing_of(copied.trials[2], copied) == ["dag.svg image/svg+xml"]
    if kind == "sqlite":
        with pytest.raises(StudyError, match="choose a name for the copy"):
            to_optuna(ours, f"sqlite:///{tmp_path / 'ours.db'}")
        assert len(to_optuna(ours, f"sqlite:///{tmp_path / 'ours.db'}", name="copy").trials) == 6
    ours.close()


def test_a_study_of_ones_own_gets_drawings(tmp_path: Path) -> None:
    space = DagSpace(small_model(), strategy="random", drawings=tmp_path / "drawings")
    study = studied(space, 3)
    assert [drawing_of(trial, study) for trial in study.trials] == [["dag.svg image/svg+xml"]] * 3


def test_a_dag_with_columns_comes_back() -> None:
    dag = Dag(("a", "b"), ((0, 1),), node={"size": (1.5, None)})
    study = optuna.create_study()
    trial = study.ask()
    trial.set_user_attr("dag", format_line(dag))
    assert DagSpace(small_model()).dag_of(trial) == dag
