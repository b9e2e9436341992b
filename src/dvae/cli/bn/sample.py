"""`dvae bn sample`: rows drawn from a network."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import inputs

if TYPE_CHECKING:
    from dvae.bayesnet import Network, Rows

ENDINGS = (".csv", ".csv.gz")


def sample(
    network: inputs.NetworkFile,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=100_000_000, help="How many rows.")] = 1000,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.csv", help="Where the rows go; here by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Makes the answer repeatable.")] = 0,
    json: options.Json = False,
) -> None:
    """Draw rows from a network, as a CSV table.

    Try: dvae bn sample network.bif --count 5000 --out rows.csv
    """
    from dvae.bayesnet import read_network
    from dvae.bayesnet import sample as draw
    from dvae.dag.lines import write_lines

    output.check_ending(out, ENDINGS, "a table")
    read = read_network(network)
    rows = draw(read, count, seed)
    if out is not None:
        write_lines(out, csv_lines(read, rows))
    if json:
        about: dict[str, object] = {"rows": count, "variables": list(read.names), "seed": seed}
        columns = {name: rows.labels(read, name) for name in read.names}
        output.print_json(about | ({"columns": columns} if out is None else {"file": str(out)}))
        return
    if out is None:
        for line in csv_lines(read, rows):
            sys.stdout.write(line + "\n")
        return
    output.note(f"{output.counted(count, 'row')} of {output.counted(len(read), 'variable')} in {out}")


def csv_lines(network: Network, rows: Rows) -> Iterator[str]:
    """The rows as lines of comma-separated values, under their header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    columns = [rows.labels(network, name) for name in network.names]
    for cells in (network.names, *zip(*columns, strict=True)):
        writer.writerow(["" if cell is None else cell for cell in cells])
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
