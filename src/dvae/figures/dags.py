"""Pictures of DAGs, one or a grid of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dvae.dag.value import Dag, Edge
from dvae.errors import ConfigError
from dvae.figures.arrows import EdgeLook, arrow
from dvae.figures.fixed_layouts import Arrange
from dvae.figures.layout import Layout, Point, layered
from dvae.figures.picture import Arrow, Picture, Shape, Text, shortened, text_width
from dvae.figures.picture_file import write_picture
from dvae.figures.png import png_bytes
from dvae.figures.style import DagStyle, mixed, style_of, text_colour
from dvae.figures.svg import svg_text

MARGIN = 14.0
CORNER = 8.0
TITLE_SIZE = 12.5
TITLE_HEIGHT = 26.0
MAX_TITLE_WIDTH = 220.0  # up to which a title may widen its cell
CELL_GAP = 14.0
GRID_ASPECT = 1.5  # width to height that the number of columns aims at
CARD = "#f8fafc"
CARD_EDGE = "#e2e8f0"


def draw_dag(
    dag: Dag,
    *,
    title: str | None = None,
    style: DagStyle | None = None,
    looks: Mapping[Edge, EdgeLook] | None = None,
) -> Picture:
    """One DAG, top to bottom, with a title above it; `looks` has edges that are drawn otherwise."""
    style = style or style_of([dag])
    return _Grid.of([_cell(dag, title or "", style, layered)], 1).picture(style, {}, looks or {})


def draw_dags(
    dags: Dag | Sequence[Dag],
    *,
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    style: DagStyle | None = None,
    marks: Mapping[int, str] | None = None,
    arrange: Arrange = layered,
) -> Picture:
    """A grid of DAGs, all to the same scale and in the same colours, filled row by row.

    `marks` gives the cards of some places another colour, written `#rrggbb`; `arrange` places the nodes of a DAG.
    """
    dags = [dags] if isinstance(dags, Dag) else list(dags)
    if not dags:
        raise ConfigError("there is no DAG to draw; give at least one")
    if titles is not None and len(titles) != len(dags):
        raise ConfigError(f"{len(titles)} titles were given for {len(dags)} DAGs; give one per DAG")
    if columns is not None and columns < 1:
        raise ConfigError(f"a grid of {columns} columns was asked for; it needs at least one")
    style = style or style_of(dags)
    cells = [_cell(dag, title, style, arrange) for dag, title in zip(dags, titles or [""] * len(dags), strict=True)]
    grid = _Grid.of(cells, columns) if columns else _well_shaped_grid(cells)
    return grid.picture(style, marks or {})


def to_svg(
    dags: Dag | Sequence[Dag],
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    style: DagStyle | None = None,
    marks: Mapping[int, str] | None = None,
    arrange: Arrange = layered,
) -> str:
    """The text of an SVG file with one DAG or a grid of them."""
    return svg_text(draw_dags(dags, titles=titles, columns=columns, style=style, marks=marks, arrange=arrange))


def to_png(
    dags: Dag | Sequence[Dag],
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    style: DagStyle | None = None,
    scale: float = 2.0,
    marks: Mapping[int, str] | None = None,
    arrange: Arrange = layered,
) -> bytes:
    """The bytes of a PNG file, `scale` pixels to each unit of the SVG."""
    return png_bytes(draw_dags(dags, titles=titles, columns=columns, style=style, marks=marks, arrange=arrange), scale)


def save_dags(
    path: str | Path,
    dags: Dag | Sequence[Dag],
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    style: DagStyle | None = None,
    marks: Mapping[int, str] | None = None,
    arrange: Arrange = layered,
) -> Path:
    """Write one DAG or a grid of them to a .svg or .png file; returns its path."""
    return write_picture(
        path,
        svg=lambda: to_svg(dags, titles, columns, style, marks, arrange).encode("utf-8", "replace"),
        png=lambda: to_png(dags, titles, columns, style, marks=marks, arrange=arrange),
    )


@dataclass(frozen=True, slots=True)
class _Cell:
    """One DAG of a grid with its title; `width` and `height` include the margins."""

    dag: Dag
    layout: Layout
    title: str
    width: float
    height: float


def _cell(dag: Dag, title: str, style: DagStyle, arrange: Arrange) -> _Cell:
    layout = arrange(dag, [style.box(label) for label in dag.types])
    title_width = min(text_width(title, TITLE_SIZE, bold=True), MAX_TITLE_WIDTH)
    width = max(layout.width, title_width) + 2 * MARGIN
    return _Cell(dag, layout, title, width, layout.height + 2 * MARGIN)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Cells in rows; a column is as wide as its widest cell, a row as high as its highest."""

    cells: tuple[_Cell, ...]
    widths: tuple[float, ...]
    heights: tuple[float, ...]
    title_height: float

    @classmethod
    def of(cls, cells: Sequence[_Cell], columns: int) -> _Grid:
        columns = min(columns, len(cells))
        title_height = TITLE_HEIGHT if any(cell.title for cell in cells) else 0.0
        widths = tuple(max(cell.width for cell in cells[k::columns]) for k in range(columns))
        rows = [cells[k : k + columns] for k in range(0, len(cells), columns)]
        heights = tuple(title_height + max(cell.height for cell in row) for row in rows)
        return cls(tuple(cells), widths, heights, title_height)

    @property
    def size(self) -> Point:
        gaps = 0.0 if len(self.cells) == 1 else CELL_GAP
        return _total(self.widths, gaps), _total(self.heights, gaps)

    def picture(
        self, style: DagStyle, marks: Mapping[int, str], looks: Mapping[Edge, EdgeLook] | None = None
    ) -> Picture:
        columns = len(self.widths)
        alone = len(self.cells) == 1
        gap = 0.0 if alone else CELL_GAP
        cards, arrows, nodes, titles = [], [], [], []
        for place, cell in enumerate(self.cells):
            row, column = divmod(place, columns)
            width, height = self.widths[column], self.heights[row]
            left = gap + sum(self.widths[:column]) + gap * column
            top = gap + sum(self.heights[:row]) + gap * row
            x = left + (width - cell.layout.width) / 2
            y = top + (height + self.title_height - cell.layout.height) / 2
            if not alone and style.background is not None:
                middle = (left + width / 2, top + height / 2)
                cards.append(Shape(*middle, width, height, CORNER, marks.get(place, CARD), CARD_EDGE))
            arrows += _arrows(cell, x, y, style, looks or {})
            nodes += _nodes(cell, x, y, style)
            if cell.title:
                at = (left + width / 2, top + self.title_height / 2 + 4)
                short = shortened(cell.title, width - 2 * MARGIN, TITLE_SIZE, bold=True)
                titles.append(Text(*at, short, TITLE_SIZE, bold=True, full=cell.title))
        return Picture(*self.size, style.background, tuple(cards), tuple(arrows), tuple(nodes), tuple(titles))


