"""What is marked on the map: the page's DAG, a walk, a grid, the proposals of a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from dvae.explorer.colours import ACCENT, PATH

Trace = dict[str, Any]

MANY = 2_000  # points that SVG is too slow for


def nothing() -> Trace:
    """A trace that shows nothing, to keep a position."""
    return _trace([], [])


def proposals_trace(
    places: Tensor, *best: int | None, numbers: Sequence[int] = (), study: int = 0, newest: int | None = None
) -> Trace:
    """What a study has scored, the later the stronger, and a star on the best, or on all of a front.

    `numbers` are those of the trials, for the page to ask for them; `newest` is marked, where a search is replayed.
    """
    xs, ys = places[:, 0].tolist(), places[:, 1].tolist()
    count, called = len(xs), list(numbers)
    opacities = [round(0.35 + 0.6 * (number + 1) / count, 3) for number in range(count)]
    sizes, symbols, fills = [8.0] * count, ["circle-open"] * count, [ACCENT] * count
    if newest is not None and count:
        sizes[newest], symbols[newest], opacities[newest] = 14.0, "circle", 1.0
    for number in (each for each in best if each is not None):  # once more, on top of all others
        xs, ys, opacities = [*xs, xs[number]], [*ys, ys[number]], [*opacities, 1.0]
        sizes, symbols, fills = [*sizes, 20.0], [*symbols, "star"], [*fills, "#ffffff"]
        called += [called[number]] if called else []
    marker = {"size": sizes, "symbol": symbols, "color": fills, "opacity": opacities}
    marker |= {"line": {"width": 1.6, "color": ACCENT}}
    return _trace(xs, ys, marker=marker, customdata=called, meta={"study": study})


def path_trace(places: Tensor, here: int) -> Trace:
    """A walk, with a dot at the step `here`."""
    sizes = [5.0] * len(places)
    if 0 <= here < len(sizes):
        sizes[here] = 13.0
    marker = {"size": sizes, "color": PATH, "line": {"width": 0}}
    line = {"color": PATH, "width": 2}
    return _trace(places[:, 0].tolist(), places[:, 1].tolist(), mode="lines+markers", line=line, marker=marker)


def grid_trace(places: Tensor) -> Trace:
    """Where the DAGs of a neighbourhood lie."""
    marker = {"size": 9, "symbol": "square-open", "color": PATH, "line": {"width": 1.6, "color": PATH}}
    return _trace(places[:, 0].tolist(), places[:, 1].tolist(), marker=marker)


def marks_trace(marks: Sequence[tuple[str, float, float]]) -> Trace:
    """Named places: the ends of a walk, the anchor."""
    return _trace(
        [x for _, x, _ in marks],
        [y for _, _, y in marks],
        mode="markers+text",
        text=[name for name, _, _ in marks],
        textposition="top center",
        textfont={"color": PATH, "size": 15},
        cliponaxis=False,  # a name at the edge of the map is readable, too
        marker={"size": 10, "symbol": "diamond", "color": PATH},
    )


def current_trace(x: float, y: float) -> Trace:
    """Where the page's DAG is: a ring with a dot, visible on any background."""
    colours = ["#ffffff", ACCENT, ACCENT]
    marker = {"size": [22, 19, 6], "symbol": ["circle-open", "circle-open", "circle"], "color": colours, "opacity": 1}
    marker |= {"line": {"width": 2.4, "color": colours}}
    return _trace([x] * 3, [y] * 3, marker=marker, unselected={"marker": {"opacity": 1}})


def _trace(xs: list[float], ys: list[float], *, mode: str = "markers", **look: Any) -> Trace:
    kind = scatter_type(len(xs))
    return {"type": kind, "mode": mode, "x": xs, "y": ys, **look, "hoverinfo": "skip", "showlegend": False}


def scatter_type(count: int) -> str:
    """How plotly draws points: WebGL is slow to begin, and pays only for many of them."""
    return "scattergl" if count > MANY else "scatter"
