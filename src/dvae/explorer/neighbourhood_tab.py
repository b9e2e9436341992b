"""The tab that shows what the model decodes around a DAG."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, Patch, State, dcc, html, no_update

from dvae.explorer import cards, graph_view, map_marks, places
from dvae.explorer.controls import pressed, segments
from dvae.explorer.map_figure import GRID
from dvae.explorer.model import PageModel
from dvae.explorer.walks import latents_of

SIDES = (3, 5, 7)


def panel() -> html.Div:
    """The parts of the tab."""
    choices = [
        html.Span("Size of the grid", className="label"),
        segments("side", [str(side) for side in SIDES], "5", "Size of the grid"),
        html.Span("Reach", className="label push"),
        dcc.Slider(0.1, 3, 0.1, value=1, id="reach", marks=None, className="slider reach"),
    ]
    hint = (
        "DAGs decoded on a grid around the DAG under Inspect, along the two axes of the map. The reach is the distance "
        "to the edge of the grid in standard deviations. Click a DAG to inspect it."
    )
    return html.Div(
        id="panel-Neighbourhood",
        className="panel",
        hidden=True,
        children=[
            html.Div(choices, className="row"),
            html.P(hint, className="hint"),
            html.Div(id="grid", className="grid"),
        ],
    )


def connect(app: Dash, model: PageModel) -> None:
    """The grid, and what a click on one of its DAGs does."""
    controls = (Input("side", "value"), Input("reach", "value"))
    states = tuple(State(control.component_id, control.component_property) for control in controls)

    @app.callback(
        Output("grid", "children"), Output("grid", "style"), Output("map", "figure", allow_duplicate=True),
        Input("current", "data"), Input("shown-plane", "data"), Input("enforce", "value"), Input("tab", "value"),
        *controls, Input("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def square(shown: Any, plane: Any, enforce: Any, tab: Any, side: Any, reach: Any, direction: Any) -> Any:
        patch = Patch()
        if tab != "Neighbourhood":
            patch["data"][GRID] = map_marks.nothing()
            return no_update, no_update, patch
        steps = model.grid(shown, plane, side, reach, enforce)
        across = round(len(steps) ** 0.5)
        patch["data"][GRID] = map_marks.grid_trace(model.plane(plane).project(latents_of(steps)))
        cells = cards.grid_cells(model.space, steps, graph_view.direction_of(direction))
        return cells, {"--side": across}, patch

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "cell", "index": ALL}, "n_clicks"), State("current", "data"), State("shown-plane", "data"),
        State("enforce", "value"), *states, prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, shown: Any, plane: Any, enforce: Any, side: Any, reach: Any) -> Any:
        steps = model.grid(shown, plane, side, reach, enforce)
        number = places.whole_number(pressed(), 0, len(steps) - 1, "the cell")
        return places.to_json(steps[number].place), "Inspect"
