"""Lines over epochs or evaluations, each named where it ends."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dvae.errors import ConfigError, FormatError, MissingError
from dvae.figures.picture import INK, shortened
from dvae.figures.picture_file import write_picture
from dvae.figures.spacing import separate, within

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Dark enough for thin lines on white; Okabe and Ito's order of hues, then Tol's.
LINES = (
    *("#0072b2", "#d55e00", "#00805c", "#b5518c", "#56a0d3"),
    *("#b07d00", "#332288", "#661100", "#555555", "#117733"),
)
DASHES = ("solid", "dashed", "dotted")
SIZE = (7.2, 4.2)  # inches
DPI = 200
GRID = "#e2e8f0"
QUIET = "#64748b"
LABEL_POINTS = 9.0
MAX_LABEL_WIDTH = 150.0
MAX_LABELS = 15  # series that fit beside the lines; more go into a legend
FEW_POINTS = 30  # up to which the points are marked


@dataclass(frozen=True, slots=True)
class Series:
    """A named line, with a band around it where `low` and `high` are given; NaN leaves a gap."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for field in ("x", "y", "low", "high"):
            values = getattr(self, field)
            if values is not None:
                object.__setattr__(self, field, tuple(map(float, values)))
        if (self.low is None) != (self.high is None):
            raise ConfigError(f"the series {self.name!r} has half a band; give low and high, or neither")
        if not self.x:
            raise ConfigError(f"the series {self.name!r} has no points")
        if any(values is not None and len(values) != len(self.x) for values in (self.y, self.low, self.high)):
            raise ConfigError(f"the series {self.name!r} has {len(self.x)} x but not as many y, low or high")


@dataclass(frozen=True, slots=True)
class EndLabel:
    """The name of a series at the height, as a share of the axis, where it is written."""

    text: str
    height: float
    colour: str


def read_series(path: str | Path, x: str = "epoch", columns: Sequence[str] | None = None) -> list[Series]:
    """The columns of a CSV file with a header as series over the column `x`; empty cells are left out.

    Without `columns`, all others are read.
    """
    path = Path(path)
    if not path.is_file():
        raise MissingError(f"{path}: there is no such file")
    try:
        return _series(path, x, columns)
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text (byte {error.start})") from None
    except csv.Error as error:
        raise FormatError(f"{path}: not comma-separated values ({error})") from None


