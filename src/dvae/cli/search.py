"""`dvae search`: better DAGs, by a search that can be killed at any moment and goes on when started again."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.errors import ConfigError, DvaeError, TaskError

if TYPE_CHECKING:
    from dvae.dag import ScoredDag
    from dvae.models import VAE
    from dvae.studies import Study
    from dvae.studies.scores import ResolvedScore
    from dvae.tasks import Task

SHOWN = 5
REASONS = 3
ALL_FAILED, INTERRUPTED = 1, 130


def search(
    run: options.Run,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="Whose score is searched \\[default: the run's own task].")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="How many DAGs to score.")] = 500,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="trust-region, trust-region-latents, latent-evolution, paper, gradient, random, evolution, or "
            "package.module:class.",
        ),
    ] = "trust-region",
    score: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION",
            help="A function of yours that scores a Dag, e.g. in mine.py: mine:score. A class takes arguments: "
            "mine:Score?folder=x&limit=3. With --maximize it gives several values by name; predictor: what the "
            "run's predictor expects \\[default: the task's own score; of properties, predictor].",
        ),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower scores are better.")] = False,
    maximize: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PROPERTY", help="A property to make large; several give a Pareto front. May be repeated."
        ),
    ] = None,
    lower: Annotated[
        list[str] | None, typer.Option(metavar="PROPERTY", help="A property to make small; may be repeated.")
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(metavar="CONSTRAINT", help='A bound in the data\'s units, e.g. "pm>=2"; may be repeated.'),
    ] = None,
    known: Annotated[
        str | None,
        typer.Option(
            metavar="data|none|FILE",
            help="Where known scores of the same quantity are: the run's data, nowhere, or a file of scored DAGs "
            "\\[default: data where the task scores, none with --score].",
        ),
    ] = None,
    warm: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Tell the search a random N of the known scores; where none are known, score N training DAGs first "
            "\\[default: all that are known, at most 5,000].",
        ),
    ] = None,
    initial: Annotated[
        int, typer.Option(min=2, metavar="N", help="Without scores, draw N DAGs from the model first.")
    ] = 50,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Candidates per round.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="DVAE_STORAGE",
            help="dvae:///FILE.db, or with Optuna sqlite:///FILE.db or postgresql://... "
            "\\[default: studies.db in RUN].",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Which study of the storage \\[default: task, score, strategy, seed and retraining]."
        ),
    ] = None,
    retrain: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train the model on after every N scores, on its training DAGs and all that is known, better ones "
            "weighted more.",
        ),
    ] = None,
    retrain_weight: Annotated[
        float, typer.Option(metavar="K", help="With --retrain: the smaller, the more the best DAGs count.")
    ] = 1e-3,
    retrain_epochs: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --retrain: how often as many DAGs as there are are drawn.")
    ] = 1,
    workers: Annotated[
        int, typer.Option(min=0, metavar="N", help="Processes that score; 0: only `dvae worker`s elsewhere.")
    ] = 1,
    timeout: options.Timeout = None,
    isolate: options.Isolate = None,
    attempts: options.Attempts = 3,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Take the study from a process that seems to search with it.")
    ] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Leave candidates that report less than most did.")] = False,
    heartbeat: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="Between a worker's signs of life; three missed: dead.")
    ] = 10,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, metavar="MINUTES", help="Begin no round after so long.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all scored DAGs, best first, to FILE.jsonl.")
    ] = None,
    draw: options.Draw = None,
    data: options.MovedData = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Search for better DAGs. Kill it at any moment: started again in the same way, it goes on.

    Try: dvae search runs/asia --budget 200 --draw best.svg
    """
    import dvae
    from dvae.cli import inputs, properties
    from dvae.runs import Run
    from dvae.strategies import STRATEGIES
    from dvae.studies.placement import prepare
    from dvae.studies.start import NONE, start_of
    from dvae.studies.storage import shown, storage_of
    from dvae.studies.study import as_plain

    output.check_outputs(out, draw)
    opened = Run.open(run, data=data)
    isolated = None if isolate is None else isolate == "yes"
    if workers and isolated is not False and score != properties.PREDICTOR:
        prepare(score)
    vae = opened.model(device)
    searched = vae.task if task is None else inputs.get_task(inputs.task_name(task))
    _check_same_space(vae, searched)
    sys.path.insert(0, "")  # a score or a strategy may lie in a file beside which the command is given
    STRATEGIES.get(strategy)
    objectives = properties.objectives(opened, maximize, lower, subject_to, lower=minimize)
    if objectives is not None and properties.is_predicted(searched, score, objectives):
        scored = properties.predictor_score(run, objectives, device)
        score = properties.PREDICTOR
    else:
        scored = _placed(searched, score, isolated, timeout, workers, attempts)
    url = storage or storage_of(run)
    asked = score if objectives is None else properties.asked(score, objectives)
    ending = f"-retrain{retrain}" if retrain else ""
    name = study or _study_name(run, url, searched, asked, strategy, seed) + ending
    if known is None and warm is None and _begun_with_nothing(url, name):
        known = NONE  # as a search that is resumed was begun
    plan = None
    if retrain is not None:
        plan = opened.retraining(name, retrain, weight=retrain_weight, epochs=retrain_epochs, device=device)
    if objectives is None:
        start = start_of(
            lambda: opened.dataset, searched, score, source=known, count=warm, seed=seed, minimize=minimize
        )
    else:
        start = properties.start_of(opened, objectives, score, source=known, count=warm, seed=seed, task=searched)
    address = shlex.quote(f"{shown(url)}#{name}")
    output.note(
        f"Study {name!r} in {shown(url)}; look at it with: dvae explore {shlex.quote(str(run))} --study {address}"
    )
    output.note(start.words)
    best = start.known.best
    try:
        found = dvae.search(
            vae,
            searched,
            score=scored,
            budget=budget,
            strategy=strategy,
            storage=url,
            name=name,
            warm=start.known.told,
            start=start.dags,
            batch=batch,
            initial=initial,
            seed=seed,
            minimize=minimize,
            workers=workers,
            timeout=timeout,
            prune=prune,
            heartbeat=heartbeat,
            seconds=None if minutes is None else 60 * minutes,
            about={"run": str(run.absolute()), "known_before": best and as_plain(best)},
            progress=True,
            isolate=isolated,
            attempts=attempts,
            take_over=take_over,
            retrain=plan,
            objectives=objectives,
        )
    except KeyboardInterrupt:
        command = shlex.join(["dvae", *map(shown, sys.argv[1:])])
        output.note(f"Interrupted; all scores are kept. Go on with: {command}")
        raise typer.Exit(INTERRUPTED) from None
    if objectives is not None:
        properties.answer(found, searched, out, draw, json)
    else:
        _answer(found, searched, out, draw, json)
    if found.failures and found.best() is None:
        raise typer.Exit(ALL_FAILED)


