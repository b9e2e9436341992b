"""The candidates of a search with several objectives as a chart: two of their values, and the front."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dvae.explorer.charts import Figure, across_chart, axis, plain_layout
from dvae.explorer.colours import INK
from dvae.explorer.fronts import FEASIBLE, INFEASIBLE, ON_FRONT, FrontView
from dvae.explorer.map_marks import Trace, scatter_type


def front_chart(view: FrontView, x: str, y: str, colour: str) -> Figure:
    """All candidates by two of their values: those that break a constraint, those that do not, and the front.

    With these two objectives and no other, a line bounds what the front dominates.
    """
    faint = {"color": INK, "size": 6, "symbol": "x-thin", "opacity": 0.7, "line": {"width": 1.4, "color": INK}}
    data = [
        _points(view, view.having(INFEASIBLE), x, y, INFEASIBLE, marker=faint),
        _points(view, view.having(FEASIBLE), x, y, FEASIBLE, marker={"color": colour, "size": 7, "opacity": 0.38}),
        _front(view, x, y, colour),
    ]
    shapes = [
        across_chart(side, each.bound, INK, "dash")
        for side, name in (("x", x), ("y", y))
        for each in view.objectives.constraints
        if each.name == name
    ]
    layout = {
        **plain_layout(),
        "margin": {"l": 56, "r": 10, "t": 26, "b": 40},
        "xaxis": {**axis(), "title": _title(view, x), "nticks": 7},
        "yaxis": {**axis(), "title": _title(view, y), "nticks": 5},
        "shapes": shapes,
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "font": {"size": 11}},
        "hovermode": "closest",
        "uirevision": f"{x} {y}",
    }
    return {"data": [trace for trace in data if trace["x"]], "layout": layout}


def _front(view: FrontView, x: str, y: str, colour: str) -> Trace:
    shown = sorted(view.front, key=lambda number: (view.values[number][x], view.values[number][y]))
    bounded = {x, y} == set(view.objectives.names)
    line = {"color": colour, "width": 1.4, "shape": "vh" if x in view.objectives.maximize else "hv"}
    marker = {"color": colour, "size": 10, "symbol": "diamond", "line": {"width": 1, "color": "#ffffff"}}
    look: dict[str, Any] = {"mode": "lines+markers", "line": line} if bounded else {}
    return {**_points(view, shown, x, y, ON_FRONT, marker=marker), **look, "type": "scatter"}  # above all others


def _points(view: FrontView, numbers: Iterable[int], x: str, y: str, name: str, *, marker: dict[str, Any]) -> Trace:
    shown = list(numbers)
    return {
        "type": scatter_type(len(shown)),
        "mode": "markers",
        "x": [view.values[number][x] for number in shown],
        "y": [view.values[number][y] for number in shown],
        "customdata": shown,
        "name": name,
        "marker": marker,
        "hoverinfo": "none",  # the page shows a card instead
    }


def _title(view: FrontView, name: str) -> dict[str, Any]:
    wish = "more is better" if name in view.objectives.maximize else "less is better"
    bounds = [f"{each.relation} {each.bound:g}" for each in view.objectives.constraints if each.name == name]
    words = ([wish] if name in view.objectives.names else []) + bounds
    text = f"{name} ({', '.join(words)})".replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text, "font": {"size": 11}, "standoff": 4}
