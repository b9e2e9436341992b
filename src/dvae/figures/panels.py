"""Several small charts side by side in one picture: lines, or the scores of a plane."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dvae.errors import ConfigError
from dvae.figures.curves import QUIET, Series, draw_lines, label_ends, rendered
from dvae.figures.picture import INK
from dvae.figures.picture_file import write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (5.4, 3.9)  # inches
MAP = (3.3, 3.4)  # inches
MAX_TICKS = 12  # of different x on a logarithmic axis
PART = 0.1  # inches around a panel
GAP = "#e2e8f0"  # where a plane has no score
COLOURS = "viridis"  # even to the eye, in grey and to the colour-blind
BRIGHT_QUANTILES = (0.05, 1.0)  # scores below are drawn like the lower one: a few bad DAGs must not hide the rest


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of lines; series of the same place have the same colour in all panels of a picture."""

    title: str
    xlabel: str
    ylabel: str
    series: tuple[Series, ...]
    log: bool = False
    log_x: bool = False

    def __post_init__(self) -> None:
        if not self.series:
            raise ConfigError(f"the panel {self.title!r} has no series; give at least one")


@dataclass(frozen=True, slots=True)
class ScoreMap:
    """Scores over a square of a plane, rows from the top; None where a point has none."""

    title: str
    rows: tuple[tuple[float | None, ...], ...]
    extent: float  # both coordinates run from -extent to extent

    def __post_init__(self) -> None:
        if not self.rows or not self.rows[0] or any(len(row) != len(self.rows[0]) for row in self.rows):
            raise ConfigError(f"the map {self.title!r} needs rows of one length")
        if not self.extent > 0:
            raise ConfigError(f"the map {self.title!r} needs a positive extent, not {self.extent}")


def save_panels(path: str | Path, panels: Sequence[Panel], *, columns: int = 2) -> Path:
    """Draw the panels, row by row, to a .svg or .png file; returns its path."""
    panels = list(panels)
    if not panels:
        raise ConfigError("there is no panel to draw; give at least one")
    columns = max(1, min(columns, len(panels)))
    rows = -(-len(panels) // columns)
    size = (PANEL[0] * columns, PANEL[1] * rows)
    return _written(path, lambda figure: _draw_panels(figure, panels, rows, columns), size)


def save_score_maps(path: str | Path, maps: Sequence[ScoreMap], *, label: str, columns: int = 2) -> Path:
    """Draw the maps, row by row, with one colour scale for all, to a .svg or .png file; returns its path."""
    maps = list(maps)
    if not maps:
        raise ConfigError("there is no map to draw; give at least one")
    columns = max(1, min(columns, len(maps)))
    rows = -(-len(maps) // columns)
    size = (MAP[0] * columns + 1.0, MAP[1] * rows)
    return _written(path, lambda figure: _draw_maps(figure, maps, rows, columns, label), size)


def colour_limits(maps: Sequence[ScoreMap]) -> tuple[float, float]:
    """Between which scores the colours run, for all maps together."""
    scores = sorted(score for one in maps for row in one.rows for score in row if score is not None)
    if not scores:
        return 0.0, 1.0
    low, high = (scores[round(share * (len(scores) - 1))] for share in BRIGHT_QUANTILES)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _written(path: str | Path, draw: Callable[[Figure], None], size: tuple[float, float]) -> Path:
    return write_picture(path, svg=lambda: rendered(draw, size, "svg"), png=lambda: rendered(draw, size, "png"))


def _draw_panels(figure: Figure, panels: Sequence[Panel], rows: int, columns: int) -> None:
    _parted(figure)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        draw_lines(axes, panel.series, (panel.xlabel, panel.ylabel, panel.title), panel.log)
        if panel.log_x:
            _logarithmic_x(axes, panel.series)
        if len(panel.series) > 1:
            label_ends(axes, panel.series, panel.log, PANEL[1])


def _parted(figure: Figure) -> None:
    """Room between panels, so that the words of one do not run into the next."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.set(w_pad=PART, h_pad=PART)  # type: ignore[call-arg] # those of the constrained layout


def _logarithmic_x(axes: Axes, series: Sequence[Series]) -> None:
    """A tick at every x where they are few, else at 1, 2, 5, 10, .."""
    from matplotlib.ticker import FixedLocator, LogLocator, NullLocator, StrMethodFormatter

    axes.set_xscale("log")
    places = sorted({x for line in series for x in line.x})
    ticks = FixedLocator(places) if len(places) <= MAX_TICKS else LogLocator(subs=(1.0, 2.0, 5.0))
    axes.xaxis.set_major_locator(ticks)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _draw_maps(figure: Figure, maps: Sequence[ScoreMap], rows: int, columns: int, label: str) -> None:
    from matplotlib import colormaps

    _parted(figure)
    low, high = colour_limits(maps)
    colours = colormaps[COLOURS].with_extremes(bad=GAP)
    every: list[Axes] = []
    image = None
    for place, one in enumerate(maps):
        axes = figure.add_subplot(rows, columns, place + 1)
        table = [[math.nan if score is None else score for score in row] for row in one.rows]
        edges = (-one.extent, one.extent, -one.extent, one.extent)
        image = axes.imshow(table, extent=edges, cmap=colours, vmin=low, vmax=high, interpolation="nearest")
        axes.set_title(one.title, color=INK, fontsize=10, loc="left", parse_math=False)
        axes.set_xlabel("first principal component", color=INK, fontsize=8.5)
        axes.set_ylabel("second principal component", color=INK, fontsize=8.5)
        axes.set_xticks([-one.extent, 0, one.extent], [f"{-one.extent:.2g}", "0", f"{one.extent:.2g}"])
        axes.set_yticks([-one.extent, 0, one.extent], [f"{-one.extent:.2g}", "0", f"{one.extent:.2g}"])
        axes.tick_params(colors=QUIET, labelsize=8, length=0)
        for tick, side in zip(axes.get_xticklabels(), ("left", "center", "right"), strict=True):
            tick.set(horizontalalignment=side)  # so that the ends of two maps side by side do not meet
        for tick, side in zip(axes.get_yticklabels(), ("bottom", "center", "top"), strict=True):
            tick.set(verticalalignment=side)
        for spine in axes.spines.values():
            spine.set_visible(False)
        every.append(axes)
    assert image is not None
    bar = figure.colorbar(image, ax=every, shrink=0.75, pad=0.02, extend="min")
    bar.set_label(label, color=INK, fontsize=9, parse_math=False)
    bar.ax.tick_params(colors=QUIET, labelsize=8, length=0)
    bar.outline.set_visible(False)
