"""The map and the curves, as plain values that plotly draws.

Colours work on light and on dark ground; text and lines take theirs from the page's style sheet.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter
from torch import Tensor

from dvae.explorer.space import Map, Space
from dvae.explorer.studies import Baseline, Snapshot
from dvae.figures.style import mixed

Figure = dict[str, Any]
Trace = dict[str, Any]
Floats = npt.NDArray[np.float64]

UNDERLAYS = ("none", "density", "score")
SCALE = ((0.0, "#5b6b86"), (0.3, "#4477b5"), (0.62, "#2fa79b"), (0.85, "#c9b845"), (1.0, "#f59e2c"))
INK = "#7b8798"  # where the style sheet does not reach
ACCENT = "#e11d67"
PATH = "#8b5cf6"
SERIES = ("#3b82c4", "#ee9a3a", "#3fa984", "#cc79a7", "#7c6fd6", "#94a3b8")
RASTER = 72  # cells of the underlay along each side
BLUR = 1.6  # cells
MARGIN = 0.06  # around the data, of their range
THINNEST = 0.012  # of the largest density: below it a mean score says nothing
COLOUR_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)

UNDERLAY, POINTS, PROPOSALS, PATH_TRACE, GRID, MARKS, CURRENT = range(7)
"""The places of the map's traces."""


def map_figure(space: Space, plane: Map, underlay: str) -> Figure:
    """The map with nothing on it but the known DAGs."""
    places = plane.project(space.latents).double().numpy()
    return {
        "data": [underlay_trace(space, places, underlay), points_trace(space, places), *(nothing() for _ in range(5))],
        "layout": map_layout(plane, places),
    }


def map_layout(plane: Map, places: Floats) -> dict[str, Any]:
    low, high = _bounds(places)
    axes = {}
    for number, axis in enumerate(("xaxis", "yaxis")):
        share = plane.shares[number]
        label = plane.labels[number] if share is None else f"{plane.labels[number]} · {share:.1%} of variance"
        axes[axis] = {
            "title": {"text": label, "font": {"size": 12}, "standoff": 8},
            "range": [float(low[number]), float(high[number])],
            "zeroline": False,
            "gridcolor": "rgba(123,135,152,0.14)",
            "tickfont": {"size": 11},
            "ticks": "",
        }
    return {
        **axes,
        **_plain(),
        "margin": {"l": 48, "r": 8, "t": 8, "b": 42},
        "hovermode": "closest",
        "hoverdistance": 8,
        "dragmode": "pan",
        "uirevision": plane.name,
        "clickmode": "event",
    }


