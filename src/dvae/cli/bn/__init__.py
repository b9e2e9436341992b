"""`dvae bn`: Bayesian networks from a table, and what can be asked of them. One file per command."""

from __future__ import annotations

from collections.abc import Callable

import typer

from dvae.cli.bn.learn import learn

COMMANDS: dict[str, Callable[..., None]] = {"learn": learn}

app = typer.Typer(
    name="bn",
    no_args_is_help=True,
    help="Learn Bayesian networks from a table and use them. Try: [bold]dvae bn learn table.csv[/bold]",
    rich_markup_mode="rich",
)
for name, command in COMMANDS.items():
    app.command(name)(command)
