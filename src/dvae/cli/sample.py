"""`dvae sample`: new DAGs from the prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError


def sample(
    run: options.Run,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many DAGs.")] = 10,
    valid: options.Valid = False,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Take the likeliest DAG of each latent instead of drawing one.")
    ] = False,
    given: options.Given = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like",
            metavar="DAGS",
            help="With --given: what these DAGs would be with other conditions. With --change: others.",
        ),
    ] = None,
    change: Annotated[
        float | None,
        options.change("With --like: how far from these DAGs, from 0 (as they are) to 1 (nothing is left of them)."),
    ] = None,
    best_of: options.BestOf = 1,
    data: options.MovedData = None,
    seed: options.Seed = None,
    out: options.DagsOut = None,
    draw: options.Draw = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Make new DAGs. Without --out, one DAG per line is printed.

    Try: dvae sample runs/asia --count 12 --draw new.svg --out new.jsonl, or, of a run trained with --condition fom:
    dvae sample runs/circuits --given fom=250 --count 100 --best-of 16. With --like, --count are the DAGs for each of
    the file: dvae sample runs/circuits --like best.jsonl --change 0.5 makes variations of them.
    """
    from dvae.evaluation.choice import drawn
    from dvae.evaluation.generation import check_conditions
    from dvae.runs import Run
    from dvae.tasks import read_dags

    output.check_outputs(out, draw)
    asked, opened = inputs.conditions(given), Run.open(run, data=data)
    if best_of > 1 and not asked:
        raise ConfigError("--best-of goes with --given, what the DAGs should be near to")
    if change is not None and like is None:
        raise ConfigError("--change goes with --like, the DAGs to begin with")
    if like is not None and asked is None and change is None:
        raise ConfigError("--like goes with --given, what should be other about the DAGs, or --change, how much")
    vae = opened.model(device)
    how: dict[str, Any] = {"change": change, "greedy": greedy, "seed": seed, "valid": valid}
    known = [None] if like is None else [item.dag for item in read_dags(vae.task, like)]
    if best_of > 1 and asked:
        check_conditions(vae, asked)
        chooser = opened.chooser(list(asked), device=device, progress=True)
        for name, surrogate in chooser.surrogates.items():
            output.note(f"{name}: chosen by a regressor with r {surrogate.validation_pearson:.3f} on DAGs kept back")
        wanted = [dag for dag in known for _ in range(count)]
        batch = chooser.best(best_of, vae, wanted, asked, progress=True, **how)
    else:
        batch = drawn(vae, known, asked, copies=count, **how)
    output.print_dags(vae.task, batch, out, draw, json)
