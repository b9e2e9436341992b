"""`dvae predictivity`: the numbers of the paper's Table 2 for a run, with plain features beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.evaluation import PredictivityRow

FILE = "predictivity.json"


def predictivity(
    run: options.Run,
    preset: Annotated[
        Literal["converged", "paper"],
        typer.Option(help="How the sparse GP is trained: until it has converged, or as briefly as in the paper."),
    ] = "converged",
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="Repetitions; the paper's 10 show the spread.")] = 10,
    train_limit: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Train on N graphs, drawn anew for each repetition \\[default: all; Bayesian networks 5,000].",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of everything random.")] = 0,
    data: options.MovedData = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Measure how well latents predict scores, beside plain one-hot features; also kept in RUN/predictivity.json.

    Try: dvae predictivity runs/enas6 --repeats 3
    """
    from dvae.runs import Run

    measured = Run.open(run, data=data).predictivity(
        preset=preset, repeats=repeats, train_limit=train_limit, seed=seed, device=device, progress=True
    )
    if json:
        output.print_json(measured.to_mapping())
        return
    output.print_table(
        [*map(_row, measured.rows), *_published(measured.task, measured.model)],
        title=f"{measured.model} on {measured.task}",
        header=("regressor", "features", "RMSE", "Pearson's r"),
    )
    output.note(measured.protocol)
    output.note(f"Kept in {run / FILE}")


def _row(row: PredictivityRow) -> tuple[str, str, str, str]:
    from dvae.reports.numbers import Spread

    return row.regressor, row.features, Spread(row.rmse).words(3), Spread(row.r).words(3)


def _published(task: str, model: str) -> list[tuple[str, str, str, str]]:
    from dvae.evaluation import published

    found = published.predictive(task, model)
    if found is None:
        return []
    name, row = found
    return [("sparse GP", f"latent means, {name} as published", f"{row.rmse:.3f}", f"{row.r:.3f}")]
