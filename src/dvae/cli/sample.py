"""`dvae sample`: new DAGs from the prior."""

from __future__ import annotations

from typing import Annotated

import typer

from dvae.cli import options, output


def sample(
    run: options.Run,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many DAGs.")] = 10,
    valid: options.Valid = False,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Take the likeliest DAG of each latent instead of drawing one.")
    ] = False,
    seed: options.Seed = None,
    out: options.DagsOut = None,
    draw: options.Draw = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Make new DAGs. Without --out, one DAG per line is printed.

    Try: dvae sample runs/asia --count 12 --draw new.svg --out new.jsonl
    """
    from dvae.runs import Run

    output.check_outputs(out, draw)
    vae = Run.open(run).model(device)
    batch = vae.decode_batch(vae.prior(count, seed=seed), greedy=greedy, seed=seed, valid=valid)
    output.print_dags(vae.task, batch, out, draw, json)
