"""What happens when something on the page changes: one call of the model, one line of layout."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, Patch, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from dvae.errors import DvaeError
from dvae.explorer import charts, graph_view, layout, pieces, places, reading
from dvae.explorer.model import PageModel
from dvae.explorer.space import Finding
from dvae.explorer.walks import latents_of

PLAIN = "message"  # class of the line for errors while there is none
LARGEST_SEED = 2**31


def connect(app: Dash, model: PageModel) -> None:
    """Registers everything the page does."""
    _choosing(app, model)
    _editing(app, model)
    _showing(app, model)
    _mapping(app, model)
    _walking(app, model)
    _neighbours(app, model)
    _exporting(app, model)
    if model.studies:
        _searching(app, model)
    _in_the_browser(app)


def _choosing(app: Dash, model: PageModel) -> None:
    current = Output("current", "data", allow_duplicate=True)

    @app.callback(
        current, Input("map-click", "data"), State("plane", "value"), State("anchor", "data"), prevent_initial_call=True
    )
    def from_map(click: Any, plane: Any, anchor: Any) -> Any:
        return places.to_json(model.click(click, plane, anchor))

    @app.callback(current, Input({"type": "go", "index": ALL}, "n_clicks"), prevent_initial_call=True)
    def from_neighbour(_: Any) -> Any:
        return places.to_json(model.place({"known": _pressed()}))

    @app.callback(current, Input("go-best", "n_clicks"), prevent_initial_call=True)
    def best(_: Any) -> Any:
        return {"known": model.space.best}

    @app.callback(current, Input("go-random", "n_clicks"), prevent_initial_call=True)
    def random(clicks: Any) -> Any:
        seed = places.whole_number(clicks, 0, LARGEST_SEED, "the number of clicks")
        return places.to_json(model.space.random(seed))

    @app.callback(
        Output("anchor", "data"),
        Output("anchor-name", "children"),
        Output("anchor-reset", "hidden"),
        Input("set-anchor", "n_clicks"),
        Input("anchor-reset", "n_clicks"),
        State("current", "data"),
        prevent_initial_call=True,
    )
    def anchor(_: Any, __: Any, shown: Any) -> Any:
        if ctx.triggered_id == "anchor-reset":
            return None, "the mean", True
        finding = model.find(shown)
        return places.to_json(finding.place), pieces.title_of(finding).lower().replace("dag", "DAG"), False


def _editing(app: Dash, model: PageModel) -> None:
    current = Output("current", "data", allow_duplicate=True)

    @app.callback(
        current, Output("text-problem", "children"), Input("place", "n_clicks"), State("text", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def typed(_: Any, text: Any) -> Any:
        try:
            return places.to_json(model.typed(text)), ""
        except DvaeError as error:  # beside the text, not far away at the edge of the page
            return no_update, str(error)

    @app.callback(
        current, Input("node-type", "value"), State("node", "value"), State("current", "data"),
        State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def retyped(label: Any, node: Any, shown: Any, enforce: Any) -> Any:
        if node is None or label is None:
            raise PreventUpdate
        place = model.retyped(shown, node, label, enforce)
        return no_update if place is None else places.to_json(place)

    @app.callback(
        current, Input("toggle", "n_clicks"), State("edge-from", "value"), State("edge-to", "value"),
        State("current", "data"), State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def toggled(_: Any, source: Any, target: Any, shown: Any, enforce: Any) -> Any:
        return places.to_json(model.toggled(shown, source, target, enforce))

    @app.callback(
        Output("node-type", "value"), Input("node", "value"), State("current", "data"), State("enforce", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def type_of(node: Any, shown: Any, enforce: Any) -> Any:
        if node is None:
            return None
        dag = model.find(shown, enforce).dag
        return dag.types[places.whole_number(node, 0, len(dag) - 1, "the number of a node")]


def _showing(app: Dash, model: PageModel) -> None:
    space = model.space

    @app.callback(
        Output("drawing", "elements"), Output("title", "children"), Output("facts", "children"),
        Output("text", "value"), Output("text-problem", "children", allow_duplicate=True),
        Output("nearest", "children"), Output("node", "options"), Output("edge-from", "options"),
        Output("edge-to", "options"), Output("node", "value", allow_duplicate=True),
        Output("edge-from", "value", allow_duplicate=True), Output("edge-to", "value", allow_duplicate=True),
        Output("message", "className", allow_duplicate=True),
        Input("current", "data"), Input("enforce", "value"), prevent_initial_call="initial_duplicate",
    )  # fmt: skip
    def show(shown: Any, enforce: Any) -> Any:
        finding = model.find(shown, enforce)
        dag = finding.dag
        nodes = [{"label": f"{node} {label}", "value": node} for node, label in enumerate(dag.types)]
        return (
            graph_view.elements(dag, model.style, space.task),
            pieces.title_of(finding),
            pieces.facts(finding, space.scores_instantly),
            reading.write_text(dag, space.task),
            "",
            pieces.neighbour_cards(space, finding),
            nodes, nodes, nodes, None, None, None,
            PLAIN,
        )  # fmt: skip


def _mapping(app: Dash, model: PageModel) -> None:
    space = model.space

    @app.callback(
        Output("map", "figure", allow_duplicate=True), Input("plane", "value"), Input("underlay", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def ground(plane: Any, underlay: Any) -> Any:
        kind = places.choice(underlay, charts.UNDERLAYS, "what lies under the points")
        figure = charts.map_figure(space, model.plane(plane), kind)
        patch = Patch()
        for trace in (charts.UNDERLAY, charts.POINTS):
            patch["data"][trace] = figure["data"][trace]
        patch["layout"] = figure["layout"]
        return patch

    @app.callback(
        Output("map", "figure"), Input("current", "data"), Input("enforce", "value"), Input("anchor", "data"),
        Input("walk-start", "data"), Input("walk-end", "data"), Input("plane", "value"), Input("tab", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def marks(shown: Any, enforce: Any, anchor: Any, start: Any, end: Any, plane: Any, tab: Any) -> Any:
        ground = model.plane(plane)
        named = [("A", start), ("B", end)] if tab == "Walk" else []
        found = [(name, *model.at(ground, model.find(place).latent)) for name, place in named if place is not None]
        if anchor is not None:
            found.append(("anchor", *model.at(ground, model.find(anchor).latent)))
        patch = Patch()
        patch["data"][charts.MARKS] = charts.marks_trace(found)
        patch["data"][charts.CURRENT] = charts.current_trace(*model.at(ground, model.find(shown, enforce).latent))
        return patch

    @app.callback(
        Output("hover-card", "show"), Output("hover-card", "bbox"), Output("hover-card", "children"),
        Input("map", "hoverData"), prevent_initial_call=True,
    )  # fmt: skip
    def hover(data: Any) -> Any:
        point = _point(data)
        if point is None:
            return False, no_update, no_update
        place = model.place({"known": point.get("pointNumber")})
        if not isinstance(place, places.Known) or not isinstance(point.get("bbox"), dict):
            return False, no_update, no_update
        return True, point["bbox"], pieces.hover_card(space, place.index)


def _walking(app: Dash, model: PageModel) -> None:
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
    def cards(start: Any, end: Any) -> Any:
        found: list[Finding | None] = [None if place is None else model.find(place) for place in (start, end)]
        looks = ["quiet small" + ("" if place is None else " on") for place in (start, end)]
        return (
            pieces.end_card(space, found[0], "A"), pieces.end_card(space, found[1], "B"),
            start is None or end is None, *looks,
        )  # fmt: skip

    @app.callback(
        Output("walk-drawing", "elements"), Output("walk-facts", "children"), Output("walk-chart", "figure"),
        Output("walk-chart-frame", "hidden"), Output("map", "figure", allow_duplicate=True),
        Input("step", "value"), Input("walk-start", "data"), Input("walk-end", "data"), Input("path", "value"),
        Input("enforce", "value"), Input("plane", "value"), Input("tab", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def stand(step: Any, start: Any, end: Any, path: Any, enforce: Any, plane: Any, tab: Any) -> Any:
        patch = Patch()
        if start is None or end is None or tab != "Walk":
            patch["data"][charts.PATH_TRACE] = charts.nothing()
            return no_update, no_update, no_update, no_update, patch
        walk = model.walk(start, end, path, enforce)
        here = places.whole_number(step, 0, len(walk.steps) - 1, "the step")
        latents = latents_of(walk.steps)
        patch["data"][charts.PATH_TRACE] = charts.path_trace(model.plane(plane).project(latents), here)
        at = walk.steps[here]
        return (
            walk.pictures[here],
            pieces.step_facts(at, here, len(walk.steps), len(walk.changes[here]), space.rank_of(at.score)),
            charts.walk_chart([item.score for item in walk.steps], here),
            all(item.score is None for item in walk.steps),
            patch,
        )

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input("walk-inspect", "n_clicks"), State("step", "value"), State("walk-start", "data"),
        State("walk-end", "data"), State("path", "value"), State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, step: Any, start: Any, end: Any, path: Any, enforce: Any) -> Any:
        walk = model.walk(start, end, path, enforce)
        here = places.whole_number(step, 0, len(walk.steps) - 1, "the step")
        return places.to_json(walk.steps[here].place), "Inspect"


def _neighbours(app: Dash, model: PageModel) -> None:
    controls = (Input("side", "value"), Input("reach", "value"))
    states = tuple(State(control.component_id, control.component_property) for control in controls)

    @app.callback(
        Output("grid", "children"), Output("grid", "style"), Output("map", "figure", allow_duplicate=True),
        Input("current", "data"), Input("plane", "value"), Input("enforce", "value"), Input("tab", "value"), *controls,
        prevent_initial_call=True,
    )  # fmt: skip
    def square(shown: Any, plane: Any, enforce: Any, tab: Any, side: Any, reach: Any) -> Any:
        patch = Patch()
        if tab != "Neighbourhood":
            patch["data"][charts.GRID] = charts.nothing()
            return no_update, no_update, patch
        steps = model.grid(shown, plane, side, reach, enforce)
        across = round(len(steps) ** 0.5)
        latents = latents_of(steps)
        patch["data"][charts.GRID] = charts.grid_trace(model.plane(plane).project(latents))
        return pieces.grid_cells(model.space, steps), {"--side": across}, patch

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "cell", "index": ALL}, "n_clicks"), State("current", "data"), State("plane", "value"),
        State("enforce", "value"), *states, prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, shown: Any, plane: Any, enforce: Any, side: Any, reach: Any) -> Any:
        steps = model.grid(shown, plane, side, reach, enforce)
        number = places.whole_number(_pressed(), 0, len(steps) - 1, "the cell")
        return places.to_json(steps[number].place), "Inspect"


def _exporting(app: Dash, model: PageModel) -> None:
    @app.callback(
        Output("download", "data"), Output("export", "value"), Input("export", "value"), State("current", "data"),
        State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def current(key: Any, shown: Any, enforce: Any) -> Any:
        if key is None:
            raise PreventUpdate
        return _file(model.export_current(shown, key, enforce)), None


def _searching(app: Dash, model: PageModel) -> None:
    space = model.space
    ticks = State({"type": "tick", "index": ALL}, "value")

    @app.callback(
        Output("study-words", "children"), Output("study-problem", "children"), Output("progress", "figure"),
        Output("top", "children"), Output("map", "figure", allow_duplicate=True), Output("shown-trials", "data"),
        Input("clock", "n_intervals"), Input("study", "value"), Input("tab", "value"), Input("plane", "value"),
        State("shown-trials", "data"), ticks, prevent_initial_call=True,
        # A tick while the answer is under way would throw that answer away, and a slow one would never come.
        running=[(Output("clock", "disabled"), True, False)],
    )  # fmt: skip
    def follow(_: Any, number: Any, tab: Any, plane: Any, before: Any, ticked: Any) -> Any:
        patch = Patch()
        if tab != "Search":
            if before is None:
                raise PreventUpdate
            patch["data"][charts.PROPOSALS] = charts.nothing()
            return no_update, no_update, no_update, no_update, patch, None
        try:
            study = model.study(number)
        except DvaeError as error:  # a search that is not there yet, or is moving: the page goes on asking
            return no_update, str(error), no_update, no_update, no_update, no_update
        now = [number, len(study.scored), study.words, plane]
        if now == before:
            raise PreventUpdate
        latents = model.trial_latents(number)
        numbers = [trial.number for trial in study.scored]
        best = numbers.index(study.top[0].number) if study.top and len(numbers) == len(latents) else None
        patch["data"][charts.PROPOSALS] = charts.proposals_trace(model.plane(plane).project(latents), best)
        return (
            study.words,
            f"The newest failure: {study.problem}" if study.problem else "",
            charts.progress_chart(study, model.others(number), model.baselines),
            pieces.top_rows(space, study, set(_ticked(ticked))),
            patch,
            now,
        )

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "trial", "index": ALL}, "n_clicks"), State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, study: Any) -> Any:
        return places.to_json(model.trial(study, _pressed())), "Inspect"

    @app.callback(
        Output("download", "data", allow_duplicate=True), Output("export-top", "value"),
        Input("export-top", "value"), ticks, State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def chosen(key: Any, ticked: Any, study: Any) -> Any:
        if key is None:
            raise PreventUpdate
        return _file(model.export_trials(study, _ticked(ticked), key)), None


def _in_the_browser(app: Dash) -> None:
    """What needs no server; the functions are in page.html."""
    panels = [Output(f"panel-{tab}", "hidden") for tab in layout.TABS]
    app.clientside_callback("function (tab) { return explorer.panels(tab); }", *panels, Input("tab", "value"))
    app.clientside_callback(
        "function () { return explorer.drawn(); }",
        Output("wired", "data"), Input("drawing", "elements"), Input("walk-drawing", "elements"),
    )  # fmt: skip
    app.clientside_callback(
        "function (tap, edge, node) { return explorer.tapped(tap, edge, node); }",
        Output("node", "value"), Output("edge-from", "value"), Output("edge-to", "value"),
        Input("drawing", "tapNode"), Input("drawing", "tapEdge"), State("node", "value"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (clicks, running) { return [!running, running ? '❚❚' : '▶']; }",
        Output("player", "disabled"), Output("play", "children"),
        Input("play", "n_clicks"), State("player", "disabled"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (tick, step, last) { return step >= last ? 0 : step + 1; }",
        Output("step", "value"), Input("player", "n_intervals"), State("step", "value"), State("step", "max"),
        prevent_initial_call=True,
    )  # fmt: skip


def _pressed() -> Any:
    """The index of the button that was pressed; buttons that merely appeared were not."""
    if not ctx.triggered or not ctx.triggered[0]["value"] or not isinstance(ctx.triggered_id, dict):
        raise PreventUpdate
    return ctx.triggered_id.get("index")


def _ticked(values: Any) -> list[int]:
    """The numbers in all boxes that are ticked."""
    boxes = values if isinstance(values, list) else []
    return [number for box in boxes if isinstance(box, list) for number in box if isinstance(number, int)]


def _point(data: Any) -> dict[str, Any] | None:
    """The known DAG under the pointer, in what plotly tells of it."""
    points = data.get("points") if isinstance(data, dict) else None
    if not isinstance(points, list) or not points or not isinstance(points[0], dict):
        return None
    return points[0] if points[0].get("curveNumber") == charts.POINTS else None


def _file(export: Any) -> dict[str, Any]:
    return {"filename": export.name, "content": export.text, "type": "text/plain", "base64": False}


def error_line(text: str) -> list[Any]:
    """What the page shows of an error."""
    close: dict[str, Any] = {"data-close": "message"}
    return [html.Span(text), html.Button("Close", className="quiet small", **close)]
