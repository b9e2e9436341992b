"""`dvae decode`: latent vectors to DAGs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError


def decode(
    run: options.Run,
    file: Annotated[
        Path,
        typer.Argument(metavar="LATENTS", help="A .npz, .jsonl or .csv file, as `dvae encode` writes it."),
    ],
    greedy: Annotated[
        bool, typer.Option("--greedy/--sample", help="Take the likeliest decision every time, or draw it.")
    ] = True,
    copies: Annotated[int, typer.Option(min=1, metavar="N", help="DAGs for each latent, with --sample.")] = 1,
    valid: options.Valid = False,
    given: options.Given = None,
    seed: options.Seed = None,
    out: options.DagsOut = None,
    draw: options.Draw = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Give the DAGs that latent vectors stand for. Without --out, one DAG per line is printed.

    Try: dvae decode runs/asia latents.npz --sample --copies 5 --out dags.jsonl
    """
    import torch

    from dvae.runs import Run, latents

    output.check_outputs(out, draw)
    if greedy and copies > 1:
        raise ConfigError("greedy decoding gives the same DAG every time; add --sample to get different copies")
    asked = inputs.conditions(given)
    vae = Run.open(run).model(device)
    vectors = torch.from_numpy(latents.read(file, vae.config.latent))
    batch = vae.decode_batch(vectors, greedy=greedy, copies=copies, seed=seed, valid=valid, given=asked)
    output.print_dags(vae.task, batch, out, draw, json)
