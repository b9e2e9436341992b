"""Options that several commands share, so that the same word means the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, as `dvae train` writes it.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Makes the answer repeatable.")]
Valid = Annotated[bool, typer.Option("--valid", help="Let only DAGs come out that obey the task's rules.")]
DagsOut = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write the DAGs to FILE.jsonl or FILE.jsonl.gz.")
]
Draw = Annotated[Path | None, typer.Option("--draw", metavar="PICTURE", help="Also draw them, to a .svg or .png file.")]
Direction = Annotated[
    Literal["down", "right"], typer.Option("--direction", help="Draw from top to bottom, or from left to right.")
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute; auto takes a GPU if there is one.")
]
Given = Annotated[
    list[str] | None,
    typer.Option(
        "--given",
        metavar="NAME=NUMBER",
        help="A condition that the DAGs should meet, where the run was trained with --condition; may be repeated.",
    ),
]


BestOf = Annotated[
    int,
    typer.Option(
        "--best-of",
        min=1,
        metavar="N",
        help="Make N DAGs for each one, and take the one that is predicted to be nearest to what is asked for.",
    ),
]


def change(what: str) -> Any:
    """The option --change of a command: how much, which the command says in its own words."""
    return typer.Option(min=0.0, max=1.0, metavar="SHARE", help=what)


MovedData = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="Where the run's data are now, if they have moved.")
]
Timeout = Annotated[
    float | None, typer.Option("--timeout", min=0.0, metavar="SECONDS", help="Of one score; its process is then ended.")
]
Isolate = Annotated[
    Literal["yes", "no"] | None,
    typer.Option(
        "--isolate",
        metavar="yes|no",
        help="Run the score in a process of its own, which it may crash \\[default: if it is yours (--score), or has a "
        "--timeout].",
    ),
]
Attempts = Annotated[
    int, typer.Option("--attempts", min=1, metavar="N", help="How often a candidate is tried whose process dies.")
]
TaskOfFile = Annotated[
    str | None,
    typer.Option("--task", help="The task of the DAGs, e.g. enas6 or asia; needed for the original .txt files."),
]
Rules = Annotated[
    str | None,
    typer.Option(
        "--rules",
        metavar="FILE.toml|inferred|strict|none",
        help=(
            "What your own DAGs obey, and --valid then keeps to: a TOML file (nodes, single_source, sink_types, "
            "forbidden_edges, in_degree, ...), inferred (the default: their ends and being in one piece, as far as all "
            "agree), strict (sizes, degrees and pairs of types, too) or none."
        ),
    ),
]


def available(device: str) -> str:
    from dvae.devices import available_device

    return available_device(device)
