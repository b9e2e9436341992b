"""`dvae predict`: the numbers of the paper's Table 2 for a run, with plain features beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import answers, options

if TYPE_CHECKING:
    from dvae.evaluation import PredictivityRow

FILE = "predictivity.json"

# The paper's Tables 2 and 3 and, for the last two, their own papers: RMSE and Pearson's r by task and model.
PUBLISHED = {
    "enas6": {
        "dvae": (0.384, 0.920),
        "svae": (0.478, 0.873),
        "graphrnn": (0.726, 0.669),
        "gcn": (0.485, 0.870),
        "deepgmg": (0.433, 0.897),
        "dvae-smp": (0.455, 0.885),
        "dvae-fast": (0.419, 0.905),
        "dagnn": (0.264, 0.964),
        "pace": (0.254, 0.964),
    },
    "asia": {
        "dvae": (0.300, 0.959),
        "svae": (0.369, 0.933),
        "graphrnn": (0.774, 0.641),
        "gcn": (0.557, 0.836),
        "deepgmg": (0.788, 0.625),
        "dagnn": (0.122, 0.991),
        "pace": (0.115, 0.994),
    },
}


def predict(
    run: options.Run,
    preset: Annotated[
        Literal["converged", "paper"],
        typer.Option(help="How the sparse GP is trained: until it has converged, or as briefly as in the paper."),
    ] = "converged",
    repeats: Annotated[int, typer.Option(min=1, metavar="N", help="How often; the paper's 10 show the spread.")] = 10,
    train_limit: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Train on N graphs, drawn anew each time \\[default: all; Bayesian networks 5,000].",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Predict scores from latents, and from plain one-hot features; also kept in RUN/predictivity.json.

    Try: dvae predict runs/enas6 --repeats 3
    """
    from dvae.runs import Run

    measured = Run.open(run).predictivity(
        preset=preset, repeats=repeats, train_limit=train_limit, seed=seed,
        device=device, progress=True,
    )  # fmt: skip
    if json:
        answers.print_json(measured.to_mapping())
        return
    answers.print_table(
        [*map(_words, measured.rows), *_published(measured.task, measured.model)],
        title=f"{measured.model} on {measured.task}",
        header=("regressor", "features", "RMSE", "Pearson's r"),
    )
    answers.remark(measured.protocol)
    answers.remark(f"Kept in {run / FILE}")


def _words(row: PredictivityRow) -> tuple[str, str, str, str]:
    return (
        row.regressor,
        row.features,
        _spread(row.rmse_mean, row.rmse_std),
        _spread(row.r_mean, row.r_std),
    )


def _spread(mean: float, std: float | None) -> str:
    return f"{mean:.3f}" if std is None else f"{mean:.3f} ± {std:.3f}"


def _published(task: str, model: str) -> list[tuple[str, str, str, str]]:
    """What papers report for the model, or for D-VAE where they do not know it; nothing for other tasks."""
    table = PUBLISHED.get(task, {})
    return [
        ("sparse GP", f"latent means, {name} as published", f"{rmse:.3f}", f"{r:.3f}")
        for name, (rmse, r) in table.items()
        if name == (model if model in table else "dvae")
    ]