def _total(lengths: Sequence[float], gap: float) -> float:
    return sum(lengths) + gap * (len(lengths) + 1)


def _well_shaped_grid(cells: Sequence[_Cell]) -> _Grid:
    """The number of columns whose picture is nearest to the wanted shape, few empty places preferred."""

    def misfit(grid: _Grid) -> float:
        width, height = grid.size
        shape = width / height / GRID_ASPECT
        empty = len(grid.widths) * len(grid.heights) - len(cells)
        return max(shape, 1 / shape) + (0.4 if empty else 0.0) + empty / len(cells)

    return min((_Grid.of(cells, columns) for columns in range(1, len(cells) + 1)), key=misfit)


def _nodes(cell: _Cell, left: float, top: float, style: DagStyle) -> list[Shape]:
    nodes = []
    colours = dict(style.colours)
    for node, label in enumerate(cell.dag.types):
        box, (x, y) = cell.layout.boxes[node], cell.layout.centres[node]
        fill = colours.get(label, style.other)
        radius = box.width / 2 if box.round else CORNER
        text = Text(left + x, top + y, style.text(label), style.font_size, text_colour(fill))
        stroke = mixed(fill, "#000000", 0.3)
        full = f"{node}: {label}"
        nodes.append(Shape(left + x, top + y, box.width, box.height, radius, fill, stroke, text, full))
    return nodes


def _arrows(cell: _Cell, left: float, top: float, style: DagStyle, looks: Mapping[Edge, EdgeLook]) -> list[Arrow]:
    arrows = []
    plain = EdgeLook(style.edge_width, style.edge)
    for (source, target), route in zip(cell.dag.edges, cell.layout.routes, strict=True):
        look = looks.get((source, target), plain)
        points = tuple((left + x, top + y) for x, y in route)
        full = f"{source}: {cell.dag.types[source]} → {target}: {cell.dag.types[target]}"
        arrows.append(arrow(points, look, full))
    return arrows
