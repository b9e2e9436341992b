"""Options of commands that learn from a table or compare with one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from dvae.bayesnet import LearnOptions

TableFile = Annotated[Path, typer.Argument(metavar="TABLE", help="A .csv, .csv.gz or .parquet file with a header.")]
Discrete = Annotated[
    list[str] | None, typer.Option("--discrete", metavar="COLUMN", help="Take a column for categories; repeatable.")
]
Continuous = Annotated[
    list[str] | None, typer.Option("--continuous", metavar="COLUMN", help="Take a column for numbers; repeatable.")
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", metavar="COLUMN", help="Leave a column out; repeatable.")]
Score = Annotated[str, typer.Option("--score", help="What makes a network good; auto is BIC, as the columns need it.")]
AlgorithmName = Annotated[str, typer.Option("--algorithm", help="How each network is searched for.")]
KnowledgeFile = Annotated[
    Path | None, typer.Option("--knowledge", metavar="FILE.toml", help="Required and forbidden edges, tiers, limits.")
]
Iss = Annotated[float | None, typer.Option("--iss", help="The imaginary sample size of bde and bge.")]
Prior = Annotated[
    float, typer.Option("--prior", min=0, help="Imaginary samples in each row of a table of probabilities.")
]


def learn_options(score: str, algorithm: str, knowledge: Path | None, iss: float | None, seed: int) -> LearnOptions:
    """How networks are learned, from options."""
    from dvae.bayesnet import Knowledge, LearnOptions

    known = Knowledge() if knowledge is None else Knowledge.read(knowledge)
    return LearnOptions(score, algorithm, known, iss, seed)
