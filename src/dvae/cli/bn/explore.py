"""`dvae bn explore`: a page on a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dvae.cli import options, serving
from dvae.cli.bn import inputs


def explore(
    network: inputs.NetworkFile,
    confidence: Annotated[
        Path | None,
        typer.Option("--confidence", metavar="FILE.json", help="Edges as wide as `dvae bn bootstrap` found them sure."),
    ] = None,
    port: serving.Port = None,
    host: serving.Host = serving.HOST,
    browser: serving.Browser = True,
    json: options.Json = False,
) -> None:
    """Open a page on a network: say what is known, see what follows; click a variable for its parameters.

    Nothing is written and nothing is fetched; Ctrl-C ends it. Try: dvae bn explore network.bif
    """
    from dvae import explorer
    from dvae.bayesnet import read_confidence, read_network
    from dvae.explorer.network_model import common_variables

    read = read_network(network)
    sure = None if confidence is None else read_confidence(confidence)
    if sure is not None:
        common_variables(read, sure)
    app = explorer.make_network_app(explorer.NetworkModel(read, network.name, sure), host=host)
    serving.serve(app, host, port, browser, f"{len(read):,} variables", json)
