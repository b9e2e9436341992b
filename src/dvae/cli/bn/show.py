"""`dvae bn show`: what is in a network's file."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import inputs

if TYPE_CHECKING:
    from dvae.bayesnet import Network, Variable

MAX_ROWS = 200  # of a table of probabilities, on a screen


def show(
    network: inputs.NetworkFile,
    variable: Annotated[
        str | None, typer.Option("--variable", metavar="NAME", help="Show the parameters of this variable.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Show a network: its variables, its edges and which of them have no direction of their own, its parameters.

    Try: dvae bn show network.bif --variable lung
    """
    from dvae.bayesnet import network_class, read_network

    read = read_network(network)
    if variable is not None:
        _show_variable(read, read[variable], json)
        return
    found = network_class(read)
    edges = [(source, found.mark(source, target), target) for source, target in read.edges]
    if json:
        output.print_json(
            {
                "variables": {
                    each.name: "continuous" if each.states is None else each.states for each in read.variables
                },
                "edges": [[source, target] for source, _, target in edges],
                "undirected": [[source, target] for source, mark, target in edges if mark == "-"],
                "parameters": read.num_parameters,
            }
        )
        return
    rows = [
        (each.name, "continuous" if each.states is None else f"{len(each.states)} states", ", ".join(each.parents))
        for each in read.variables
    ]
    output.print_table(rows, header=("variable", "kind", "parents"))
    reversible = sum(mark == "-" for _, mark, _ in edges)
    free = f"; data alone cannot tell the direction of {output.counted(reversible, 'edge')}" if reversible else ""
    output.note(
        f"{output.counted(len(read), 'variable')}, {output.counted(len(edges), 'edge')}, "
        f"{output.counted(read.num_parameters, 'parameter')}{free}"
    )


def _show_variable(network: Network, variable: Variable, as_json: bool) -> None:
    from dvae.bayesnet import parameter_table
    from dvae.bayesnet.network_file import plain_variable

    if as_json:
        output.print_json(plain_variable(variable))
        return
    table = parameter_table(network, variable.name)
    names = [f"{variable.name}={word}" for word in table.header] if variable.is_discrete else table.header
    rows = [(*words, *(f"{number:.6g}" for number in numbers)) for words, numbers in islice(table.rows(), MAX_ROWS)]
    output.print_table(rows, header=(*table.given, *names))
    if len(table) > MAX_ROWS:
        output.note(f"the first {MAX_ROWS} of {len(table):,} rows; --json has all")
