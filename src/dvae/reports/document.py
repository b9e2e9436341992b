"""A report as a value: headings, paragraphs, tables and pictures, before anything is written as HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from dvae.config import check


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    text: str
    warning: bool = False  # shown so that nobody overlooks it


@dataclass(frozen=True)
class Items:
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Table:
    """Cells are text; rows of `quiet` are what others report, set apart from what was measured."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    quiet: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        for row in self.rows:
            check(len(row) == len(self.header), f"the table {self.title!r} has a row of {len(row)} cells: {row}")


@dataclass(frozen=True)
class Figure:
    """A picture on disk, as SVG and PNG beside each other, and what to see in it."""

    title: str
    svg: Path
    png: Path
    caption: str


Block = Heading | Paragraph | Items | Code | Table | Figure


@dataclass(frozen=True)
class Document:
    title: str
    blocks: tuple[Block, ...] = field(default=())
