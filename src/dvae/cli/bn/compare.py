"""`dvae bn compare`: how two networks differ, and which explains new rows better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dvae.cli import options, output

if TYPE_CHECKING:
    from dvae.bayesnet import Comparison, Mean


def compare(
    first: Annotated[Path, typer.Argument(metavar="FIRST", help="A network, .bif or .json.")],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Another over the same variables.")],
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="TABLE", help="Rows that neither was learned from: which explains them better?"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compare two networks: the distance of their equivalence classes and, with --data, their log-likelihoods.

    Try: dvae bn compare mine.bif true.bif --data held-out.csv
    """
    from dvae.bayesnet import compare as between
    from dvae.bayesnet import read_network

    found = between(read_network(first), read_network(second), data)
    if json:
        output.print_json(_plain(found))
        return
    rows = [
        ("structural Hamming distance", str(found.distance) + (" (equivalent)" if found.equivalent else "")),
        ("edges in both", str(len(found.shared))),
        (f"only in {first.name}", _listed(found.only_first)),
        (f"only in {second.name}", _listed(found.only_second)),
    ]
    if found.first is not None and found.second is not None and found.difference is not None:
        rows += [(f"log-likelihood of a row, {first.name}", _words(found.first))]
        rows += [(f"log-likelihood of a row, {second.name}", _words(found.second))]
        rows += [("difference", f"{_words(found.difference)}: {_verdict(found.difference, first.name, second.name)}")]
    output.print_table(rows)


def _words(mean: Mean) -> str:
    return f"{mean.value:.4f} ± {mean.half_width:.4f}"


def _verdict(difference: Mean, first: str, second: str) -> str:
    if not abs(difference.value) > difference.half_width:
        return "the rows do not tell them apart"
    return f"{second if difference.value > 0 else first} explains the rows better"


def _listed(edges: tuple[tuple[str, str], ...]) -> str:
    return (
        f"{len(edges)}"
        + (": " + ", ".join(f"{u} - {v}" for u, v in edges[:8]) if edges else "")
        + (", ..." if len(edges) > 8 else "")
    )


def _plain(found: Comparison) -> dict[str, object]:
    plain: dict[str, object] = {
        "distance": found.distance,
        "equivalent": found.equivalent,
        **{key: [list(edge) for edge in getattr(found, key)] for key in ("shared", "only_first", "only_second")},
    }
    for key in ("first", "second", "difference"):
        mean = getattr(found, key)
        if mean is not None:
            plain[key] = {"log_likelihood": mean.value, "half_width": mean.half_width, "rows": mean.rows}
    return plain
