"""The map of the latent space: what is on it, and what a click on it does."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, Patch, State, ctx, dcc, html, no_update

from dvae.explorer import cards, graph_view, map_figure, map_marks, map_tools, places
from dvae.explorer.charts import Figure
from dvae.explorer.controls import aria_label, button, segments
from dvae.explorer.maps import FlatMap
from dvae.explorer.model import PageModel
from dvae.explorer.space import Space

OPTIONS: Any = {
    "displaylogo": False,
    "scrollZoom": True,
    "modeBarButtons": [["select2d", "lasso2d", "pan2d", "zoom2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
}
CLICK = "Click a point to see its DAG, or anywhere else to decode that spot."
DRAG = "Drag A and B to move the ends of the walk."
SPOKEN = (
    "Map of the latent space: the arrow keys move the decoded spot, with shift in larger steps; "
    "plus and minus zoom, 0 shows all"
)


def first_plane(space: Space) -> FlatMap:
    """The map that the page opens with."""
    return space.planes[-1] if len(space.sorted_scores) > 1 else space.planes[0]


def card(model: PageModel) -> html.Section:
    """The map with its choices above and below it."""
    space = model.space
    plane = first_plane(space)
    head = [
        html.H2("Map"),
        segments("plane", space.map_names, plane.name, "Axes of the map"),
        button("Gallery", "open-gallery", "Show what is selected or filtered as a gallery", "quiet small push"),
    ]
    frame = [
        dcc.Graph(id="map", figure=_first_figure(space, plane), config=OPTIONS, responsive=True, className="graph"),
        dcc.Tooltip(id="hover-card", direction="right", loading_text="", className="hover-card"),
        html.P(id="map-wait", className="map-wait", role="status", hidden=True),
    ]
    anchor = [
        html.Span("Other dimensions from", className="label"),
        html.Span("the mean", id="anchor-name", className="chip"),
        button("Reset", "anchor-reset", hidden=True),
    ]
    foot = [
        html.P(CLICK, id="map-hint", className="hint"),
        html.Div(anchor, className="anchor"),
        dcc.Checklist([{"label": "Only valid DAGs", "value": "enforce"}], [], id="enforce", className="check"),
    ]
    spoken = aria_label(SPOKEN)
    return html.Section(
        className="card map-card",
        children=[
            html.Div(head, className="card-head"),
            map_tools.row(model),
            html.Div(frame, id="map-frame", className="map-frame", tabIndex=0, role="application", **spoken),
            html.Div(foot, className="card-foot"),
        ],
        **aria_label("Map"),
    )


def connect(app: Dash, model: PageModel) -> None:
    """Clicks, marks and the card under the pointer."""
    map_tools.connect(app, model)

    @app.callback(
        Output("current", "data", allow_duplicate=True), Input("map-click", "data"), State("shown-plane", "data"),
        State("anchor", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def choose(click: Any, plane: Any, anchor: Any) -> Any:
        return places.to_json(model.click(click, plane, anchor))

    @app.callback(
        Output("anchor", "data"), Input("set-anchor", "n_clicks"), Input("anchor-reset", "n_clicks"),
        State("current", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def anchor(_: Any, __: Any, shown: Any) -> Any:
        return None if ctx.triggered_id == "anchor-reset" else places.to_json(model.place(shown))

    @app.callback(
        Output("anchor-name", "children"), Output("anchor-reset", "hidden"), Input("anchor", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def anchor_name(anchor: Any) -> Any:
        if anchor is None:
            return "the mean", True
        title = cards.title_of(model.find(anchor))
        return title[:1].lower() + title[1:], False

    @app.callback(
        Output("map", "figure"), Input("current", "data"), Input("enforce", "value"), Input("anchor", "data"),
        Input("walk-start", "data"), Input("walk-end", "data"), Input("shown-plane", "data"), Input("tab", "value"),
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
        Input("map-hover", "data"), State("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def hover(data: Any, direction: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("box"), dict):
            return False, no_update, no_update
        way = graph_view.direction_of(direction)
        if data.get("trial") is not None:
            study = model.study(data.get("study"))
            trial = model.scored_trial(data.get("study"), data["trial"])
            return True, data["box"], cards.proposal_card(model.space, study, trial, way)
        place = model.place({"known": data.get("known")})
        assert isinstance(place, places.Known)
        return True, data["box"], cards.hover_card(model.space, place.index, way)


def _first_figure(space: Space, plane: FlatMap) -> Figure:
    """The map as the page opens, with the mark on its first DAG: adding it later would draw all points twice."""
    figure = map_figure.map_figure(space, plane, "density")
    x, y = plane.project(space.latents[space.best][None])[0].tolist()
    figure["data"][map_figure.CURRENT] = map_marks.current_trace(x, y)
    return figure
