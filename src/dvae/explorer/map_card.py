"""The map of the latent space: what is on it, and what a click on it does."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, Patch, State, ctx, dcc, html, no_update

from dvae.explorer import cards, map_figure, map_marks, places
from dvae.explorer.charts import Figure
from dvae.explorer.controls import aria_label, button, segments
from dvae.explorer.maps import FlatMap
from dvae.explorer.model import PageModel
from dvae.explorer.space import Space

OPTIONS: Any = {
    "displaylogo": False,
    "scrollZoom": True,
    "modeBarButtons": [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    "plotGlPixelRatio": 1.5,
}


def card(space: Space) -> html.Section:
    """The map with its choices above and below it."""
    scored = len(space.sorted_scores) > 1
    plane = space.planes[-1] if scored else space.planes[0]
    backgrounds = [kind for kind in map_figure.BACKGROUNDS if scored or kind != "score"]
    background = segments("background", backgrounds, "density", "Background of the map")
    head = [
        html.H2("Map"),
        segments("plane", space.map_names, plane.name, "Axes of the map"),
        html.Div([html.Span("Background", className="label"), background], className="row push"),
    ]
    frame = [
        dcc.Graph(
            id="map",
            figure=_first_figure(space, plane),
            config=OPTIONS,
            clear_on_unhover=True,
            responsive=True,
            className="graph",
        ),
        dcc.Tooltip(id="hover-card", direction="right", loading_text="", className="hover-card"),
    ]
    anchor = [
        html.Span("Other dimensions from", className="label"),
        html.Span("the mean", id="anchor-name", className="chip"),
        button("Reset", "anchor-reset", hidden=True),
    ]
    foot = [
        html.P("Click a point to see its DAG, or anywhere else to decode that spot.", className="hint"),
        html.Div(anchor, className="anchor"),
        dcc.Checklist([{"label": "Only valid DAGs", "value": "enforce"}], [], id="enforce", className="check"),
    ]
    spoken = aria_label("Map of the latent space: the arrow keys move the decoded spot, with shift in larger steps")
    return html.Section(
        className="card map-card",
        children=[
            html.Div(head, className="card-head"),
            html.Div(frame, id="map-frame", className="map-frame", tabIndex=0, role="application", **spoken),
            html.Div(foot, className="card-foot"),
        ],
    )


def connect(app: Dash, model: PageModel) -> None:
    """Clicks, marks, background and the card under the pointer."""
    space = model.space

    @app.callback(
        Output("current", "data", allow_duplicate=True), Input("map-click", "data"), State("plane", "value"),
        State("anchor", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def choose(click: Any, plane: Any, anchor: Any) -> Any:
        return places.to_json(model.click(click, plane, anchor))

    @app.callback(
        Output("anchor", "data"), Output("anchor-name", "children"), Output("anchor-reset", "hidden"),
        Input("set-anchor", "n_clicks"), Input("anchor-reset", "n_clicks"), State("current", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def anchor(_: Any, __: Any, shown: Any) -> Any:
        if ctx.triggered_id == "anchor-reset":
            return None, "the mean", True
        finding = model.find(shown)
        return places.to_json(finding.place), cards.title_of(finding).lower().replace("dag", "DAG"), False

    @app.callback(
        Output("map", "figure", allow_duplicate=True), Input("plane", "value"), Input("background", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def ground(plane: Any, background: Any) -> Any:
        kind = places.choice(background, map_figure.BACKGROUNDS, "the background")
        figure = map_figure.map_figure(space, model.plane(plane), kind)
        patch = Patch()
        for trace in (map_figure.BACKGROUND, map_figure.POINTS):
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
        patch["data"][map_figure.MARKS] = map_marks.marks_trace(found)
        here = model.at(ground, model.find(shown, enforce).latent)
        patch["data"][map_figure.CURRENT] = map_marks.current_trace(*here)
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
        return True, point["bbox"], cards.hover_card(space, place.index)


def _first_figure(space: Space, plane: FlatMap) -> Figure:
    """The map as the page opens, with the mark on its first DAG: adding it later would draw all points twice."""
    figure = map_figure.map_figure(space, plane, "density")
    x, y = plane.project(space.latents[space.best][None])[0].tolist()
    figure["data"][map_figure.CURRENT] = map_marks.current_trace(x, y)
    return figure


def _point(data: Any) -> dict[str, Any] | None:
    """The known DAG under the pointer, as plotly describes it."""
    points = data.get("points") if isinstance(data, dict) else None
    if not isinstance(points, list) or not points or not isinstance(points[0], dict):
        return None
    return points[0] if points[0].get("curveNumber") == map_figure.POINTS else None
