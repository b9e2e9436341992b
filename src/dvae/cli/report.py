"""`dvae report`: a run folder as one HTML page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, output
from dvae.errors import MissingError


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
    from dvae.reports import report as write_page

    output.check_ending(out, (".html",), "a page")
    if not run.is_dir():
        raise MissingError(f"{run}: there is no such folder")
    page = write_report(run) if (run / PLAN).is_file() else write_page(run)
    if out is not None:
        with atomic_path(out) as part:
            shutil.copyfile(page, part)
        page = out
    if json:
        output.print_json({"run": str(run), "page": str(page), "bytes": page.stat().st_size})
    else:
        print(page)
