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
    from dvae.bayesnet import DiscreteData, NetworkScores, hill_climb, to_bif
    from dvae.files import write_text

    output.check_ending(out, (".bif",), "a network")
    data = DiscreteData.read_csv(table)
    found = hill_climb(NetworkScores(data), seed=seed)
    if out is not None:
        write_text(out, to_bif(found.dag, data, table.name.partition(".")[0]))
    edges = [[str(found.dag.types[source]), str(found.dag.types[target])] for source, target in found.dag.edges]
    if json:
        output.print_json({"variables": list(data.names), "edges": edges, "score": found.score})
        return
    output.print_table([(source, "->", target) for source, target in edges], title=f"BIC {found.score:.4f}")
