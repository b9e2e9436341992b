"""`dvae runs`: the runs in a folder, with their numbers."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.runs import RunSummary

HEADER = ("run", "task", "model", "epochs", "time", "reconstruction", "valid", "unique", "RMSE", "best score", "date")
FOLDER = Path("runs")


def runs(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to look; the folders below it are searched, too.")
    ] = FOLDER,
    json: options.Json = False,
) -> None:
    """List the runs in a folder with their numbers, as far as they were measured.

    Try: dvae runs
    """
    from dvae.runs import RunSummary, Unreadable, summaries

    found = summaries(folder)
    readable = [run for run in found if isinstance(run, RunSummary)]
    damaged = [run for run in found if isinstance(run, Unreadable)]
    if json:
        runs = [run.to_mapping() for run in readable]
        output.print_json({"folder": str(folder), "runs": runs, "damaged": [dict(vars(run)) for run in damaged]})
        return
    if readable:
        output.print_table([_row(run) for run in readable], header=HEADER)
    for run in damaged:
        output.note(f"{run.name} cannot be read: {run.error}")
    if not found:
        output.note(f"There is no run in {folder}; start one with: dvae train")
    elif len(readable) > 1:
        first, second = (shlex.quote(run.name) for run in readable[:2])
        output.note(f"Two of them side by side: dvae compare {first} {second}")


def _row(run: RunSummary) -> tuple[str, ...]:
    from dvae.reports.numbers import score_words, time_words

    training, evaluation, prior = run.training, run.evaluation, None
    shares = ["", "", ""]
    if evaluation is not None:
        prior = evaluation.prior
        measured = (evaluation.posterior.share, prior.validity, prior.uniqueness)
        shares = ["" if share is None else f"{100 * share.value:.2f}%" for share in measured]
        if prior.rules:
            shares[1] += " (rules)"
    return (
        run.name,
        run.task,
        run.model,
        "0" if training is None else str(training.epochs),
        "" if training is None or training.seconds is None else time_words(training.seconds),
        *shares,
        "" if run.predictivity is None else f"{run.predictivity.rows[0].rmse_mean:.3f}",
        ", ".join(score_words(study.best) for study in run.studies if study.best is not None),
        "" if training is None or training.date is None else training.date[:10],
    )