def _series(path: Path, x: str, columns: Sequence[str] | None) -> list[Series]:
    points: dict[str, tuple[list[float], list[float]]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = csv.reader(file, strict=True)
        header = next(rows, [])
        names = [name for name in header if name != x] if columns is None else list(columns)
        missing = [name for name in (x, *names) if name not in header]
        if missing:
            raise FormatError.at(path, 1, f"there is no column {missing[0]!r}; there are {', '.join(header)}")
        for row in rows:
            if len(row) != len(header):
                raise FormatError.at(path, rows.line_num, f"{len(row)} cells under {len(header)} names")
            cells = dict(zip(header, row, strict=True))
            for name in names:
                if cells[name].strip():
                    xs, ys = points.setdefault(name, ([], []))
                    xs.append(_number(path, rows.line_num, cells[x]))
                    ys.append(_number(path, rows.line_num, cells[name]))
    if not points:
        raise FormatError.at(path, 1, "there are no values to draw")
    return [Series(name, tuple(xs), tuple(ys)) for name, (xs, ys) in points.items()]


def save_curves(
    path: str | Path, series: Sequence[Series], xlabel: str, ylabel: str, title: str = "", log: bool = False
) -> Path:
    """Draw the series to a .svg or .png file; returns its path."""
    series = list(series)
    if not series:
        raise ConfigError("there is no series to draw; give at least one")
    if log and not all(value > 0 for line in series for value in _heights(line)):
        raise ConfigError("a logarithmic axis needs values above zero; draw these with log=False")
    words = (xlabel, ylabel, title)
    return write_picture(
        path,
        svg=lambda: _rendered(series, words, log, "svg"),
        png=lambda: _rendered(series, words, log, "png"),
    )


def end_labels(series: Sequence[Series], limits: tuple[float, float], *, log: bool, gap: float) -> list[EndLabel]:
    """A label for every series beside its last value, moved apart so that none covers another.

    `limits` are those of the axis, `gap` the minimum distance between two labels as a share of the axis.
    """
    places = []
    for number, line in enumerate(series):
        last = next((y for y in reversed(line.y) if math.isfinite(y)), limits[0])
        places.append((_share(last, limits, log), number))
    places.sort()
    gaps = [gap] * (len(places) - 1)
    heights = separate([height for height, _ in places], gaps, [1.0] * len(places))
    heights = within(0.0, 1.0, heights, gaps)
    labels = []
    for height, (_, number) in zip(heights, places, strict=True):
        text = shortened(series[number].name, MAX_LABEL_WIDTH, LABEL_POINTS)
        labels.append(EndLabel(text, height, LINES[number % len(LINES)]))
    return labels


def _number(path: Path, line: int, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        raise FormatError.at(path, line, f"{cell!r} is not a number") from None


def _heights(line: Series) -> list[float]:
    return [value for value in (*line.y, *(line.low or ()), *(line.high or ())) if math.isfinite(value)]


def _share(value: float, limits: tuple[float, float], log: bool) -> float:
    low, high = limits
    if log:
        value, low, high = math.log(value), math.log(low), math.log(high)
    return (value - low) / (high - low)


def _rendered(series: Sequence[Series], words: tuple[str, str, str], log: bool, format: Literal["svg", "png"]) -> bytes:
    return rendered(lambda figure: _draw(figure, series, words, log), SIZE, format)


def rendered(draw: Callable[[Figure], None], size: tuple[float, float], format: Literal["svg", "png"]) -> bytes:
    """The bytes of a picture of `size` inches that `draw` fills by matplotlib; no figure is known to pyplot."""
    try:
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingError("curves need the package matplotlib") from None
    figure = Figure(figsize=size, dpi=DPI, layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    draw(figure)
    file = io.BytesIO()
    # Text stays text, and the same series give the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dvae"}):
        figure.savefig(file, format=format, dpi=DPI, metadata={"Date": None} if format == "svg" else None)
    return file.getvalue()


def _draw(figure: Figure, series: Sequence[Series], words: tuple[str, str, str], log: bool) -> None:
    axes = figure.add_subplot()
    draw_lines(axes, series, words, log)
    if len(series) == 1:
        return
    if len(series) > MAX_LABELS:
        columns = 1 + len(series) // 30
        legend = figure.legend(loc="outside right upper", frameon=False, fontsize=LABEL_POINTS - 1, ncols=columns)
        for text in legend.get_texts():
            text.set(parse_math=False, color=INK)
        return
    label_ends(axes, series, log, SIZE[1])


def draw_lines(axes: Axes, series: Sequence[Series], words: tuple[str, str, str], log: bool) -> None:
    """The lines and their bands on `axes`; `words` are the names of both axes and the title."""
    marker = "o" if max(len(line.x) for line in series) <= FEW_POINTS else ""
    for number, line in enumerate(series):
        colour = LINES[number % len(LINES)]
        dashes = DASHES[number // len(LINES) % len(DASHES)]
        axes.plot(line.x, line.y, color=colour, lw=1.8, marker=marker, ms=3.2, ls=dashes, label=line.name)
        if line.low is not None and line.high is not None:
            axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.16, lw=0)
    if log:
        axes.set_yscale("log")
        _plain_ticks(axes)
    _tidy(axes, words, whole=all(x.is_integer() for line in series for x in line.x))


def label_ends(axes: Axes, series: Sequence[Series], log: bool, height: float) -> None:
    """The name of every line beside its end, on axes in a picture `height` inches high."""
    low, high = axes.get_ylim()
    gap = 1.3 * LABEL_POINTS / (height * 72 * 0.78)
    for label in end_labels(series, (low, high), log=log, gap=gap):
        axes.annotate(
            label.text,
            (1, label.height),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=label.colour,
            fontsize=LABEL_POINTS,
            parse_math=False,
        )


def _tidy(axes: Axes, words: tuple[str, str, str], *, whole: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    xlabel, ylabel, title = words
    axes.set_xlabel(xlabel, color=INK, parse_math=False)
    axes.set_ylabel(ylabel, color=INK, parse_math=False)
    if title:
        look = {"color": INK, "fontsize": 11.5, "fontweight": "bold", "parse_math": False}
        axes.set_title(title, loc="left", pad=10, fontdict=look)
    axes.grid(color=GRID, lw=0.8)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)
    if whole:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, steps=[1, 2, 5, 10]))
    axes.tick_params(which="both", colors=QUIET, labelsize=9, length=0)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color("#cbd5e1")


def _plain_ticks(axes: Axes) -> None:
    """Numbers, not powers, on a logarithmic axis: 1, 2, 5 on a short one, even steps on a very short."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

    low, high = axes.get_ylim()
    decades = math.log10(high / low)
    steps = LogLocator(subs=(1.0, 2.0, 5.0) if decades < 3 else (1.0,))
    axes.yaxis.set_major_locator(steps if decades > 0.8 else MaxNLocator(6))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
