"""`dvae evaluate`: the numbers of the paper's Table 1 for a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.evaluation import Estimate

FILE = "evaluation.json"
UNITS = {"edit distance": "edits", "negative log-likelihood": "nats", "KL divergence": "nats"}  # others are shares


def evaluate(
    run: options.Run,
    test_limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Measure on N test graphs only, drawn at random.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option("--test", metavar="DAGS", help="Measure on the DAGs of a file of yours instead.")
    ] = None,
    encodings: Annotated[int, typer.Option(min=1, metavar="N", help="Latents drawn per test graph.")] = 10,
    decodings: Annotated[int, typer.Option(min=1, metavar="N", help="Decodings of each of them.")] = 10,
    prior_latents: Annotated[int, typer.Option(min=1, metavar="N", help="Latents drawn from the prior.")] = 1000,
    prior_decodings: Annotated[int, typer.Option(min=1, metavar="N", help="Decodings of each of them.")] = 10,
    minutes: Annotated[
        float | None, typer.Option(min=0.0, help="Measure as much as so many minutes allow, and say how much.")
    ] = None,
    surrogate: Annotated[
        str | None,
        typer.Option(
            "--surrogate",
            metavar="PROPERTY",
            help="Judge DAGs generated for values of this property, a condition of the model, instead.",
        ),
    ] = None,
    labels: Annotated[
        int | None, typer.Option(min=10, metavar="N", help="With --surrogate: for N training labels, not for all.")
    ] = None,
    surrogate_layers: Annotated[int, typer.Option(min=1, metavar="N", help="Of the surrogate.")] = 3,
    surrogate_width: Annotated[int, typer.Option(min=1, metavar="N", help="Of the surrogate.")] = 64,
    surrogate_epochs: Annotated[int, typer.Option(min=1, metavar="N", help="Of the surrogate, at most.")] = 500,
    surrogate_patience: Annotated[int, typer.Option(min=1, metavar="N", help="Epochs without a gain.")] = 100,
    valid: Annotated[
        bool, typer.Option("--valid", help="Decode within the task's rules what is drawn from the prior or generated.")
    ] = False,
    change: Annotated[
        float | None,
        options.change(
            "With --surrogate: vary training DAGs with near labels by so much, instead of drawing from the prior."
        ),
    ] = None,
    best_of: options.BestOf = 1,
    best: Annotated[
        bool, typer.Option("--best", help="Take the weights that did best on the validation DAGs, not the last.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of all that is drawn.")] = 0,
    data: options.MovedData = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Measure reconstruction, validity, uniqueness and novelty; also kept in RUN/evaluation.json.

    With --surrogate PROPERTY, a DAG is generated for every label of the training DAGs, and a regressor trained on these
    is tested on real DAGs; kept in RUN/generation.json.

    Try: dvae evaluate runs/asia --test-limit 200
    """
    from dvae.evaluation import SurrogateSettings
    from dvae.runs import Run
    from dvae.runs.run import GENERATION
    from dvae.tasks import read_dags

    if surrogate is None and (best_of > 1 or change is not None):
        raise ConfigError("--best-of and --change go with --surrogate, the property that DAGs are generated for")
    opened = Run.open(run, data=data)
    if surrogate is not None:
        size = SurrogateSettings(surrogate_layers, surrogate_width, surrogate_epochs, surrogate_patience)
        judged = opened.generation(
            surrogate, labels=labels, test_limit=test_limit, settings=size, valid=valid, change=change,
            best_of=best_of, best=best, seed=seed, device=device, progress=True,
        )  # fmt: skip
        if json:
            output.print_json(judged.to_mapping())
            return
        output.print_table(
            judged.rows(), title=f"{judged.model} on {judged.task}, {surrogate}", header=("", "generated", "real")
        )
        output.note(judged.protocol)
        output.note(f"Kept in {run / GENERATION}")
        return
    measured = opened.evaluate(
        test=None if test is None else [item.dag for item in read_dags(opened.task, test)],
        test_limit=test_limit, encodings=encodings, decodings=decodings, prior_latents=prior_latents,
        prior_decodings=prior_decodings, rules=valid, seconds=None if minutes is None else 60 * minutes, best=best,
        seed=seed, device=device, progress=True,
    )  # fmt: skip
    if json:
        output.print_json(measured.to_mapping())
        return
    print_estimates(measured.rows(), title=f"{measured.model} on {measured.task}")
    output.note(measured.protocol)
    output.note(f"Kept in {run / FILE}")


def print_estimates(rows: list[tuple[str, Estimate | None]], title: str) -> None:
    output.print_table(
        [(name, *estimate_words(name, estimate)) for name, estimate in rows],
        title=title,
        header=("", "value", "95% interval"),
    )


def estimate_words(name: str, estimate: Estimate | None) -> tuple[str, str]:
    """A number and its interval as words."""
    if estimate is None:
        return "not measured", ""
    unit = next((unit for start, unit in UNITS.items() if name.startswith(start)), None)
    form = "{:.2%}" if unit is None else f"{{:.4g}} {unit}"
    if estimate.low is None or estimate.high is None:
        return form.format(estimate.value), ""
    return form.format(estimate.value), f"{form.format(estimate.low)} to {form.format(estimate.high)}"
