"""A report as a value: headings, paragraphs, tables and pictures, before anything is written as HTML or Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dvae.config import check
from dvae.figures import Scene


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
    """A picture on disk, as SVG and PNG beside each other, and what to see in it.

    A `drawing` keeps its colours in the dark, which tell types apart; a `chart` is turned light on dark there. A
    picture of one DAG can bring its scene, which then opens in the graph view.
    """

    title: str
    svg: Path
    png: Path
    caption: str
    kind: Literal["chart", "drawing"] = "chart"
    scene: Scene | None = None


@dataclass(frozen=True)
class Fact:
    """One number of a summary, what it is and what to make of it."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Advice:
    """Something to do next: why, and the command that does it."""

    text: str
    command: str


@dataclass(frozen=True)
class Summary:
    """What somebody sees who looks for ten seconds: a few numbers, the best DAG, and what to do next."""

    facts: tuple[Fact, ...]
    best: Figure | None = None
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True)
class MapPoint:
    """A DAG on a map. `shade`, from 0 to 1, is its colour; `scene` its place among the scenes of the map, if any."""

    x: float
    y: float
    words: str
    shade: float | None = None
    scene: int | None = None
    found: bool = False  # by a search


@dataclass(frozen=True)
class PointMap:
    """DAGs as points of a plane, to be looked at one by one."""

    title: str
    caption: str
    axes: tuple[str, str]
    shades: tuple[str, str]  # what the first and the last colour mean
    points: tuple[MapPoint, ...]
    scenes: tuple[Scene, ...] = ()

    def __post_init__(self) -> None:
        check(bool(self.points), f"the map {self.title!r} has no points")


Block = Heading | Paragraph | Items | Code | Table | Figure | Summary | PointMap


@dataclass(frozen=True)
class Document:
    title: str
    blocks: tuple[Block, ...] = field(default=())
    note: str = ""  # below the title: when and where it was made
