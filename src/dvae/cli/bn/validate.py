"""`dvae bn validate`: does what is learned hold for rows that were not seen?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output
from dvae.cli.bn import tables

if TYPE_CHECKING:
    from dvae.bayesnet import Mean


def validate(
    table: tables.TableFile,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Parts of the table, each left out once.")] = 10,
    score: tables.Score = "auto",
    algorithm: tables.AlgorithmName = "hill-climbing",
    knowledge: tables.KnowledgeFile = None,
    iss: tables.Iss = None,
    prior: tables.Prior = 1.0,
    discrete: tables.Discrete = None,
    continuous: tables.Continuous = None,
    ignore: tables.Ignore = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Makes the answer repeatable.")] = 0,
    json: options.Json = False,
) -> None:
    """Cross-validate: the log-likelihood of rows under networks that were learned without them.

    Try: dvae bn validate table.csv --folds 10
    """
    from dvae.bayesnet import Table, cross_validate
    from dvae.progress import progress_bar

    data = Table.read(table, discrete=discrete or (), continuous=continuous or (), ignore=ignore or ())
    learning = tables.learn_options(score, algorithm, knowledge, iss, seed)
    with progress_bar("Learning without each part", folds, "networks", enabled=True) as bar:
        found = cross_validate(data, folds, options=learning, prior=prior, seed=seed, progress=bar)
    if json:
        means = {name: getattr(found, name) for name in ("learned", "independent", "gain")}
        plain = {name: {"log_likelihood": mean.value, "half_width": mean.half_width} for name, mean in means.items()}
        output.print_json({**plain, "rows": found.learned.rows, "edges": list(found.edges)})
        return
    output.print_table(
        [
            ("learned networks", _words(found.learned)),
            ("without any edge", _words(found.independent)),
            ("gain", _words(found.gain)),
            ("edges", f"{min(found.edges)} to {max(found.edges)}"),
        ],
        title=f"log-likelihood of a row, {folds} folds",
    )


def _words(mean: Mean) -> str:
    return f"{mean.value:.4f} ± {mean.half_width:.4f}"
