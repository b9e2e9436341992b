"""`dvae bn learn`: the network behind a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, output


def learn(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv or .csv.gz file with a header.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE.bif", help="Where the network goes.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Makes the answer repeatable.")] = 0,
    json: options.Json = False,
) -> None:
    """Learn a Bayesian network from a table.

    Try: dvae bn learn table.csv --out network.bif
    """
    from dvae import bayesnet
    from dvae.files import write_text

    output.check_ending(out, (".bif",), "a network")
    data = bayesnet.Table.read(table)
    found = bayesnet.learn(data, seed=seed)
    if out is not None:
        write_text(out, bayesnet.to_bif(found.dag, data.discrete_data, table.name.partition(".")[0]))
    if json:
        output.print_json({"variables": list(found.variables), "edges": found.edges, "score": found.score})
        return
    rows = [(source, "->", target) for source, target in found.edges]
    output.print_table(rows, title=f"{found.score_name} {found.score:.4f}")
