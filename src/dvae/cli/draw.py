"""`dvae draw`: a picture of the DAGs of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import inputs, options, output


def draw(
    file: Annotated[Path, typer.Argument(metavar="DAGS", help="A file of DAGs: .jsonl, or .txt with --task.")],
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="The .svg or .png file to write.")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Draw the first N only.")] = None,
    task: options.TaskOfFile = None,
    json: options.Json = False,
) -> None:
    """Draw the DAGs of a file, with their scores as titles.

    Try: dvae draw my.jsonl my.svg --limit 12
    """
    from itertools import islice

    from dvae.dag import load_dags
    from dvae.tasks import read_dags

    output.check_outputs(None, picture)
    if task is not None or file.suffix == ".txt":
        items = read_dags(inputs.task_of_file(file, task), file)
    else:
        items = load_dags(file)
    items = list(islice(items, limit))
    output.draw_dags(picture, [item.dag for item in items], output.score_titles(items))
    if json:
        drawn = min(len(items), output.MAX_DRAWN)
        output.print_json({"picture": str(picture), "dags": len(items), "drawn": drawn})
