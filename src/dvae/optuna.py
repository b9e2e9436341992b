"""For Optuna, both ways: DAGs as a parameter of someone's own study, and our studies as Optuna's with drawings.

::

    sampler = DagSampler(DagSpace(vae))
    study = optuna.create_study(direction="maximize", sampler=sampler)

    def objective(trial):
        dag = suggest_dag(trial, sampler.space)
        rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
        return train(dag, rate)
"""

from __future__ import annotations

import io
import json
import threading
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dvae.dag import Dag, ScoredDag
from dvae.dag.jsonl import format_line, parse_line
from dvae.errors import ConfigError, StudyError
from dvae.extras import missing
from dvae.figures import task_style, to_svg
from dvae.models import VAE
from dvae.strategies import Archive
from dvae.strategies.random import RandomSearch
from dvae.strategies.registry import DEFAULT, STRATEGIES
from dvae.studies import Study, Trial
from dvae.studies.optuna_ledger import DAG
from dvae.tasks import Task

try:
    import optuna
    from optuna.artifacts import ArtifactMeta, FileSystemArtifactStore
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState, create_trial
except ImportError:
    raise missing("optuna", "search", "dvae.optuna") from None

__all__ = ["DagSampler", "DagSpace", "suggest_dag", "to_optuna"]

NUMBER = "number in dvae"  # of a trial that was copied
ARTIFACT = "artifacts:"  # opens the system attributes in which Optuna keeps what belongs to a trial
STATES = {"complete": TrialState.COMPLETE, "failed": TrialState.FAIL, "pruned": TrialState.PRUNED}


class DagSpace:
    """The DAGs of a model as the space of a parameter, and the strategy that chooses among them.

    `known` are DAGs whose scores are known before the study; where there are fewer scores than `initial`, and the
    strategy needs some to start from, DAGs are drawn from the model. `batch` DAGs are thought of at once: more are
    faster, fewer learn sooner. `name` is the parameter's: the user attribute of a trial that holds its DAG. In the
    folder `drawings`, every trial has one, as an artifact that optuna-dashboard shows.
    """

    def __init__(
        self, vae: VAE, *, strategy: Any = DEFAULT, known: Iterable[ScoredDag] = (), initial: int = 10, batch: int = 1,
        seed: int = 0, name: str = DAG, drawings: str | Path | None = None,
    ) -> None:  # fmt: skip
        if initial < 2 or batch < 1:
            raise ConfigError(f"initial must be at least 2 and batch at least 1, not {initial} and {batch}")
        self.vae, self.name, self.initial, self.batch, self.seed = vae, name, initial, batch, seed
        self._artist = None if drawings is None else _Artist(drawings, vae.task)
        _, self._entry = STRATEGIES.resolve(strategy)
        self._known = list(known)
        self._lock = threading.Lock()  # `study.optimize(n_jobs=...)` asks from several threads
        self._waiting: list[Dag] = []
        self._begin(None)

    def propose(self, study: optuna.Study) -> Dag:
        """A DAG that nobody has tried in a study, by all that its finished trials tell."""
        if len(study.directions) > 1:
            raise ConfigError("a DAG is chosen for one objective; this study has several")
        with self._lock:
            if self._study != (study.study_name, study._study_id):
                self._begin(study)
            self._learn(study)
            if not self._waiting:
                self._waiting = self._asked()
            if not self._waiting:
                raise StudyError("the strategy finds no DAG that was not tried before")
            return self._waiting.pop(0)

    def _begin(self, study: optuna.Study | None) -> None:
        self._study = None if study is None else (study.study_name, study._study_id)
        self._archive = Archive(self.vae.task)
        self._strategy = self._entry.make(self.vae, self._archive, seed=self.seed)
        self._waiting = []
        self._told: set[int] = set()
        self._drawn: set[int] = set()
        sign = -1.0 if study is not None and study.direction == StudyDirection.MINIMIZE else 1.0
        if study is not None:
            scored = [ScoredDag(item.dag, sign * item.score) for item in self._known if item.score is not None]
            self._strategy.tell(scored)

    def _learn(self, study: optuna.Study) -> None:
        """Tells the strategy what has finished since, whoever finished it; what others try now is left to them."""
        sign = -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0
        told = []
        for trial in study.get_trials(deepcopy=False):
            if trial.number in self._told or self.name not in trial.user_attrs:
                continue
            dag = self.dag_of(trial)
            if not trial.state.is_finished():
                self._archive.take([dag], 1)
                continue
            self._told.add(trial.number)
            value = trial.value if trial.state == TrialState.COMPLETE else None
            told.append(ScoredDag(dag, None if value is None else sign * value))
        if told:
            self._strategy.tell(told)

    def _asked(self) -> list[Dag]:
        if self._entry.needs_start and len(self._archive) < self.initial:
            return RandomSearch(self.vae, self._archive, seed=self.seed + len(self._told)).ask(1)
        return self._strategy.ask(self.batch)

    def draw(self, dag: Dag, trial: optuna.Trial) -> None:
        """Draws the DAG of a trial once, where drawings are wanted."""
        if self._artist is not None and trial.number not in self._drawn:
            self._drawn.add(trial.number)
            self._artist.attach(dag, trial)

    def dag_of(self, trial: FrozenTrial | optuna.Trial) -> Dag:
        """The DAG of a trial."""
        text = trial.user_attrs.get(self.name)
        if not isinstance(text, str):
            raise StudyError(f"trial {trial.number} has no DAG in its attribute {self.name!r}")
        return parse_line(text, f"trial {trial.number}").dag


