"""Pictures as PNG, through matplotlib's Agg, with no figure known to pyplot."""

from __future__ import annotations

import io
import math
from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dvae.errors import MissingError
from dvae.figures.layout import Point
from dvae.figures.picture import Arrow, Picture, Shape, Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 100.0
MAX_PIXELS = 30e6  # in the whole; larger pictures are scaled down
MAX_SIDE = 16_000
# How far the four controls of a quarter circle lie from its corner.
ROUND = 1 - 0.5523


def pixel_size(picture: Picture, scale: float) -> tuple[int, int]:
    longest, area = max(picture.width, picture.height), picture.width * picture.height
    scale = min(scale, MAX_SIDE / longest, math.sqrt(MAX_PIXELS / area))
    return max(1, round(picture.width * scale)), max(1, round(picture.height * scale))


def png_bytes(picture: Picture, scale: float = 2.0) -> bytes:
    """The picture with `scale` pixels to each of its units."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingError("PNG pictures need the package matplotlib; SVG pictures do not") from None
    width, height = pixel_size(picture, scale)
    # Half a hundredth of a pixel more: figure sizes are cut, not rounded, to whole pixels.
    figure = Figure(figsize=((width + 0.005) / DPI, (height + 0.005) / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0.0)
    if picture.background is not None:
        figure.patch.set(facecolor=picture.background, alpha=1.0)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set(xlim=(0, picture.width), ylim=(picture.height, 0))
    point = width / picture.width * 72 / DPI  # of one unit of the picture
    _shapes(axes, picture.cards, point, 0)
    _arrows(axes, picture.arrows, point)
    _shapes(axes, picture.nodes, point, 2)
    for text in [node.label for node in picture.nodes if node.label is not None] + list(picture.titles):
        _text(axes, text, point)
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=DPI, transparent=picture.background is None)
    return file.getvalue()


def _shapes(axes: Axes, shapes: Iterable[Shape], point: float, order: int) -> None:
    from matplotlib.collections import PathCollection

    shapes = list(shapes)
    if shapes:
        outlines = PathCollection(
            [_outline(shape) for shape in shapes],
            facecolors=[shape.fill for shape in shapes],
            edgecolors=[shape.stroke for shape in shapes],
            linewidths=[shape.line * point for shape in shapes],
            zorder=order,
        )
        axes.add_collection(outlines, autolim=False)


def _outline(shape: Shape) -> Any:
    from matplotlib.path import Path

    left, right = shape.x - shape.width / 2, shape.x + shape.width / 2
    top, bottom = shape.y - shape.height / 2, shape.y + shape.height / 2
    r = min(shape.radius, shape.width / 2, shape.height / 2)
    points: list[Point] = [(left + r, top)]
    codes = [Path.MOVETO]
    corners = [(right, top, -1, 0, 0, 1), (right, bottom, 0, -1, -1, 0), (left, bottom, 1, 0, 0, -1)]
    for x, y, in_x, in_y, out_x, out_y in [*corners, (left, top, 0, 1, 1, 0)]:
        points.append((x + in_x * r, y + in_y * r))
        points.append((x + in_x * r * ROUND, y + in_y * r * ROUND))
        points.append((x + out_x * r * ROUND, y + out_y * r * ROUND))
        points.append((x + out_x * r, y + out_y * r))
        codes += [Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    return Path([*points, points[0]], [*codes, Path.CLOSEPOLY])


def _arrows(axes: Axes, arrows: Iterable[Arrow], point: float) -> None:
    from matplotlib.collections import PathCollection, PolyCollection
    from matplotlib.path import Path

    alike: dict[tuple[str, float, bool], list[Arrow]] = defaultdict(list)
    for arrow in arrows:
        alike[arrow.colour, arrow.width, arrow.dashed].append(arrow)
    for (colour, width, dashed), group in alike.items():
        paths = [Path(a.points, [Path.MOVETO] + [Path.CURVE4] * (len(a.points) - 1)) for a in group]
        thick = width * point
        style = (0, (4, 2.7)) if dashed else "solid"
        lines = PathCollection(
            paths, facecolors="none", edgecolors=colour, linewidths=thick, linestyles=[style], zorder=1
        )
        axes.add_collection(lines, autolim=False)
        outlines = [a.head for a in group if a.head is not None]
        heads = PolyCollection(outlines, facecolors=colour, edgecolors="none", zorder=1)
        axes.add_collection(heads, autolim=False)


def _text(axes: Axes, text: Text, point: float) -> None:
    axes.text(
        text.x,
        text.y + 0.35 * text.size,
        text.text,
        fontsize=text.size * point,
        color=text.colour,
        weight="bold" if text.bold else "normal",
        ha="center",
        va="baseline",
        zorder=3,
        parse_math=False,
    )