def points_trace(space: Space, places: Floats) -> Trace:
    """The known DAGs, coloured by the rank of their score: a few terrible ones would else take the whole scale.

    Without scores the number of nodes is shown, where it differs.
    """
    marker: dict[str, Any] = {"size": _size_of(len(places)), "opacity": 0.72, "color": "#4477b5"}
    sizes = [len(dag) for dag in space.known.dags]
    if len(space.sorted_scores) > 1:
        ranks = [space.rank_of(score) for score in space.known.scores]
        values = np.array([np.nan if rank is None else rank for rank in ranks])
        ticks = [short_number(float(np.quantile(space.sorted_scores.numpy(), share))) for share in COLOUR_TICKS]
        marker |= _coloured(values, 0, 1, "score")
        marker["colorbar"] |= {"tickvals": list(COLOUR_TICKS), "ticktext": ticks}
    elif min(sizes) < max(sizes):
        marker |= _coloured(np.array(sizes, dtype=float), min(sizes), max(sizes), "nodes")
        marker["colorbar"] |= {"tick0": min(sizes), "dtick": -(-(max(sizes) - min(sizes)) // 8)}  # whole numbers
    return {
        "type": "scattergl",
        "mode": "markers",
        "x": _packed(places[:, 0]),
        "y": _packed(places[:, 1]),
        "marker": marker,
        "hoverinfo": "none",  # the page shows its own card
        "showlegend": False,
    }


def _coloured(values: Floats, low: float, high: float, title: str) -> dict[str, Any]:
    """Colours by value, and the bar that explains them."""
    bar = {
        "thickness": 8,
        "outlinewidth": 0,
        "len": 0.62,
        "x": 1.0,
        "xpad": 10,
        "tickfont": {"size": 11},
        "title": {"text": title, "font": {"size": 11}},
    }
    return {"color": _packed(values), "colorscale": SCALE, "cmin": low, "cmax": high, "colorbar": bar}


def underlay_trace(space: Space, places: Floats, kind: str) -> Trace:
    """Density of the known DAGs, or the mean of their scores' ranks, behind the points."""
    low, high = _bounds(places)
    edges = [np.linspace(low[axis], high[axis], RASTER + 1) for axis in (0, 1)]
    centres = [(line[1:] + line[:-1]) / 2 for line in edges]
    trace: Trace = {"type": "heatmap", "showscale": False, "hoverinfo": "skip", "zsmooth": "best", "visible": True}
    density = _raster(places, np.ones(len(places)), edges)
    values: Floats = density
    if kind == "none" or (kind == "score" and len(space.sorted_scores) < 2):
        return {**trace, "visible": False, "x": [], "y": [], "z": []}
    if kind == "score":
        ranks = [space.rank_of(score) for score in space.known.scores]
        scored = np.array([rank is not None for rank in ranks])
        weights = np.array([rank for rank in ranks if rank is not None])
        share = _raster(places[scored], np.ones(len(weights)), edges)
        values = np.where(
            share > THINNEST * share.max(), _raster(places[scored], weights, edges) / np.maximum(share, 1e-12), np.nan
        )
        trace |= {"colorscale": SCALE, "zmin": 0, "zmax": 1, "opacity": 0.38, "zsmooth": False}
    else:
        trace |= {"colorscale": [[0, "rgba(100,116,139,0)"], [1, "rgba(100,116,139,0.42)"]]}
    rows = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in values.T]
    return {**trace, "x": centres[0].tolist(), "y": centres[1].tolist(), "z": rows}


def nothing() -> Trace:
    """A trace that shows nothing, to hold a place."""
    return {"type": "scattergl", "x": [], "y": [], "hoverinfo": "skip", "showlegend": False}


def proposals_trace(places: Tensor, best: int | None) -> Trace:
    """What a study has scored, the later the stronger, and a star on the best."""
    xs, ys = places[:, 0].tolist(), places[:, 1].tolist()
    count = len(xs)
    opacities = [round(0.35 + 0.6 * (number + 1) / count, 3) for number in range(count)]
    sizes, symbols, fills = [8.0] * count, ["circle-open"] * count, [ACCENT] * count
    if best is not None:  # once more, on top of all others
        xs, ys, opacities = [*xs, xs[best]], [*ys, ys[best]], [*opacities, 1.0]
        sizes, symbols, fills = [*sizes, 20.0], [*symbols, "star"], [*fills, "#ffffff"]
    return {
        "type": "scattergl",
        "mode": "markers",
        "x": xs,
        "y": ys,
        "marker": {
            "size": sizes,
            "symbol": symbols,
            "color": fills,
            "opacity": opacities,
            "line": {"width": 1.6, "color": ACCENT},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def path_trace(places: Tensor, here: int) -> Trace:
    """A walk, with a dot where it stands."""
    sizes = [5.0] * len(places)
    if 0 <= here < len(sizes):
        sizes[here] = 13.0
    return {
        "type": "scattergl",
        "mode": "lines+markers",
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "line": {"color": PATH, "width": 2},
        "marker": {"size": sizes, "color": PATH, "line": {"width": 0}},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def grid_trace(places: Tensor) -> Trace:
    return {
        "type": "scattergl",
        "mode": "markers",
        "x": places[:, 0].tolist(),
        "y": places[:, 1].tolist(),
        "marker": {"size": 9, "symbol": "square-open", "color": PATH, "line": {"width": 1.6, "color": PATH}},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def marks_trace(marks: Sequence[tuple[str, float, float]]) -> Trace:
    """Named places: the ends of a walk, the anchor."""
    return {
        "type": "scattergl",
        "mode": "markers+text",
        "x": [x for _, x, _ in marks],
        "y": [y for _, _, y in marks],
        "text": [name for name, _, _ in marks],
        "textposition": "top center",
        "textfont": {"color": PATH, "size": 15},
        "marker": {"size": 10, "symbol": "diamond", "color": PATH},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def current_trace(x: float, y: float) -> Trace:
    """Where the page's DAG is: a ring with a dot, to be seen on any ground."""
    return {
        "type": "scattergl",
        "mode": "markers",
        "x": [x, x, x],
        "y": [y, y, y],
        "marker": {
            "size": [22, 19, 6],
            "symbol": ["circle-open", "circle-open", "circle"],
            "color": ["#ffffff", ACCENT, ACCENT],
            "opacity": 1,
            "line": {"width": 2.4, "color": ["#ffffff", ACCENT, ACCENT]},
        },
        "hoverinfo": "skip",
        "showlegend": False,
    }


def empty_chart() -> Figure:
    """What a chart shows before there is anything to show."""
    hidden = {"visible": False}
    return {"data": [], "layout": {**_plain(), "xaxis": hidden, "yaxis": hidden}}


def walk_chart(scores: Sequence[float | None], here: int) -> Figure:
    """Scores along a walk, with a line where it stands."""
    steps = list(range(len(scores)))
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": steps,
        "y": list(scores),
        "line": {"color": PATH, "width": 2, "shape": "hv"},
        "marker": {"size": 5},
        "hovertemplate": "step %{x}: %{y:,.4~f}<extra></extra>",
    }
    shapes = [_line("x", here, PATH, "dot")]
    layout = {
        **_plain(),
        "margin": {"l": 64, "r": 10, "t": 6, "b": 24},
        "xaxis": {**_axis(), "range": [-0.5, len(scores) - 0.5], "showgrid": False},
        "yaxis": {**_axis(), "nticks": 4},
        "shapes": shapes,
        "showlegend": False,
    }
    return {"data": [trace], "layout": layout}


def progress_chart(chosen: Snapshot, others: Sequence[Snapshot], lines: Sequence[Baseline]) -> Figure:
    """Best and mean score over a study, other studies' best, and baselines across."""
    data: list[Trace] = []
    for number, study in enumerate((chosen, *others)):
        colour = SERIES[number % len(SERIES)]
        ahead = number == 0
        data.append(_curve(study, study.best, f"best, {study.name}", colour, width=2.6 if ahead else 1.6, dash="solid"))
        if ahead:
            label = "mean of the last 25"
            data.append(_curve(study, study.mean, label, colour, width=1.4, dash="dot"))
    shapes = [_line("y", line.score, INK, "dash") for line in lines]
    notes = [
        {
            "x": 0.99,
            "xref": "paper",
            "xanchor": "right",
            "y": line.score,
            "yanchor": "bottom" if place == len(lines) - 1 else "top",  # the highest line has its words above it
            "showarrow": False,
            "text": f"{line.label} {short_number(line.score)}",
            "font": {"size": 11, "color": INK},
        }
        for place, line in enumerate(sorted(lines, key=lambda line: line.score))
    ]
    layout = {
        **_plain(),
        "margin": {"l": 64, "r": 10, "t": 10, "b": 36},
        "xaxis": {**_axis(), "title": {"text": "trial", "font": {"size": 11}, "standoff": 4}, "rangemode": "tozero"},
        "yaxis": {**_axis(), "nticks": 5, "range": _focus(chosen, others, lines)},
        "shapes": shapes,
        "annotations": notes,
        "legend": {
            "orientation": "h",
            "x": 1,
            "xanchor": "right",
            "y": 0.02,
            "yanchor": "bottom",
            "font": {"size": 11},
        },
        "uirevision": chosen.name,
    }
    return {"data": data, "layout": layout}


def _focus(chosen: Snapshot, others: Sequence[Snapshot], lines: Sequence[Baseline]) -> list[float] | None:
    """The range in which a search happens: early failures far below would press the rest into one line."""
    values = [value for study in (chosen, *others) for value in (*study.best, *study.mean)]
    values += [line.score for line in lines]
    if len(values) < 2:
        return None
    top, low = max(values), min(values)
    if chosen.higher_is_better:
        low = float(np.quantile(values, 0.05))
    else:
        top = float(np.quantile(values, 0.95))
    reach = max(top - low, 1e-9)
    return [low - 0.1 * reach, top + 0.16 * reach]


def _curve(study: Snapshot, values: Sequence[float], name: str, colour: str, *, width: float, dash: str) -> Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [trial.number for trial in study.scored],
        "y": list(values),
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": "trial %{x}: %{y:,.4~f}<extra>" + name + "</extra>",
    }


def _line(axis: str, value: float, colour: str, dash: str) -> dict[str, Any]:
    """A straight line across the whole chart."""
    other = "y" if axis == "x" else "x"
    ends = {f"{axis}0": value, f"{axis}1": value, f"{other}0": 0, f"{other}1": 1, f"{other}ref": "paper"}
    return {"type": "line", **ends, "line": {"color": colour, "width": 1.2, "dash": dash}}


def _plain() -> dict[str, Any]:
    return {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "family": "Inter, Roboto, Liberation Sans, Helvetica, Arial, sans-serif"},
        "autosize": True,
    }


def _axis() -> dict[str, Any]:
    return {
        "zeroline": False,
        "gridcolor": "rgba(123,135,152,0.16)",
        "tickfont": {"size": 11},
        "exponentformat": "none",
        "separatethousands": True,
    }


def _raster(places: Floats, weights: Floats, edges: Sequence[Floats]) -> Floats:
    counts, _, _ = np.histogram2d(places[:, 0], places[:, 1], bins=(edges[0], edges[1]), weights=weights)
    blurred: Floats = gaussian_filter(counts, BLUR)
    return blurred


def _bounds(places: Floats) -> tuple[Floats, Floats]:
    low, high = places.min(0), places.max(0)
    room = np.maximum(high - low, 1e-3) * MARGIN
    return low - room, high + room


def _packed(values: Floats) -> dict[str, str]:
    """Numbers as plotly's typed arrays: a third of the bytes, and nothing to parse."""
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")}


def _size_of(count: int) -> float:
    return 4.0 if count > 8_000 else 5.5 if count > 1_500 else 7.5


def short_number(value: float) -> str:
    """A score in few characters."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def colour_at(rank: float | None) -> str:
    """The colour of a score's rank on the map; empty without one."""
    if rank is None:
        return ""
    for (low, before), (high, after) in pairwise(SCALE):
        if rank <= high:
            return mixed(before, after, (rank - low) / (high - low))
    return SCALE[-1][1]
