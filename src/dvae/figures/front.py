"""A Pareto front as a picture: all candidates, and those that nothing is better than."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import ConfigError
from dvae.figures.curves import rendered
from dvae.figures.picture_file import write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (6.4, 4.6)  # inches
POINT, FRONT, BROKEN = "#94a3b8", "#0f766e", "#e2b8a0"

Point = tuple[float, float]


@dataclass(frozen=True)
class FrontFigure:
    """Two objectives of candidates: those on the front, other feasible ones, and those that break a constraint."""

    x: str
    y: str
    front: tuple[Point, ...]
    feasible: tuple[Point, ...] = ()
    broken: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        if not self.front and not self.feasible and not self.broken:
            raise ConfigError("there is no candidate to draw")


def save_front(path: str | Path, shown: FrontFigure) -> Path:
    """Draw the front to a .svg or .png file; returns its path."""

    def draw(figure: Figure) -> None:
        _draw(figure, shown)

    return write_picture(path, svg=lambda: rendered(draw, SIZE, "svg"), png=lambda: rendered(draw, SIZE, "png"))


def _draw(figure: Figure, shown: FrontFigure) -> None:
    axes = figure.add_subplot()
    parts: Sequence[tuple[tuple[Point, ...], str, str, float]] = (
        (shown.broken, BROKEN, "breaks a constraint", 14),
        (shown.feasible, POINT, "feasible", 14),
        (shown.front, FRONT, "on the front", 34),
    )
    for points, colour, label, size in parts:
        if points:
            xs, ys = zip(*points, strict=True)
            axes.scatter(xs, ys, s=size, color=colour, label=label, linewidths=0)
    if len(shown.front) > 1:
        xs, ys = zip(*sorted(shown.front), strict=True)
        axes.plot(xs, ys, color=FRONT, linewidth=1, alpha=0.6)
    axes.set_xlabel(shown.x)
    axes.set_ylabel(shown.y)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
