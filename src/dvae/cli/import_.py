"""`dvae import`: DAGs of other programs as a file to train on."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dvae.cli import options, output
from dvae.errors import ConfigError, DvaeError

if TYPE_CHECKING:
    from dvae.dag import Dag

NONE = "none"
MAX_SHOWN = 12  # types in the table


def import_(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE|MODULE:NAME...", help="Files, or Python objects of yours: nets:model, nets:all."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.jsonl", help="Where the DAGs go.")],
    format_: Annotated[
        str | None,
        typer.Option("--format", help="onnx, torch, wfcommons, tasks, dot, blif, graphml; else by the file's name."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,C|none", help="Columns to keep (shape, parameters, ...); else all."),
    ] = None,
    type_from: Annotated[
        str | None,
        typer.Option("--type-from", metavar="KEY", help="In DOT and JSON: what a node's type is; name: its own name."),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option("--shape", metavar="1,3,32,32", help="Of an example input of Python modules; may be repeated."),
    ] = None,
    level: Annotated[
        Literal["modules", "operators"], typer.Option("--level", help="What a node is, of Python modules.")
    ] = "modules",
    json: options.Json = False,
) -> None:
    """Read ONNX, torch.export, task graphs (DOT, JSON), WfCommons, BLIF, or Python modules and pipelines.

    Try: dvae import *.onnx --out nets.jsonl, then dvae train --task file:nets.jsonl --run runs/nets
    """
    from dvae.dag import Schema, write_jsonl
    from dvae.importers import with_columns
    from dvae.progress import track

    output.check_outputs(out, None)
    kept = None if columns is None else [] if columns == NONE else columns.split(",")
    shapes = [_sides(text) for text in shape or ()]
    dags: list[Dag] = []
    sys.path.insert(0, "")  # an object may lie in a file beside which the command is given
    for source in track(sources, "importing", unit="file"):
        dags += [with_columns(dag, kept) for dag in _imported(source, format_, type_from, shapes, level)]
    schema = Schema.infer(dags)  # what does not go together is said before anything is written
    write_jsonl(out, dags)
    facts = {
        "file": str(out),
        "count": len(dags),
        "nodes": [min(map(len, dags)), max(map(len, dags))],
        "types": dict(Counter(label for dag in dags for label in dag.types).most_common()),
        "columns": [column.name for _, column in schema.columns()],
    }
    if json:
        output.print_json(facts)
        return
    _show(facts, dags)
    if len(dags) > 1:
        output.note(f"What to try next:  dvae train --task file:{out} --run runs/{out.name.partition('.')[0]}")
    else:
        output.note("One DAG is not enough to train on: name more files.")


def _imported(
    source: str, format_: str | None, type_from: str | None, shapes: list[tuple[int, ...]], level: str
) -> list[Dag]:
    from dvae.importers import import_file, import_object
    from dvae.registry import load_object

    if not _is_object(source):
        return import_file(source, format=format_, type_from=type_from)
    thing = load_object(source, f"the object {source!r}")
    try:
        return import_object(thing, shapes, level=level)  # type: ignore[arg-type]
    except DvaeError as error:
        raise ConfigError(f"{source}: {error}") from None


def _is_object(source: str) -> bool:
    module, colon, name = source.rpartition(":")
    return bool(colon) and not Path(source).exists() and name.isidentifier() and "/" not in module


def _sides(text: str) -> tuple[int, ...]:
    try:
        sides = tuple(int(side) for side in text.replace("x", ",").split(","))
    except ValueError:
        sides = (0,)
    if any(side < 1 for side in sides):
        raise ConfigError(f"--shape {text}: a shape is a list of positive numbers, such as 1,3,32,32")
    return sides


def _show(facts: dict[str, object], dags: list[Dag]) -> None:
    types, columns, nodes = facts["types"], facts["columns"], facts["nodes"]
    assert isinstance(types, dict)
    assert isinstance(columns, list)
    assert isinstance(nodes, list)
    shown = ", ".join(f"{label} {count:,}" for label, count in list(types.items())[:MAX_SHOWN])
    more = f", and {len(types) - MAX_SHOWN} more" if len(types) > MAX_SHOWN else ""
    rows = [
        ("nodes", f"{nodes[0]:,}" if nodes[0] == nodes[1] else f"{nodes[0]:,} to {nodes[1]:,}"),
        ("types", f"{len(types)}: {shown}{more}"),
        ("columns", ", ".join(columns) or "none"),
    ]
    output.print_table(rows, title=f"{output.counted(len(dags), 'DAG')} written to {facts['file']}")
