"""`dvae reproduce`: the paper's tables and figures, stage by stage."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.paper import Stage, StagesResult, StageStore

INTERRUPTED = 130
FAILED = 1

Target = Literal["table1", "table2", "table3", "bo-enas", "bo-bn", "figures", "all"]


def reproduce(
    target: Annotated[
        Target, typer.Argument(help="What to make: everything, or one table, search or set of figures.")
    ] = "all",
    preset: Annotated[
        Literal["paper", "quick", "tiny"],
        typer.Option(help="paper: its settings, for a GPU; quick: small, about 20 minutes on two cores."),
    ] = "quick",
    run: Annotated[
        Path | None,
        typer.Option("--run", metavar="FOLDER", help="Where results are kept \\[default: runs/reproduce-PRESET]."),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="MODEL,...", help="Only stages of these models, e.g. dvae,svae.")
    ] = None,
    part: Annotated[
        str,
        typer.Option("--part", metavar="K/N", help="Only the K-th of N shares, to spread the stages over machines."),
    ] = "1/1",
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, metavar="N", help="Train every model N times \\[default: the preset's]."),
    ] = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.0, help="Stop after this long; the same command continues later."),
    ] = None,
    device: options.Device = "auto",
    list_: Annotated[bool, typer.Option("--list", help="List the stages and which of them are done.")] = False,
    json: options.Json = False,
) -> None:
    """Make the paper's tables and figures. Every stage is kept: killed and started again, it continues.

    Try: dvae reproduce all --preset quick, then open runs/reproduce-quick/index.html
    """
    from dvae import paper
    from dvae.files import read_json
    from dvae.paper.report import NUMBERS

    folder = run or Path("runs") / f"reproduce-{preset}"
    settings = paper.preset(preset, paper.architecture_source(folder), paper.bayesnet_source(), seeds)
    chosen = None if only is None else [name.strip() for name in only.split(",")]
    stages = paper.stages_of(target, settings, chosen, _part(part))
    store = paper.StageStore(
        folder,
        device=options.available(device),
        seconds=None if minutes is None else 60 * minutes,
        progress=True,
    )
    if list_:
        _list(store, stages, json)
        return
    if settings.note:
        output.note(settings.note)
    paper.write_plan(folder, settings)
    try:
        outcome = paper.run_stages(stages, store, output.note)
    except KeyboardInterrupt:
        paper.write_report(folder)
        output.note("Interrupted; the same command continues from here.")
        raise typer.Exit(INTERRUPTED) from None
    page = paper.write_report(folder)
    if json:
        output.print_json(
            {"run": str(folder), "page": str(page), **_summary(outcome), "results": read_json(folder / NUMBERS)}
        )
    else:
        _print(folder, page, outcome)
    if outcome.failed:
        raise typer.Exit(FAILED)


def _part(text: str) -> tuple[int, int]:
    from dvae.errors import ConfigError

    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if match is None:
        raise ConfigError(f"--part takes K/N, such as 1/4, not {text!r}")
    return int(match[1]), int(match[2])


def _list(store: StageStore, stages: list[Stage[Any]], json: bool) -> None:
    rows = [(stage, store.is_done(stage)) for stage in stages]
    if json:
        output.print_json([{"title": s.title, "kind": s.kind, "key": s.key, "done": done} for s, done in rows])
        return
    output.print_table(
        [("done" if done else "waiting", stage.title) for stage, done in rows],
        title=f"{sum(done for _, done in rows)} of {len(rows)} stages are done",
        header=("", "stage"),
    )


def _summary(outcome: StagesResult) -> dict[str, object]:
    return {
        "ended": outcome.ended,
        "stages": outcome.total,
        "made": outcome.made,
        "found": outcome.found,
        "seconds": outcome.seconds,
    }


def _print(folder: Path, page: Path, outcome: StagesResult) -> None:
    from dvae.reports.numbers import time_words

    rows = [
        ("stages", f"{outcome.total}: {outcome.made} made now, {outcome.found} found, {outcome.waiting} waiting"),
        ("time", time_words(outcome.seconds)),
        ("report", str(page)),
    ]
    if outcome.failed:
        rows.insert(1, ("not done", "; ".join(f"{title} ({reason})" for title, reason in outcome.failed.items())))
    output.print_table(rows, title="The time is up" if outcome.ended == "time" else "Done")
    if outcome.ended == "time":
        output.note(f"Continue with the same command; what is there so far: {page}")
