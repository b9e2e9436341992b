"""`dvae report`: a run folder as one HTML page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, output
from dvae.errors import DvaeError, MissingError
from dvae.progress import progress_bar


def report(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="A folder written by `dvae train`, `dvae demo` or `dvae reproduce`.")
    ],
    out: Annotated[Path | None, typer.Option("--out", metavar="PAGE.html", help="Also write the page here.")] = None,
    json: options.Json = False,
) -> None:
    """Write the report of a run: one self-contained HTML page, made from what is in its folder.

    Try: dvae report runs/demo
    """
    from dvae.files import atomic_path
    from dvae.paper.report import PLAN, write_report

    output.check_ending(out, (".html",), "a page")
    if not run.is_dir():
        raise MissingError(f"{run}: there is no such folder")
    page = write_report(run) if (run / PLAN).is_file() else _write(run)
    if out is not None:
        with atomic_path(out) as part:
            shutil.copyfile(page, part)
        page = out
    if json:
        output.print_json({"run": str(run), "page": str(page), "bytes": page.stat().st_size})
    else:
        print(page)


def _write(run: Path) -> Path:
    """The page of a run; a folder that is none, or not whole, still has what can be said of it."""
    from dvae.reports import report as write_page
    from dvae.runs import Run

    try:
        opened = Run.open(run)
    except DvaeError:
        return write_page(run)
    with progress_bar("Reading the DAGs of the map"):
        return opened.report()
