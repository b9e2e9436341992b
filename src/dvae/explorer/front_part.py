"""The part of the search tab that shows the front of a study with several objectives."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dvae.explorer import cards, graph_view, places
from dvae.explorer.colours import series_colour
from dvae.explorer.controls import chart, menu, segments
from dvae.explorer.front_chart import front_chart
from dvae.explorer.model import PageModel

FRONT, PROGRESS = "front", "progress"
VOLUME = "The hypervolume is what the front dominates, as a multiple of the box of the data's ranges"


def parts() -> list[Any]:
    """What is hidden until a study with several objectives is chosen."""
    axes = [
        menu("front-x", "across", "drop axis"),
        html.Span("and", className="label"),
        menu("front-y", "up", "drop axis"),
    ]
    choices = [
        segments("front-kind", [FRONT, PROGRESS], FRONT, "What the chart shows"),
        html.Div(axes, id="front-axes", className="row push", hidden=True),
    ]
    card = dcc.Tooltip(id="front-card", direction="right", loading_text="", className="hover-card")
    return [
        html.P(id="front-words", className="hint", title=VOLUME, hidden=True),
        html.Div(choices, id="front-row", className="row front-row", hidden=True),
        chart(FRONT, "chart-frame tall", card, clear_on_unhover=True),
    ]


def connect(app: Dash, model: PageModel) -> None:
    """The front of the chosen study as it grows, the card under the pointer, and clicks on a DAG."""

    @app.callback(
        Output("front-words", "children"), Output("front-words", "hidden"), Output("front-row", "hidden"),
        Output("front-axes", "hidden"), Output("front-frame", "hidden"), Output("progress-frame", "hidden"),
        Output("front", "figure"), Output("front-x", "options"), Output("front-y", "options"),
        Output("front-x", "value"), Output("front-y", "value"),
        Input("shown-trials", "data"), Input("front-kind", "value"), Input("front-x", "value"),
        Input("front-y", "value"), State("study", "value"),
    )  # fmt: skip
    def show(shown: Any, kind: Any, x: Any, y: Any, number: Any) -> Any:
        if shown is None:
            return *[no_update] * 4, True, *[no_update] * 6
        view = model.study(number).front
        if view is None:
            return "", True, True, True, True, False, *[no_update] * 5
        pair = view.pair(x, y)
        words = f"{view.objectives.words()}: {view.words}"
        words = words[:1].upper() + words[1:]
        if pair is None:
            return words, False, True, True, True, False, *[no_update] * 5
        in_front = places.choice(kind, (FRONT, PROGRESS), "the chart") == FRONT
        options = [[{"label": name, "value": name} for name in view.axes if name != other] for other in pair[::-1]]
        return (
            words, False, False, len(view.axes) == 2 or not in_front, not in_front, in_front,
            front_chart(view, *pair, series_colour(number)), *options, *pair,
        )  # fmt: skip

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Output("front", "clickData"), Input("front", "clickData"), State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(click: Any, study: Any) -> Any:
        point = _point(click)
        if point is None:
            raise PreventUpdate
        return places.to_json(model.trial(study, point.get("customdata"))), "Inspect", None

    @app.callback(
        Output("front-card", "show"), Output("front-card", "bbox"), Output("front-card", "direction"),
        Output("front-card", "children"), Input("front", "hoverData"), Input("tab", "value"), State("study", "value"),
        State("front-x", "value"), State("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def hover(data: Any, tab: Any, study: Any, x: Any, direction: Any) -> Any:
        point = _point(data)
        if point is None or tab != "Search" or not isinstance(point.get("bbox"), dict):
            return False, *[no_update] * 3
        trial, snapshot = model.scored_trial(study, point.get("customdata")), model.study(study)
        side = "left" if snapshot.front and snapshot.front.is_high(trial.number, x) else "right"
        way = graph_view.direction_of(direction)
        return True, point["bbox"], side, cards.front_card(model.space, snapshot, trial, way)


def _point(data: Any) -> dict[str, Any] | None:
    """The candidate under the pointer, as plotly describes it."""
    points = data.get("points") if isinstance(data, dict) else None
    return points[0] if isinstance(points, list) and points and isinstance(points[0], dict) else None
