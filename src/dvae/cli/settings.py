"""`dvae settings`: everything that `--set`, TOML files and Python can change."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dvae.cli import options, output


def settings(
    model: Annotated[str, typer.Option("--model", help="Whose settings: a name that `dvae models` lists.")] = "dvae",
    json: options.Json = False,
) -> None:
    """List the settings of a model and of training, with their defaults.

    Change them with --set model.hidden=128, in a TOML file (--config), or by name in Python. Try: dvae settings
    """
    from dvae.config import described
    from dvae.models import ModelConfig
    from dvae.runs import RunConfig
    from dvae.training import TrainingConfig

    tables: dict[str, type[Any]] = {
        "": RunConfig,
        "model.": ModelConfig.class_for({"name": model}),
        "training.": TrainingConfig,
    }
    rows = [(prefix + each.name, each) for prefix, cls in tables.items() for each in described(cls)]
    rows = [(name, each._replace(default=model) if name == "model.name" else each) for name, each in rows]
    if json:
        output.print_json({name: each._asdict() for name, each in rows})
        return
    shown = [
        (name, "" if each.default is None else str(each.default), each.kind, each.description) for name, each in rows
    ]
    output.print_table(shown, title=f"settings of {model}", header=("setting", "default", "value", "meaning"))
    output.note("An empty default means: what the task suggests, or no limit.")
