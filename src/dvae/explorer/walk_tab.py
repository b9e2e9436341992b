"""The tab that walks from one DAG to another through the latent space."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, Patch, State, ctx, dcc, html, no_update

from dvae.explorer import cards, charts, map_marks, places
from dvae.explorer.controls import aria_label, button, chart, drawing, segments
from dvae.explorer.map_figure import PATH_TRACE
from dvae.explorer.model import WALK_STEPS, PageModel
from dvae.explorer.walks import PATHS, latents_of


def panel() -> html.Div:
    """The parts of the tab."""
    between = [segments("path", list(PATHS), PATHS[0], "Path between the two DAGs"), button("Swap", "swap")]
    ends = [
        html.Div(id="start-card", className="end-card"),
        html.Div(between, className="between"),
        html.Div(id="end-card", className="end-card"),
    ]
    key = [
        html.Span("added", className="key added"),
        html.Span("removed", className="key removed"),
        html.Span("since the previous step"),
        button("Inspect this DAG", "walk-inspect", kind="quiet small push"),
    ]
    player = [
        button("▶", "play", kind="quiet icon", **aria_label("Play or pause")),
        dcc.Slider(1, WALK_STEPS, 1, value=1, id="step", marks=None, updatemode="drag", className="slider"),
    ]
    body = [
        html.Div(id="walk-facts", className="facts"),
        drawing("walk-drawing"),
        html.P(key, className="hint row"),
        html.Div(player, className="row slider-row"),
        chart("walk-chart", "chart-frame low"),
    ]
    return html.Div(
        id="panel-Walk",
        className="panel",
        hidden=True,
        children=[html.Div(ends, className="row ends"), html.Div(body, id="walk-body", className="fill")],
    )


def connect(app: Dash, model: PageModel) -> None:
    """The ends of a walk and the step that is shown."""
    space = model.space

    @app.callback(
        Output("walk-start", "data"), Output("walk-end", "data"), Output("tab", "value", allow_duplicate=True),
        Input("set-start", "n_clicks"), Input("set-end", "n_clicks"), Input("swap", "n_clicks"),
        State("current", "data"), State("walk-start", "data"), State("walk-end", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def ends(_: Any, __: Any, ___: Any, shown: Any, start: Any, end: Any) -> Any:
        if ctx.triggered_id == "swap":
            return end, start, no_update
        here = places.to_json(model.place(shown))
        if ctx.triggered_id == "set-start":
            return here, end, no_update if end is None else "Walk"
        return start, here, no_update if start is None else "Walk"

    @app.callback(
        Output("start-card", "children"), Output("end-card", "children"), Output("walk-body", "hidden"),
        Output("set-start", "className"), Output("set-end", "className"),
        Input("walk-start", "data"), Input("walk-end", "data"),
    )  # fmt: skip
    def end_cards(start: Any, end: Any) -> Any:
        found = [None if place is None else model.find(place) for place in (start, end)]
        looks = ["quiet small" + ("" if place is None else " on") for place in (start, end)]
        return (
            cards.end_card(space, found[0], "A"), cards.end_card(space, found[1], "B"),
            start is None or end is None, *looks,
        )  # fmt: skip

    @app.callback(
        Output("walk-drawing", "elements"), Output("walk-facts", "children"), Output("walk-chart", "figure"),
        Output("walk-chart-frame", "hidden"), Output("map", "figure", allow_duplicate=True),
        Input("step", "value"), Input("walk-start", "data"), Input("walk-end", "data"), Input("path", "value"),
        Input("enforce", "value"), Input("shown-plane", "data"), Input("tab", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def stand(step: Any, start: Any, end: Any, path: Any, enforce: Any, plane: Any, tab: Any) -> Any:
        patch = Patch()
        if start is None or end is None or tab != "Walk":
            patch["data"][PATH_TRACE] = map_marks.nothing()
            return no_update, no_update, no_update, no_update, patch
        walk = model.walk(start, end, path, enforce)
        here = places.whole_number(step, 1, len(walk.steps), "the step") - 1
        latents = latents_of(walk.steps)
        patch["data"][PATH_TRACE] = map_marks.path_trace(model.plane(plane).project(latents), here)
        scores = [item.score for item in walk.steps]
        return (
            walk.pictures[here],
            cards.step_facts(space, walk.steps[here], here, len(walk.steps), len(walk.changes[here])),
            charts.walk_chart(scores, here),
            all(score is None for score in scores),
            patch,
        )

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input("walk-inspect", "n_clicks"), State("step", "value"), State("walk-start", "data"),
        State("walk-end", "data"), State("path", "value"), State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, step: Any, start: Any, end: Any, path: Any, enforce: Any) -> Any:
        walk = model.walk(start, end, path, enforce)
        here = places.whole_number(step, 1, len(walk.steps), "the step") - 1
        return places.to_json(walk.steps[here].place), "Inspect"
