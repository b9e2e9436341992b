"""`dvae bn predict`: a column of a table from its other columns."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import inputs, tables

if TYPE_CHECKING:
    from dvae.bayesnet import Prediction


def predict(
    network: inputs.NetworkFile,
    table: tables.TableFile,
    column: Annotated[str, typer.Option("--column", "-c", metavar="NAME", help="What to predict.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.csv", help="Where the predictions go; here by default.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Predict a column of a table from its other columns; where the table has the column, say how good that is.

    Values that are missing are summed out. Try: dvae bn predict network.bif new.csv --column lung --out lung.csv
    """
    from dvae.bayesnet import Rows, accuracy, read_network
    from dvae.bayesnet import predict as ask
    from dvae.dag.lines import write_lines

    output.check_ending(out, (".csv", ".csv.gz"), "a table")
    read = read_network(network)
    read[column]
    rows = Rows.of(read, table, needed=[])
    found = ask(read, rows, column)
    if out is not None:
        write_lines(out, _lines(found))
    known = column in rows.columns and bool(rows.present[column].any())
    quality = accuracy(read, rows, found) if known else {}
    if json:
        answer: dict[str, object] = {"column": column, **quality}
        output.print_json(answer if out is not None else {**answer, "values": found.values})
        return
    if out is None:
        for line in _lines(found):
            sys.stdout.write(line + "\n")
    where = "" if out is None else f" in {out}"
    output.note(f"{output.counted(len(rows), 'row')}{where}; " + _words(quality))


def _words(quality: dict[str, float]) -> str:
    if "accuracy" in quality:
        return f"{quality['accuracy']:.1%} right, log loss {quality['log_loss']:.4f}"
    if quality:
        return f"root mean squared error {quality['root_mean_squared_error']:.4g}, {quality['explained']:.1%} explained"
    return "the table does not have the column, so nothing is known of how good they are"


def _lines(found: Prediction) -> Iterator[str]:
    if found.probabilities is not None:
        header = [found.name, *(f"P({state})" for state in found.states or ())]
        numbers = found.probabilities.tolist()
    else:
        assert found.deviation is not None
        header, numbers = [found.name, "deviation"], [[value] for value in found.deviation.tolist()]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="")
    rows = ((value, *(f"{number:.6g}" for number in row)) for value, row in zip(found.values, numbers, strict=True))
    for cells in (header, *rows):
        writer.writerow(cells)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
