"""The tab that walks from one DAG to another through the latent space."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, Patch, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dvae.explorer import cards, charts, graph_view, map_marks, places
from dvae.explorer.controls import aria_label, button, chart, download, drawing, pressed, segments
from dvae.explorer.map_figure import PATH_TRACE
from dvae.explorer.model import WALK_STEPS, PageModel
from dvae.explorer.space import Space
from dvae.explorer.walk_film import Scene, film_file, scenes
from dvae.explorer.walks import PATHS, latents_of
from dvae.figures import Direction


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
        button("Export film", "walk-film", "The walk as an animated SVG file", "quiet small push"),
        button("Inspect this DAG", "walk-inspect"),
    ]
    player = [
        button("▶", "play", kind="quiet icon", **aria_label("Play or pause")),
        dcc.Slider(1, WALK_STEPS, 1, value=1, id="step", marks=None, updatemode="drag", className="slider"),
    ]
    body = [
        html.Div(id="walk-facts", className="facts"),
        drawing("walk-drawing"),
        html.Div(key, className="hint row"),
        html.Div(player, className="row slider-row"),
        html.Div(id="film", className="film", tabIndex=0, role="group", **aria_label("The distinct DAGs of the walk")),
        chart("walk-chart", "chart-frame low"),
    ]
    return html.Div(
        id="panel-Walk",
        className="panel",
        hidden=True,
        children=[
            html.Div(ends, className="row ends"),
            html.Div(body, id="walk-body", className="fill"),
        ],
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
        Input("walk-start", "data"), Input("walk-end", "data"), Input("direction", "data"),
    )  # fmt: skip
    def end_cards(start: Any, end: Any, direction: Any) -> Any:
        way = graph_view.direction_of(direction)
        found = [None if place is None else model.find(place) for place in (start, end)]
        looks = ["quiet small" + ("" if place is None else " on") for place in (start, end)]
        return (
            cards.end_card(space, found[0], "A", way), cards.end_card(space, found[1], "B", way),
            start is None or end is None, *looks,
        )  # fmt: skip

    @app.callback(
        Output("walk-start", "data", allow_duplicate=True), Output("walk-end", "data", allow_duplicate=True),
        Input("map-drag", "data"), State("shown-plane", "data"), State("anchor", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def dragged(drag: Any, plane: Any, anchor: Any) -> Any:
        place = places.to_json(model.click(drag, plane, anchor))
        end = places.choice(drag.get("end"), ("A", "B"), "the end of the walk")
        return (place, no_update) if end == "A" else (no_update, place)

    @app.callback(
        Output("film", "children"), Input("walk-start", "data"), Input("walk-end", "data"), Input("path", "value"),
        Input("enforce", "value"), Input("tab", "value"), Input("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def strip(start: Any, end: Any, path: Any, enforce: Any, tab: Any, direction: Any) -> Any:
        if start is None or end is None or tab != "Walk":
            raise PreventUpdate
        way = graph_view.direction_of(direction)
        return [_frame(space, scene, way) for scene in scenes(model.walk(start, end, path, enforce, way).steps)]

    @app.callback(
        Output("step", "value", allow_duplicate=True), Input({"type": "frame", "index": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )  # fmt: skip
    def jump(_: Any) -> Any:
        return places.whole_number(pressed(), 1, WALK_STEPS, "the step")

    @app.callback(
        Output("download", "data", allow_duplicate=True), Input("walk-film", "n_clicks"), State("walk-start", "data"),
        State("walk-end", "data"), State("path", "value"), State("enforce", "value"),
        State("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def film(_: Any, start: Any, end: Any, path: Any, enforce: Any, direction: Any) -> Any:
        way = graph_view.direction_of(direction)
        return download(film_file(model.walk(start, end, path, enforce, way).steps, space.task, way))

    _connect_browser(app)

    @app.callback(
        Output("walk-drawing", "elements"), Output("walk-facts", "children"), Output("walk-chart", "figure"),
        Output("walk-chart-frame", "hidden"), Output("map", "figure", allow_duplicate=True),
        Input("step", "value"), Input("walk-start", "data"), Input("walk-end", "data"), Input("path", "value"),
        Input("enforce", "value"), Input("shown-plane", "data"), Input("tab", "value"), Input("direction", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def stand(step: Any, start: Any, end: Any, path: Any, enforce: Any, plane: Any, tab: Any, direction: Any) -> Any:
        patch = Patch()
        if start is None or end is None or tab != "Walk":
            patch["data"][PATH_TRACE] = map_marks.nothing()
            return no_update, no_update, no_update, no_update, patch
        walk = model.walk(start, end, path, enforce, direction)
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


def _connect_browser(app: Dash) -> None:
    """A click on the chart goes to that step; the frame of the step that is shown is marked."""
    app.clientside_callback(
        "function (click) { return click ? click.points[0].x : dash_clientside.no_update; }",
        Output("step", "value", allow_duplicate=True), Input("walk-chart", "clickData"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (step) { return explorerFilm(step); }",
        Output("film", "data-step"), Input("step", "value"), Input("film", "children"), prevent_initial_call=True,
    )  # fmt: skip


def _frame(space: Space, scene: Scene, way: Direction) -> html.Button:
    """One DAG of the film strip, to click."""
    score = (
        "not valid" if not scene.step.valid else "" if scene.step.score is None else cards.score_text(scene.step.score)
    )
    where = str(scene.first) if scene.first == scene.last else f"{scene.first}–{scene.last}"
    steps: dict[str, Any] = {"data-first": scene.first, "data-last": scene.last}
    return html.Button(
        id={"type": "frame", "index": scene.first},
        className="thumb",
        title=f"Go to step {scene.first}",
        children=[
            html.Img(src=graph_view.thumbnail(scene.step.dag, space.task, way), alt=f"the DAG of step {scene.first}"),
            html.Strong(score),
            html.Small(f"step {where}"),
        ],
        **steps,
    )
