"""`dvae search`: better DAGs, by a search that can be killed at any moment and goes on when started again."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dvae.cli import answers, options
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import DagSet
    from dvae.models import VAE
    from dvae.studies import Study
    from dvae.studies.scoring import Score
    from dvae.tasks import Task

SHOWN = 5


def search(
    run: options.Run,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="Whose score is searched \\[default: the run's own task].")
    ] = None,
    budget: Annotated[int, typer.Option(min=1, metavar="N", help="How many DAGs to score.")] = 500,
    strategy: Annotated[
        str,
        typer.Option(metavar="NAME", help="trust-region, trust-region-latents, paper, gradient, random or evolution."),
    ] = "trust-region",
    score: Annotated[
        str | None,
        typer.Option(
            metavar="MODULE:FUNCTION", help="A function of yours that scores a Dag, e.g. mine.py: mine:score."
        ),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower scores are better.")] = False,
    warm: Annotated[
        int, typer.Option(min=0, metavar="N", help="Start from the scores of N training DAGs; 0: from none.")
    ] = 0,
    initial: Annotated[
        int, typer.Option(min=2, metavar="N", help="Without scores, draw N DAGs from the model first.")
    ] = 50,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Candidates a round.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="DVAE_STORAGE",
            help="sqlite:///FILE.db or postgresql://... \\[default: search.db in RUN].",
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which study of the storage \\[default: task, strategy and seed]."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=0, metavar="N", help="Processes that score; 0: only `dvae worker`s elsewhere.")
    ] = 1,
    timeout: Annotated[float | None, typer.Option(min=0.0, metavar="SECONDS", help="Of one score.")] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Leave candidates that report less than most did.")] = False,
    heartbeat: Annotated[
        int, typer.Option(min=1, metavar="SECONDS", help="Between a worker's signs of life; three missed: dead.")
    ] = 10,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write all scored DAGs, best first, to FILE.jsonl.")
    ] = None,
    draw: options.Draw = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Search for better DAGs. Kill it at any moment: started again in the same way, it goes on.

    Try: dvae search runs/asia --budget 200 --warm 5000 --draw best.svg
    """
    import dvae
    from dvae.cli import inputs, runs
    from dvae.studies.storage import shown, storage_of

    answers.check_outputs(out, draw)
    settings = runs.read(run)
    vae = runs.load_model(run, device)
    searched = vae.task if task is None else inputs.get_task(inputs.task_name(task))
    _check_same_space(vae, searched)
    url = storage or storage_of(run)
    name = study or f"{searched.name}-{strategy}-{seed}"
    scored = _scored(searched, score)
    answers.remark(f"Study {name!r} in {shown(url)}; look at it with: dvae explore {run} --study {shown(url)}")
    started = (
        _workers(url, name, workers, score, timeout, prune, heartbeat) if workers > 1 else contextlib.nullcontext()
    )
    with started:
        found = dvae.search(
            vae,
            searched,
            score=scored,
            budget=budget,
            strategy=strategy,
            storage=url,
            name=name,
            warm=_warm(settings, searched, scored, warm),
            batch=batch,
            initial=initial,
            seed=seed,
            minimize=minimize,
            workers=workers if workers <= 1 else 0,
            timeout=timeout,
            prune=prune,
            heartbeat=heartbeat,
            about={"run": str(run.absolute()), "score": score},
            progress=True,
        )
    _answer(found, searched, out, draw, json)


def _check_same_space(vae: VAE, task: Task) -> None:
    if task.vocabulary.labels != vae.task.vocabulary.labels or task.max_nodes != vae.task.max_nodes:
        raise ConfigError(f"the model was trained for {vae.task.name}, whose DAGs are not those of {task.name}")


def _scored(task: Task, score: str | None) -> Score:
    """The score that is searched; that a task has none is said before anything begins."""
    from dvae.studies import named_score

    if score is None:
        task.scores([])
        return task.score
    sys.path.insert(0, "")  # a file beside which the command is given
    return named_score(score)


def _warm(settings: Any, task: Task, score: Score, count: int) -> DagSet | None:
    """The first training DAGs with their scores: those of the data, else by scoring them."""
    from dvae.dag import DagSet
    from dvae.progress import track

    if not count:
        return None
    train = settings.dataset(task).train
    dags, scores = train.dags[:count], train.scores[:count]
    if any(each is None for each in scores):
        if score == task.score:
            return DagSet.of(dags, task.scores(dags))
        scores = tuple(score(dag) for dag in track(dags, "scoring the start", unit="DAGs", enabled=True))
    return DagSet(dags, scores)


@contextlib.contextmanager
def _workers(
    url: str, name: str, count: int, score: str | None, timeout: float | None, prune: bool, heartbeat: int
) -> Iterator[None]:
    """Worker processes, which end with the search."""
    command = [sys.executable, "-m", "dvae", "worker", "--study", name, "--wait"]
    command += ["--heartbeat", str(heartbeat)]
    command += [] if score is None else ["--score", score]
    command += [] if timeout is None else ["--timeout", str(timeout)]
    command += ["--prune"] if prune else []
    environment = {**os.environ, "DVAE_STORAGE": url}  # an address may hold a password, which others see in a command
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def _answer(study: Study, task: Task, out: Path | None, draw: Path | None, json: bool) -> None:
    from dvae.dag import ScoredDag, to_plain, write_jsonl
    from dvae.figures import save_dags

    trials = study.trials
    sign = -1 if study.higher_is_better else 1
    scored = sorted((trial for trial in trials if trial.score is not None), key=lambda each: sign * (each.score or 0))
    if out is not None:
        write_jsonl(out, (ScoredDag(trial.dag, trial.score) for trial in scored))
    if draw is not None and scored:
        titles = [f"{trial.score:.6g}" for trial in scored[: 2 * SHOWN]]
        save_dags(draw, [trial.dag for trial in scored[: 2 * SHOWN]], titles=titles)
    counts = {state: sum(trial.state == state for trial in trials) for state in ("complete", "failed", "pruned")}
    best = study.best()
    if json:
        answer = {
            "study": study.name,
            "description": study.description,
            "evaluations": len(trials),
            **counts,
            "best": None if best is None else {"score": best.score, "number": best.number, **to_plain(best.dag)},
        }
        answers.print_json(answer)
        return
    rows = [(str(trial.number), f"{trial.score:.6f}", _words(trial.dag, task)) for trial in scored[:SHOWN]]
    if rows:
        answers.print_table(rows, title=f"the best of {len(trials)} candidates", header=("trial", "score", "DAG"))
    answers.remark(", ".join(f"{count} {state}" for state, count in counts.items() if count))


def _words(dag: Any, task: Task) -> str:
    from dvae.dag import to_modelstring
    from dvae.dag.jsonl import format_line
    from dvae.tasks import BayesNetTask

    return to_modelstring(dag) if isinstance(task, BayesNetTask) else format_line(dag).strip()
