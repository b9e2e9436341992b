"""`dvae models`: the names that --model takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dvae.cli import inputs, options, output


def models(
    task: Annotated[str, typer.Option("--task", help="Count the parameters for this task.")] = "asia",
    json: options.Json = False,
) -> None:
    """List the models, with their sizes for a task and the paper's settings.

    Any encoder goes with any decoder: --model ENCODER+DECODER. Try: dvae models --task enas6
    """
    from dvae.models import AGGREGATIONS, DECODERS, ENCODERS, MODELS, READOUTS, build

    space = inputs.get_task(inputs.task_name(task))
    table = [
        {"name": name, "parameters": build(name, space).num_parameters(), **asdict(entry)}
        for name, entry in MODELS.items()
    ]
    parts = {
        "encoders": ENCODERS.names(),
        "decoders": DECODERS.names(),
        "aggregations": AGGREGATIONS.names(),
        "readouts": READOUTS.names(),
    }
    if json:
        output.print_json({"task": space.name, "models": table, **parts})
        return
    rows = [(str(row["name"]), f"{row['parameters']:,}", str(row["purpose"]), str(row["reference"])) for row in table]
    header = ("model", "parameters", "what it is for", "reference")
    output.print_table(rows, title=f"for {space.name}", header=header)
    output.note("; ".join(f"{kind}: {', '.join(names)}" for kind, names in parts.items()))
