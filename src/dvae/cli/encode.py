"""`dvae encode`: DAGs to latent vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, output


def encode(
    run: options.Run,
    file: Annotated[Path, typer.Argument(metavar="DAGS", help="A .jsonl file of DAGs that the model knows.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write to a .npz, .jsonl or .csv file.")
    ] = None,
    device: options.Device = "auto",
    json: options.Json = False,
) -> None:
    """Give the mean and the log variance of each DAG's place in the latent space.

    Without --out, one JSON object a line is printed. Try: dvae encode runs/asia my.jsonl --out latents.npz
    """
    from dvae.runs import Run, latents
    from dvae.tasks import read_dags

    output.check_ending(out, latents.ENDINGS, "a list of latents")
    vae = Run.open(run).model(device)
    posterior = vae.encode([item.dag for item in read_dags(vae.task, file)])
    mean, logvar = (part.double().cpu().numpy() for part in posterior)
    if out is not None:
        latents.write(out, mean, logvar)
    if json:
        answer: dict[str, object] = {"count": len(mean), "latent": mean.shape[1]}
        both = {"mean": mean.tolist(), "logvar": logvar.tolist()}
        output.print_json(answer | (both if out is None else {"file": str(out)}))
        return
    if out is None:
        for line in latents.lines(mean, logvar):
            print(line)
    done = f"encoded {output.counted(len(mean), 'DAG')}, {mean.shape[1]} numbers each"
    output.note(done + (f", to {out}" if out else ""))
