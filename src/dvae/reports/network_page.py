"""The page about a network that was learned from a table."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from dvae.bayesnet import Knowledge, Learned, Network, Table, network_class
from dvae.figures import NetworkEdge, save_network
from dvae.files import write_text
from dvae.reports.document import Block, Document, Figure, Heading, Paragraph
from dvae.reports.document import Table as Rows
from dvae.reports.html import to_html

ASSUMPTIONS = (
    "An edge says that two variables depend on each other whatever else is known. An arrow says what causes what only "
    "if no common cause was left out of the table, the rows are independent of each other, and the score's model "
    "holds. Edges without an arrow could point either way: no table of this kind can tell."
)


def network_edges(network: Network, knowledge: Knowledge | None = None) -> list[NetworkEdge]:
    """The edges as they are drawn: without an arrow where neither data nor what is known can tell the direction."""
    kind = network_class(network, knowledge)
    return [NetworkEdge(source, target, kind.mark(source, target) != "-") for source, target in network.edges]


def draw_network_file(picture: Path, network: Network, knowledge: Knowledge | None = None) -> None:
    """Draws a network to a .svg or .png file."""
    numbers = [variable.name for variable in network.variables if not variable.is_discrete]
    save_network(picture, network.names, network_edges(network, knowledge), continuous=numbers)


def write_network_page(
    path: Path,
    name: str,
    table: Table,
    learned: Learned,
    network: Network,
    strengths: Mapping[tuple[str, str], float],
    knowledge: Knowledge | None = None,
) -> None:
    """Writes the page: one HTML file with everything in it."""
    with tempfile.TemporaryDirectory() as folder:
        svg, png = Path(folder) / "network.svg", Path(folder) / "network.png"
        draw_network_file(svg, network, knowledge)
        draw_network_file(png, network, knowledge)
        caption = "Lines without an arrow have a direction that the data cannot tell."
        figure = Figure("The network", svg, png, caption)
        write_text(path, to_html(Document(f"The network behind {name}", _blocks(table, learned, strengths, figure))))


def _blocks(
    table: Table, learned: Learned, strengths: Mapping[tuple[str, str], float], figure: Figure
) -> tuple[Block, ...]:
    found = (
        f"{len(table.columns)} variables, {table.num_rows:,} rows, {len(learned.edges)} edges; "
        f"{learned.score_name} {learned.score:.4f}, found by {learned.algorithm} in {learned.seconds:.1f} s."
    )
    blocks: list[Block] = [Paragraph(found)]
    if learned.completed is not None:
        blocks.append(Paragraph(missing_sentence(table), warning=True))
    edges = tuple(
        (source, target, f"{strengths[source, target]:.4f}")
        for source, target in sorted(learned.edges, key=lambda edge: -strengths[edge])
    )
    return (
        *blocks,
        figure,
        Heading("Edges"),
        Rows("Edges, the strongest first", ("from", "to", "score lost without it"), edges),
        Heading("Columns"),
        Rows("What the columns were taken for", ("column", "taken for", "why", "missing"), tuple(column_rows(table))),
        Heading("What to make of it"),
        Paragraph(ASSUMPTIONS),
    )


def column_rows(table: Table) -> list[tuple[str, str, str, str]]:
    """What each column is taken for and why, and how many of its values are missing."""
    return [
        (column.name, column.kind, column.why, f"{column.num_missing:,}" if column.num_missing else "")
        for column in (*table.columns, *table.left_out)
    ]


def missing_sentence(table: Table) -> str:
    """What was done about missing values."""
    return (
        f"{table.num_missing:,} values are missing; they were drawn by structural EM, which assumes that they are "
        "missing at random, and the score is that of the completed table."
    )
