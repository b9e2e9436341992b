"""The map: its known DAGs and what lies behind them, as plain values that plotly draws.

Colours work on light and on dark backgrounds; text and lines take theirs from the page's style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter

from dvae.explorer.charts import Figure, plain_layout
from dvae.explorer.colours import ACCENT, INK, SCALE
from dvae.explorer.map_colours import colours_of, default_colours, only, packed
from dvae.explorer.map_marks import Trace, nothing
from dvae.explorer.quantities import SCORE, Mask, Quantity
from dvae.explorer.space import Map, Space

Floats = npt.NDArray[np.float64]

BACKGROUNDS = ("none", "density", "score")
RASTER = 72  # cells of the background along each side
BLUR = 1.6  # cells
MARGIN = 0.06  # around the data, of their range
MIN_DENSITY = 0.012  # of the largest: below it a mean score says nothing

BACKGROUND, FADED, POINTS, KEY, PROPOSALS, PATH_TRACE, GRID, MARKS, CURRENT = range(9)
"""The positions of the map's traces; the page draws the first three itself (browser/ground.js), plotly the others."""
GROUND = (BACKGROUND, FADED, POINTS, KEY)  # all that depends on axes, colours and filter
POSITIONS = {
    "background": BACKGROUND,
    "faded": FADED,
    "points": POINTS,
    "proposals": PROPOSALS,
    "marks": MARKS,
    "current": CURRENT,
}  # that the browser asks for


def map_figure(
    space: Space, plane: Map, background: str, colour: Quantity | None = None, shown: Mask | None = None
) -> Figure:
    """The map with nothing on it but the known DAGs; `colour` and `shown` are as in `points_trace`."""
    places = plane.project(space.latents).double().numpy()
    points = points_trace(space, places, colour, shown)
    return {
        "data": [
            background_trace(space, places, background),
            faded_trace(places, shown),
            points,
            key_trace(points["marker"]),
            *(nothing() for _ in range(5)),
        ],
        "layout": map_layout(plane, places),
    }


def map_layout(plane: Map, places: Floats) -> dict[str, Any]:
    """The axes of a map, with a margin around its points."""
    low, high = _bounds(places)
    axes = {}
    for number, axis in enumerate(("xaxis", "yaxis")):
        share = plane.variance[number]
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
        **plain_layout(),
        "margin": {"l": 48, "r": 8, "t": 8, "b": 42},
        "hovermode": False,  # the page finds out itself what is under the pointer or the finger
        "dragmode": "pan",
        "uirevision": plane.name,
        "clickmode": "none",
        "newselection": {"line": {"color": ACCENT, "width": 1.6, "dash": "dot"}},
        "meta": {"plane": plane.name, "traces": POSITIONS},
    }


def points_trace(space: Space, places: Floats, colour: Quantity | None = None, shown: Mask | None = None) -> Trace:
    """The known DAGs, coloured by a quantity, else by the rank of their score; `shown` says which of them."""
    look = default_colours(space) if colour is None or colour.name == SCORE else colours_of(colour)
    marker: dict[str, Any] = {"size": _size_of(len(places)), "opacity": 0.72, "color": "#4477b5", **look}
    if shown is None or shown.all():
        return _points(places, marker)
    numbers = np.flatnonzero(shown).tolist()  # what the page calls them: their places among all
    return _points(places[shown], only(marker, shown)) | {"customdata": numbers}


def key_trace(marker: dict[str, Any]) -> Trace:
    """The bar that explains the colours of the points: a trace of plotly's without a point."""
    if "colorbar" not in marker:
        return nothing()
    scale = {name: marker[name] for name in ("colorscale", "cmin", "cmax", "colorbar")}
    key = {**scale, "color": [marker["cmin"]], "showscale": True}
    return nothing() | {"x": [None], "y": [None], "marker": key}


def faded_trace(places: Floats, shown: Mask | None) -> Trace:
    """The known DAGs that a filter leaves out, faintly: where there are others still shows."""
    if shown is None or shown.all():
        return nothing()
    return _points(places[~shown], {"size": _size_of(len(places)) - 1.5, "opacity": 0.22, "color": INK})


def _points(places: Floats, marker: dict[str, Any]) -> Trace:
    """Points that the page draws itself: plotly keeps them, and leaves them alone."""
    where = {"x": packed(places[:, 0]), "y": packed(places[:, 1])}
    return {"type": "scatter", "mode": "markers", "visible": False, **where, "marker": marker}


def background_trace(space: Space, places: Floats, kind: str) -> Trace:
    """Density of the known DAGs, or the mean of their scores' ranks, behind the points."""
    low, high = _bounds(places)
    edges = [np.linspace(low[axis], high[axis], RASTER + 1) for axis in (0, 1)]
    centres = [(line[1:] + line[:-1]) / 2 for line in edges]
    trace: Trace = {"type": "heatmap", "zsmooth": "best", "visible": False}
    density = _raster(places, np.ones(len(places)), edges)
    values: Floats = density
    if kind == "none" or (kind == "score" and len(space.sorted_scores) < 2):
        return {**trace, "x": [], "y": [], "z": []}
    if kind == "score":
        ranks = [space.rank_of(score) for score in space.known.scores]
        scored = np.array([rank is not None for rank in ranks])
        weights = np.array([rank for rank in ranks if rank is not None])
        share = _raster(places[scored], np.ones(len(weights)), edges)
        values = np.where(
            share > MIN_DENSITY * share.max(),
            _raster(places[scored], weights, edges) / np.maximum(share, 1e-12),
            np.nan,
        )
        trace |= {"colorscale": SCALE, "zmin": 0, "zmax": 1, "opacity": 0.38, "zsmooth": False}
    else:
        trace |= {"colorscale": [[0, "rgba(100,116,139,0)"], [1, "rgba(100,116,139,0.42)"]]}
    rows = [[None if np.isnan(value) else round(float(value), 4) for value in row] for row in values.T]
    return {**trace, "x": centres[0].tolist(), "y": centres[1].tolist(), "z": rows}


def _raster(places: Floats, weights: Floats, edges: Sequence[Floats]) -> Floats:
    counts, _, _ = np.histogram2d(places[:, 0], places[:, 1], bins=(edges[0], edges[1]), weights=weights)
    blurred: Floats = gaussian_filter(counts, BLUR)
    return blurred


def _bounds(places: Floats) -> tuple[Floats, Floats]:
    low, high = places.min(0), places.max(0)
    room = np.maximum(high - low, 1e-3) * MARGIN
    return low - room, high + room


def _size_of(count: int) -> float:
    return 4.0 if count > 8_000 else 5.5 if count > 1_500 else 7.5
