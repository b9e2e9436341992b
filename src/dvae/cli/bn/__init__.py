"""`dvae bn`: Bayesian networks from a table, and what can be asked of them. One file per command."""

from __future__ import annotations

from collections.abc import Callable

import typer

from dvae.cli.bn.bootstrap import bootstrap
from dvae.cli.bn.compare import compare
from dvae.cli.bn.draw import draw
from dvae.cli.bn.explore import explore
from dvae.cli.bn.learn import learn
from dvae.cli.bn.predict import predict
from dvae.cli.bn.query import query
from dvae.cli.bn.sample import sample
from dvae.cli.bn.show import show
from dvae.cli.bn.validate import validate

COMMANDS: dict[str, Callable[..., None]] = {
    "learn": learn,
    "bootstrap": bootstrap,
    "validate": validate,
    "show": show,
    "draw": draw,
    "explore": explore,
    "query": query,
    "predict": predict,
    "sample": sample,
    "compare": compare,
}

app = typer.Typer(
    name="bn",
    no_args_is_help=True,
    help="Learn Bayesian networks from a table and use them. Try: [bold]dvae bn learn table.csv[/bold]",
    rich_markup_mode="rich",
)
for name, command in COMMANDS.items():
    app.command(name)(command)
