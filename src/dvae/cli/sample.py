"""`dvae sample`: new DAGs from the prior."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import DagBatch
    from dvae.models import VAE


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
    from dvae.runs import Run

    output.check_outputs(out, draw)
    asked, opened = inputs.conditions(given), Run.open(run)
    if best_of > 1 and not asked:
        raise ConfigError("--best-of goes with --given, what the DAGs should be near to")
    vae = opened.model(device)
    drawn = count * best_of
    if like is not None:
        batch = _alike(vae, like, drawn, asked, change, greedy=greedy, seed=seed, valid=valid)
    elif change is not None:
        raise ConfigError("--change goes with --like, the DAGs to begin with")
    else:
        latents = vae.prior(drawn, seed=seed, given=asked)
        batch = vae.decode_batch(latents, greedy=greedy, seed=seed, valid=valid, given=asked)
    if best_of > 1:
        batch = opened.nearest(vae, batch, asked, best_of, progress=True)
    output.print_dags(vae.task, batch, out, draw, json)


def _alike(
    vae: VAE, file: Path, count: int, given: dict[str, float] | None, change: float | None, **how: Any
) -> DagBatch:
    from dvae.tasks import read_dags

    if given is None and change is None:
        raise ConfigError("--like goes with --given, what should be other about the DAGs, or --change, how much")
    dags = [item.dag for item in read_dags(vae.task, file)]
    if change is not None:
        return vae.variations_batch(dags, change, given=given, copies=count, **how)
    assert given is not None
    return vae.with_conditions_batch(dags, given, copies=count, **how)
