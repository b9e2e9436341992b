"""`dvae compare`: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.runs import Comparison, NumberRow

BEST = "*"


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Folders of two or more runs.")],
    json: options.Json = False,
) -> None:
    """Compare runs: the settings in which they differ, and all that was measured on them.

    Try: dvae compare runs/asia runs/other
    """
    from dvae.runs import compare as side_by_side

    found = side_by_side(runs)
    if json:
        output.print_json(found.to_mapping())
        return
    output.print_table(_rows(found), header=("", *found.names))
    if any(row.best is not None for row in found.numbers):
        output.note(f"{BEST}: clearly the best, no interval reaching that of another (95% intervals in brackets)")
    for sentence in found.notes:
        output.print_note(sentence)


def _rows(found: Comparison) -> list[tuple[str, ...]]:
    settings = [(row.name, *map(_setting_words, row.values)) for row in (*found.data, *found.settings)]
    return [*settings, *(_number_words(row) for row in found.numbers)]


def _setting_words(value: object) -> str:
    return "" if value is None else str(value)


def _number_words(row: NumberRow) -> tuple[str, ...]:
    places = range(len(row.numbers))
    return (row.name, *(row.words(place) + (f" {BEST}" if place == row.best else "") for place in places))