def suggest_dag(trial: optuna.Trial, space: DagSpace) -> Dag:
    """The DAG of a trial: one the space's strategy chooses, as `trial.suggest_float` gives a number.

    It is kept in `trial.user_attrs[space.name]` as a line of JSON. Any sampler may choose the other parameters.
    """
    if space.name not in trial.user_attrs:
        trial.set_user_attr(space.name, format_line(space.propose(trial.study)))
    dag = space.dag_of(trial)
    space.draw(dag, trial)
    return dag


class DagSampler(BaseSampler):
    """A sampler that chooses a DAG for each trial as it begins; `others` (default: TPE) samples all other parameters.

    A trial that was enqueued with a DAG of its own (`study.enqueue_trial({}, user_attrs={"dag": ...})`) keeps it.
    """

    def __init__(self, space: DagSpace, others: BaseSampler | None = None) -> None:
        self.space = space
        self.others = TPESampler(seed=space.seed) if others is None else others

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Chooses the trial's DAG."""
        self.others.before_trial(study, trial)
        if self.space.name not in trial.user_attrs:
            dag = self.space.propose(study)
            study._storage.set_trial_user_attr(trial._trial_id, self.space.name, format_line(dag))

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:  # fmt: skip
        """Left to the sampler of the other parameters; the strategy learns when it is asked again."""
        self.others.after_trial(study, trial, state, values)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> Any:
        """That of the other parameters."""
        return self.others.infer_relative_search_space(study, trial)

    def sample_relative(self, study: optuna.Study, trial: FrozenTrial, search_space: Any) -> Any:
        """Other parameters."""
        return self.others.sample_relative(study, trial, search_space)

    def sample_independent(self, study: optuna.Study, trial: FrozenTrial, param_name: str, distribution: Any) -> Any:
        """Another parameter."""
        return self.others.sample_independent(study, trial, param_name, distribution)

    def reseed_rng(self) -> None:
        """As Optuna asks for in each of several processes."""
        self.others.reseed_rng()


def to_optuna(
    study: Study, storage: Any = None, *, name: str | None = None, drawings: str | Path | None = None,
    task: Task | None = None,
) -> optuna.Study:  # fmt: skip
    """A study of ours, wherever it is kept, as one of Optuna's for optuna-dashboard: a copy, called `name`.

    Finished trials are copied with their scores, DAGs and other attributes; those copied before are left alone, so that
    it can be called again while a search runs. With a folder of `drawings`, every trial has one as its artifact:
    `optuna-dashboard STORAGE --artifact-dir FOLDER` shows them. `task` gives the colours of its kind of DAGs.
    """
    direction = StudyDirection.MAXIMIZE if study.higher_is_better else StudyDirection.MINIMIZE
    artist = None if drawings is None else _Artist(drawings, task)
    try:
        made = optuna.create_study(
            study_name=name or study.name, storage=storage, direction=direction, load_if_exists=True
        )
        there = {trial.user_attrs.get(NUMBER) for trial in made.get_trials(deepcopy=False)}
        if made.trials and there == {None}:
            raise StudyError("there is another of that name: choose a name for the copy")
        copied = [trial for trial in study.trials if trial.state in STATES and trial.number not in there]
        made.add_trials([_frozen(trial, artist) for trial in copied])
    except StudyError as error:
        raise StudyError(f"the study {study.name!r} cannot be copied: {error}") from None
    except Exception as error:  # whatever a storage raises
        raise StudyError(f"the study {study.name!r} cannot be copied: {str(error).splitlines()[0]}") from None
    return made


class _Artist:
    """Draws DAGs into a folder of artifacts."""

    def __init__(self, folder: str | Path, task: Task | None) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        self.store = FileSystemArtifactStore(base_path=str(folder))
        self.style = None if task is None else task_style(task)

    def draw(self, dag: Dag, title: str) -> dict[str, str]:
        """Draws a DAG, and gives the attribute by which a trial knows its drawing."""
        meta = ArtifactMeta(str(uuid.uuid4()), "dag.svg", "image/svg+xml", None)
        self.store.write(meta.artifact_id, io.BytesIO(to_svg(dag, [title], style=self.style).encode()))
        return {ARTIFACT + meta.artifact_id: json.dumps(asdict(meta))}

    def attach(self, dag: Dag, trial: optuna.Trial) -> None:
        """Draws the DAG of a trial that runs."""
        for key, value in self.draw(dag, f"trial {trial.number}").items():
            trial.storage.set_trial_system_attr(trial._trial_id, key, value)


def _frozen(trial: Trial, artist: _Artist | None) -> FrozenTrial:
    noted = {key: value for key, value in trial.attributes.items() if _is_plain(value)}
    attributes = {**noted, NUMBER: trial.number, DAG: format_line(trial.dag), "nodes": len(trial.dag)}
    if trial.error is not None:
        attributes["error"] = trial.error
    score = "" if trial.score is None else f": {trial.score:.6g}"
    drawn = {} if artist is None else artist.draw(trial.dag, f"trial {trial.number}{score}")
    return create_trial(state=STATES[trial.state], value=trial.score, user_attrs=attributes, system_attrs=drawn)


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | None)
