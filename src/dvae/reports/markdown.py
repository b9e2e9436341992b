"""Documents as Markdown that reads well as text, too."""

from __future__ import annotations

import os
from pathlib import Path

from dvae.files import as_characters
from dvae.reports.document import Block, Code, Document, Figure, Heading, Items, Paragraph, PointMap, Summary, Table


def to_markdown(document: Document, folder: Path) -> str:
    """Pictures are named relative to `folder`, where the text will lie."""
    parts = [f"# {document.title}", *(_block(block, folder) for block in document.blocks)]
    return as_characters("\n\n".join(part for part in parts if part) + "\n")


def _block(block: Block, folder: Path) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {text}"
        case Paragraph(text, warning):
            return f"> **{text}**" if warning else text
        case Items(lines):
            return "\n".join(f"- {line}" for line in lines)
        case Code(text):
            return f"```\n{text}\n```"
        case Table():
            return _table(block)
        case Figure(title, svg, _, caption):
            place = Path(os.path.relpath(svg, folder)).as_posix()
            return f"![{title}]({place})\n\n*{title}.* {caption}"
        case Summary():
            return _summary(block, folder)
        case PointMap(title, caption):
            return f"*{title}.* {caption} The page in HTML shows it."


def _summary(summary: Summary, folder: Path) -> str:
    facts = "\n".join(f"- **{fact.name}: {fact.value}** {fact.note}".rstrip() for fact in summary.facts)
    best = "" if summary.best is None else _block(summary.best, folder)
    advice = "\n".join(f"- {one.text} `{one.command}`" for one in summary.advice)
    return "\n\n".join(part for part in (facts, best, advice) if part)


def _table(table: Table) -> str:
    lines = [_row(table.header), _row(("---",) * len(table.header))]
    lines += [
        _row(tuple(f"*{cell}*" if place in table.quiet and cell else cell for cell in row))
        for place, row in enumerate(table.rows)
    ]
    return "\n\n".join(part for part in (f"**{table.title}**", "\n".join(lines), table.note) if part)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