def _check_same_space(vae: VAE, task: Task) -> None:
    if task.vocabulary.labels != vae.task.vocabulary.labels or task.max_nodes != vae.task.max_nodes:
        raise ConfigError(f"the model was trained for {vae.task.name}, whose DAGs are not those of {task.name}")


def _placed(
    task: Task, score: str | None, isolate: bool | None, timeout: float | None, workers: int, attempts: int
) -> ResolvedScore:
    """The score that is searched; that it cannot be had is said before anything begins."""
    from dvae.studies.placement import place_score

    try:
        return place_score(score, task, isolate=isolate, timeout=timeout, workers=workers, attempts=attempts)
    except TaskError as error:
        raise TaskError(
            f"{error}: name one with --score MODULE:FUNCTION, for example --score mine:score where mine.py has "
            "def score(dag): return a number"
        ) from None


def _study_name(run: Path, url: str, task: Task, score: str | None, strategy: str, seed: int) -> str:
    """Task, score, strategy and seed; version 0.1.0 left out the score, and its studies go on under their names."""
    from dvae.studies import Study, study_names
    from dvae.studies.storage import OLD_DATABASE

    old = f"{task.name}-{strategy}-{seed}"
    if score is None:
        return old
    name = f"{task.name}-{score}-{strategy}-{seed}"
    if url.endswith(f"/{OLD_DATABASE}") and (run / OLD_DATABASE).is_file():
        names = study_names(url)
        if name not in names and old in names and Study.open(url, old).description.get("score") == score:
            return old
    return name


def _begun_with_nothing(url: str, name: str) -> bool:
    """Whether the study is there and knew no scores."""
    from dvae.studies import Study

    try:
        study = Study.open(url, name)
    except DvaeError:
        return False
    warm = study.description.get("warm")
    study.close()
    return warm == 0


def _answer(study: Study, task: Task, out: Path | None, draw: Path | None, json: bool) -> None:
    from dvae.dag import ScoredDag, to_plain, write_jsonl
    from dvae.figures import save_dags, task_style
    from dvae.studies.study import as_plain

    trials = study.trials
    sign = -1 if study.higher_is_better else 1
    scored = sorted((trial for trial in trials if trial.score is not None), key=lambda each: sign * (each.score or 0))
    if out is not None:
        write_jsonl(out, (ScoredDag(trial.dag, trial.score) for trial in scored))
    if draw is not None and scored:
        titles = [f"{trial.score:.6g}" for trial in scored[: 2 * SHOWN]]
        save_dags(draw, [trial.dag for trial in scored[: 2 * SHOWN]], titles=titles, style=task_style(task))
    counts = {state: sum(trial.state == state for trial in trials) for state in ("complete", "failed", "pruned")}
    best, known, failures = study.best(), study.known_before, study.failures
    if json:
        answer = {
            "study": study.name,
            "description": study.description,
            "evaluations": len(trials),
            **counts,
            "failures": [{"reason": each.reason, "count": each.count} for each in failures],
            "known_before": None if known is None else as_plain(known),
            "best": None if best is None else {"score": best.score, "number": best.number, **to_plain(best.dag)},
            "improved": study.improved,
        }
        output.print_json(answer)
        return
    rows = [(str(trial.number), _number(trial.score), output.dag_cell(trial.dag, task)) for trial in scored[:SHOWN]]
    if rows and known is not None:
        rows.append(("known before", _number(known.score), output.dag_cell(known.dag, task)))
    if rows:
        output.print_table(rows, title=f"the best of {len(trials)} candidates", header=("trial", "score", "DAG"))
    output.note(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    for each in failures[:REASONS]:
        output.note(f"Failed {each.count} times: {each.reason}" if each.count > 1 else f"Failed once: {each.reason}")
    if len(failures) > REASONS:
        output.note(f"... and for {len(failures) - REASONS} other reasons (all of them: --json)")
    if known is not None:
        output.note(_verdict(study, known))


def _verdict(study: Study, known: ScoredDag) -> str:
    best = study.best()
    if best is not None and study.improved:
        return f"Found better than was known before: {_number(best.score)} (before: {_number(known.score)})"
    found = "nothing" if best is None else _number(best.score)
    return f"Nothing better was found than was known before: {_number(known.score)} (found: {found})"


def _number(value: float | None) -> str:
    return f"{value or 0.0:.6f}" if abs(value or 0.0) < 1e9 else f"{value:.6g}"
