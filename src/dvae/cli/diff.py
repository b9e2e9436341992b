"""`dvae diff`: what separates two DAGs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import inputs, options, output
from dvae.errors import ConfigError

if TYPE_CHECKING:
    from dvae.dag import ScoredDag


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="A file with one DAG, or with the two to compare.")],
    after: Annotated[Path | None, typer.Argument(metavar="[AFTER]", help="A file with the other DAG.")] = None,
    draw: Annotated[
        Path | None, typer.Option("--draw", metavar="PICTURE", help="Also draw both in one .svg or .png file.")
    ] = None,
    direction: options.Direction = "down",
    task: options.TaskOfFile = None,
    json: options.Json = False,
) -> None:
    """Say what separates two DAGs: nodes and edges that come, go or change.

    Labels that come once in both go by themselves, as variables do; other nodes are paired by what they have in common.
    Try: dvae diff one.jsonl other.jsonl --draw difference.svg
    """
    from dvae.dag import difference
    from dvae.figures import arrangement, save_difference, task_style

    output.check_outputs(None, draw)
    arrangement(direction)
    first, second = _two(before, after, task)
    found = difference(first.dag, second.dag)
    if draw is not None:
        style = None if task is None else task_style(inputs.task_of_file(before, task))
        save_difference(draw, found, style=style, direction=direction)
        output.note(f"drew both to {draw}: green is new, dashed red is gone, brown has another type or direction")
    if json:
        output.print_json({**found.to_mapping(), **({} if draw is None else {"picture": str(draw)})})
        return
    for line in found.lines():
        print(output.printable(line))
    output.note("the two DAGs are the same" if not found.lines() else output.counted(len(found), "edit"))


def _two(before: Path, after: Path | None, task: str | None) -> tuple[ScoredDag, ScoredDag]:
    if after is None:
        one, other = _read(before, task, 2, "give one with two, or two files")
        return one, other
    (one,), (other,) = (_read(path, task, 1, "each of two files must have one") for path in (before, after))
    return one, other


def _read(path: Path, task: str | None, count: int, wish: str) -> list[ScoredDag]:
    found = list(inputs.dags_of_file(path, task))
    if len(found) != count:
        raise ConfigError(f"{path}: the file has {output.counted(len(found), 'DAG')}; {wish}")
    return found
