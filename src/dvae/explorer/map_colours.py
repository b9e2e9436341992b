"""What the colours of the map's points mean, and the bar that explains them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

from dvae.explorer.colours import SCALE, SERIES, short_number
from dvae.explorer.quantities import Quantity
from dvae.explorer.space import Space

Floats = npt.NDArray[np.float64]
Marker = dict[str, Any]

COLOUR_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
FEW = 9  # whole numbers that have a tick each


def default_colours(space: Space) -> Marker:
    """By the rank of the score: a few terrible ones would else take the whole scale.

    Without scores by the number of nodes, where it differs.
    """
    sizes = [len(dag) for dag in space.known.dags]
    if len(space.sorted_scores) > 1:
        ranks = [space.rank_of(score) for score in space.known.scores]
        values = np.array([np.nan if rank is None else rank for rank in ranks])
        return _by_rank(values, space.sorted_scores.numpy(), "score")
    if min(sizes) < max(sizes):
        return _whole(np.array(sizes, dtype=float), "nodes")
    return {}


def colours_of(quantity: Quantity) -> Marker:
    """By any quantity: words in colours of their own, whole numbers evenly, others by their rank."""
    if quantity.words:
        return _words(quantity)
    if not quantity.varies:
        return {}
    if quantity.is_whole:
        return _whole(quantity.values, quantity.name)
    known = np.sort(quantity.values[~np.isnan(quantity.values)])
    ranks = np.searchsorted(known, quantity.values) / len(known)
    return _by_rank(np.where(np.isnan(quantity.values), np.nan, ranks), known, quantity.name)


def packed(values: Floats) -> dict[str, str]:
    """Numbers as plotly's typed arrays: a third of the bytes, and nothing to parse."""
    return {"dtype": "f4", "bdata": base64.b64encode(values.astype("<f4").tobytes()).decode("ascii")}


def only(marker: Marker, values: npt.NDArray[np.bool_]) -> Marker:
    """The colours of some of the points."""
    if not isinstance(marker.get("color"), dict):
        return marker
    whole = np.frombuffer(base64.b64decode(marker["color"]["bdata"]), dtype="<f4")
    return marker | {"color": packed(whole[values].astype(np.float64))}


def _by_rank(ranks: Floats, known: Floats, title: str) -> Marker:
    ticks = [short_number(float(np.quantile(known, share))) for share in COLOUR_TICKS]
    return _marker(ranks, 0, 1, title, {"tickvals": list(COLOUR_TICKS), "ticktext": ticks})


def _whole(values: Floats, title: str) -> Marker:
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    ticks = {"tick0": low, "dtick": max(1, -(-int(high - low) // (FEW - 1)))}
    return _marker(values, low, high, title, ticks)


def _words(quantity: Quantity) -> Marker:
    count = len(quantity.words)
    steps = [(edge / count, SERIES[place % len(SERIES)]) for place in range(count) for edge in (place, place + 1)]
    ticks = {"tickvals": list(range(count)), "ticktext": list(quantity.words)}
    return _marker(quantity.values, -0.5, count - 0.5, quantity.name, ticks) | {"colorscale": steps}


def _marker(values: Floats, low: float, high: float, title: str, ticks: dict[str, Any]) -> Marker:
    bar = {
        "thickness": 8,
        "outlinewidth": 0,
        "len": 0.62,
        "x": 1.0,
        "xpad": 10,
        "tickfont": {"size": 11},
        "title": {"text": title, "font": {"size": 11}},
    }
    return {"color": packed(values), "colorscale": SCALE, "cmin": low, "cmax": high, "colorbar": bar | ticks}
