"""`dvae models`: the names that --model takes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from dvae.cli import answers, inputs, options


def models(
    task: Annotated[str, typer.Option("--task", help="Count the parameters for this task.")] = "asia",
    json: options.Json = False,
) -> None:
    """List the models, with their sizes for a task and the paper's settings.

    Any encoder goes with any decoder: --model ENCODER+DECODER. Try: dvae models --task enas6
    """
    from dvae.models import AGGREGATIONS, DECODERS, ENCODERS, MODELS, READOUTS, build

    meaning = inputs.get_task(inputs.task_name(task))
    table = [
        {"name": name, "parameters": build(name, meaning).num_parameters(), **asdict(entry)}
        for name, entry in MODELS.items()
    ]
    parts = {
        "encoders": ENCODERS.names(),
        "decoders": DECODERS.names(),
        "aggregations": AGGREGATIONS.names(),
        "readouts": READOUTS.names(),
    }
    if json:
        answers.print_json({"task": meaning.name, "models": table, **parts})
        return
    rows = [(str(row["name"]), f"{row['parameters']:,}", str(row["purpose"]), str(row["reference"])) for row in table]
    header = ("model", "parameters", "what it is for", "reference")
    answers.print_table(rows, title=f"for {meaning.name}", header=header)
    answers.remark("; ".join(f"{kind}: {', '.join(names)}" for kind, names in parts.items()))
