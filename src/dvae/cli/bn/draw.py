"""`dvae bn draw`: a picture of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import inputs


def draw(
    network: inputs.NetworkFile,
    picture: Annotated[Path, typer.Argument(metavar="PICTURE", help="The .svg or .png file to write.")],
    dag: Annotated[
        bool, typer.Option("--dag", help="An arrow on every edge, also where data cannot tell its direction.")
    ] = False,
    confidence: Annotated[
        Path | None,
        typer.Option("--confidence", metavar="FILE.json", help="Edges as wide as `dvae bn bootstrap` found them sure."),
    ] = None,
    title: Annotated[str | None, typer.Option(help="A title above the picture.")] = None,
    json: options.Json = False,
) -> None:
    """Draw a network; edges whose direction no data can tell have no arrow.

    Try: dvae bn draw network.bif network.svg
    """
    from dvae.bayesnet import network_class, read_confidence, read_network
    from dvae.figures import NetworkEdge, save_network

    output.check_ending(picture, output.PICTURE_ENDINGS, "a picture")
    read = read_network(network)
    found, sure = network_class(read), None if confidence is None else read_confidence(confidence)
    edges = [
        NetworkEdge(
            source, target, dag or found.mark(source, target) != "-", None if sure is None else sure.of(source, target)
        )
        for source, target in read.edges
    ]
    continuous = [variable.name for variable in read.variables if not variable.is_discrete]
    save_network(picture, read.names, edges, continuous=continuous, title=title)
    if json:
        output.print_json({"picture": str(picture), "variables": len(read), "edges": len(edges)})
        return
    output.note(f"drew {output.counted(len(read), 'variable')} and {output.counted(len(edges), 'edge')} to {picture}")
