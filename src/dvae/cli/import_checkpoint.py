"""`dvae import-checkpoint`: weights of the original implementation as a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import inputs, options, output

if TYPE_CHECKING:
    from dvae.runs import RunConfig


def import_checkpoint(
    file: Annotated[Path, typer.Argument(metavar="ORIGINAL.pth", help="A state dict of the original code.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder to put the model into.")],
    original: Annotated[str, typer.Option("--original", help="dvae, dvae_unidirectional, dvae_bn, ...")],
    task: Annotated[str, typer.Option("--task", help="What it was trained on: enas6, asia, ...")],
    json: options.Json = False,
) -> None:
    """Make a run of weights that the original D-VAE code saved.

    Try: dvae import-checkpoint model_checkpoint100.pth runs/original --original dvae --task enas6
    """
    from dvae import compat
    from dvae.config import replace
    from dvae.runs import Run, RunConfig
    from dvae.runs.run import check_free
    from dvae.training.lock import locked

    name = inputs.task_name(task)
    space = inputs.get_task(name)
    state = compat.read_original(file)
    vae = compat.from_original(original, state, space.num_types, space.max_nodes, task=space)
    config = RunConfig(name, model=vae.config)
    begun = _is_begun(run, replace(config, task=space.full_name))
    if not begun:
        check_free(run)
    with locked(run):
        Run.create(run, space, config=config, adopt=begun)
        vae.save(run)
    facts = {
        "run": str(run),
        "model": vae.config.name,
        "task": space.name,
        "hidden": vae.config.hidden,
        "latent": vae.config.latent,
        "parameters": sum(parameter.numel() for parameter in vae.parameters()),
    }
    if json:
        output.print_json(facts)
        return
    output.print_table(
        [(key, f"{value:,}" if isinstance(value, int) else str(value)) for key, value in facts.items()],
        title=f"the original {original} from {file}",
    )
    output.note(f"What to try next:  dvae evaluate {run} --test-limit 200")


def _is_begun(folder: Path, config: RunConfig) -> bool:
    """Whether the same import was stopped here before it had written its weights."""
    from dvae.models import storage
    from dvae.runs.config import FILE, read_config
    from dvae.training import checkpoint

    if not (folder / FILE).is_file() or any((folder / name).exists() for name in (checkpoint.FILE, storage.WEIGHTS)):
        return False
    return read_config(folder) == config
