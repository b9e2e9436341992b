"""Searches for several properties on the command line: what is asked for, what scores it, what is shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dvae.cli import output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.runs import Run
    from dvae.strategies import Objectives
    from dvae.studies import Front, Study
    from dvae.studies.scores import ResolvedScore
    from dvae.studies.start import Start
    from dvae.tasks import Task

PREDICTOR = "predictor"
SHOWN = 20
REASONS = 3


def objectives(
    run: Run,
    maximize: Sequence[str] | None,
    minimize: Sequence[str] | None,
    subject_to: Sequence[str] | None,
    *,
    lower: bool,
) -> Objectives | None:
    """What a search is asked for, with the ranges that properties have in the run's data; None: one score."""
    from dvae.strategies import Constraint, Objectives

    if not (maximize or minimize or subject_to):
        return None
    if lower:
        raise ConfigError("--minimize is for one score: name what is to be small with --lower NAME")
    constraints = tuple(Constraint.parse(text) for text in subject_to or ())
    return Objectives(tuple(maximize or ()), tuple(minimize or ()), constraints).ranged(run.dataset.train)


def is_predicted(task: Task, score: str | None, wanted: Objectives) -> bool:
    """Whether the run's predictor scores: where it is named, or where neither a score nor a task can."""
    return score == PREDICTOR or (score is None and not (task.can_score and wanted.needed == ("score",)))


def predictor_score(folder: Path, wanted: Objectives, device: str) -> ResolvedScore:
    """What the run's predictor expects of DAGs."""
    from dvae.runs.scores import PredictorScore
    from dvae.studies.scores import ResolvedScore

    names = ",".join(wanted.needed)
    path = f"{PredictorScore.__module__}:{PredictorScore.__qualname__}?run={folder.absolute()}&names={names}"
    score: Any = PredictorScore(str(folder), names, device)
    return ResolvedScore(path, score)


def asked(score: str | None, wanted: Objectives) -> str:
    """What is searched for, as a part of the study's name."""
    goals = [f"max-{name}" for name in wanted.maximize] + [f"min-{name}" for name in wanted.minimize]
    return "-".join([score or "task", *goals, *map(str, wanted.constraints)])


def start_of(
    run: Run, wanted: Objectives, score: str | None, *, source: str | None, count: int | None, seed: int, task: Task
) -> Start:  # fmt: skip
    """The DAGs whose properties are known from the start: those of the run's training data, a file's, or none.

    Without a `source` they are the data's where the predictor scores; a function may mean another quantity by a name.
    """
    from dvae.studies.known import known_scores
    from dvae.studies.start import DATA, NONE, Start
    from dvae.studies.values import known_items

    source = source or (DATA if score == PREDICTOR else NONE)
    items = [] if source == NONE else list(run.dataset.train) if source == DATA else task.read(source)
    known = known_scores(known_items(items, wanted), count, seed=seed)
    words = f"The search starts from {known.total:,} DAGs whose properties are known." if known.total else ""
    return Start(known, (), words or "No properties are known from the start.")


def answer(study: Study, task: Task, out: Path | None, draw: Path | None, json: bool) -> None:
    """The front as a table, as JSON, as a file of DAGs with their properties, and as a picture of them."""
    from dvae.dag import ScoredDag, to_plain, write_jsonl
    from dvae.figures import task_style
    from dvae.studies import front_of
    from dvae.studies.values import evaluation, values_of

    front = front_of(study)
    assert front is not None
    trials = study.trials
    if out is not None:
        items = [evaluation(trial) for trial in front.trials]
        write_jsonl(out, (ScoredDag(item.dag) for item in items))
    if draw is not None and front.trials:
        titles = [_title(front, trial) for trial in front.trials]
        output.draw_dags(draw, [trial.dag for trial in front.trials], titles, task_style(task))
    counts = {state: sum(trial.state == state for trial in trials) for state in ("complete", "failed", "pruned")}
    if json:
        output.print_json(
            {"study": study.name, "description": study.description, "evaluations": len(trials), **counts}
            | {"feasible": front.feasible, "hypervolume": front.hypervolume}
            | {"failures": [{"reason": each.reason, "count": each.count} for each in study.failures]}
            | {
                "front": [
                    {"number": trial.number, "values": dict(values_of(trial)), **to_plain(trial.dag)}
                    for trial in front.trials
                ]
            }
        )
        return
    names = front.objectives.needed
    rows = [
        (str(trial.number), *(f"{values_of(trial)[name]:.6g}" for name in names), output.dag_cell(trial.dag, task))
        for trial in front.trials[:SHOWN]
    ]
    if rows:
        output.print_table(rows, title=f"the Pareto front: {front.objectives.words()}", header=("trial", *names, "DAG"))
    output.note(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    output.note(
        f"{front.feasible:,} of {front.complete:,} obey the constraints; {len(front.trials):,} are on the front"
    )
    if front.hypervolume is not None:
        output.note(f"Hypervolume: {front.hypervolume:.4f} times the box that the data's ranges span")
    for each in study.failures[:REASONS]:
        output.note(f"Failed {each.count} times: {each.reason}" if each.count > 1 else f"Failed once: {each.reason}")


def _title(front: Front, trial: Any) -> str:
    from dvae.studies.values import values_of

    return ", ".join(f"{name} {values_of(trial)[name]:.3g}" for name in front.objectives.names)
