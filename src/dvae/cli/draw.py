"""`dvae draw`: a picture of the DAGs of a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import ScoredDag
    from dvae.figures import DagStyle, Direction


def draw(
    file: Annotated[Path, typer.Argument(metavar="DAGS", help="A file of DAGs: .jsonl, or .txt with --task.")],
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="The .svg or .png file to write.")],
    limit: Annotated[int | None, typer.Option(min=1, metavar="N", help="Draw the first N only.")] = None,
    direction: options.Direction = "down",
    fold: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Fold one large DAG into at most N boxes, groups of its nodes."),
    ] = None,
    task: options.TaskOfFile = None,
    json: options.Json = False,
) -> None:
    """Draw the DAGs of a file, with their scores as titles.

    Try: dvae draw my.jsonl my.svg --limit 12
    """
    from itertools import islice

    from dvae.figures import style_of, task_style

    output.check_outputs(None, picture)
    every = list(inputs.dags_of_file(file, task))
    items = list(islice(every, limit))
    # Colours are those of the task or, without one, of the whole file: the first DAGs look as they do among all.
    named = task is not None or file.suffix == ".txt"
    dags = [item.dag for item in every]
    style = task_style(inputs.task_of_file(file, task)) if named else style_of(dags) if dags else None
    if fold is not None:
        drawn = _draw_folded(picture, items, style, direction, fold)
    else:
        output.draw_dags(picture, [item.dag for item in items], output.score_titles(items), style, direction)
        drawn = {"dags": len(items), "drawn": min(len(items), output.MAX_DRAWN)}
    if json:
        output.print_json({"picture": str(picture), **drawn})


def _draw_folded(
    picture: Path, items: Sequence[ScoredDag], style: DagStyle | None, direction: Direction, limit: int
) -> dict[str, int]:
    from dvae.figures import fold, make_scene, save_scene

    if len(items) != 1 or style is None:
        raise ConfigError(f"--fold draws one DAG, not {len(items):,}; add --limit 1")
    dag, titles = items[0].dag, output.score_titles(items)
    scene = make_scene(dag, style, direction=direction, folding=fold(dag, limit), title=titles[0] if titles else "")
    save_scene(picture, scene, style)
    boxes = len(scene.nodes)
    output.note(f"drew {len(dag):,} nodes as {boxes:,} box{'es' if boxes != 1 else ''} to {picture}")
    return {"dags": 1, "drawn": 1, "nodes": len(dag), "boxes": boxes}
