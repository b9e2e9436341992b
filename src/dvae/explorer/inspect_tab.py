"""The tab that shows one DAG: what is known of it, its drawing, its text, and edits."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update, set_props
from dash.exceptions import PreventUpdate

from dvae.dag import Label
from dvae.errors import DvaeError
from dvae.explorer import cards, comparison, graph_view, graph_window, history, places
from dvae.explorer.conditions import handles
from dvae.explorer.controls import button, download, export_menu, menu, pressed
from dvae.explorer.model import PageModel
from dvae.explorer.space import Space

NO_MESSAGE = "message"  # class of the line for errors while there is none
MAX_SEED = 2**31


def panel(space: Space) -> html.Div:
    """The parts of the tab."""
    types = [{"label": str(label), "value": label} for label in _labels(space)]
    head = [
        html.H2(id="title", className="grow"),
        button("Walk from here", "set-start"),
        button("Walk to here", "set-end"),
        button("Anchor here", "set-anchor", "Take the dimensions that the map does not show from this DAG"),
        comparison.compare_button(),
    ]
    edits = [
        html.Span("Node", className="label"),
        menu("node", "node"),
        html.Span("is", className="label"),
        menu("node-type", "type", options=types),
        html.Span("Edge", className="label push"),
        menu("edge-from", "from"),
        html.Span("→", className="label"),
        menu("edge-to", "to"),
        button("Toggle", "toggle", "Add this edge, or remove it"),
    ]
    hint = f"Type or paste {space.task.notation}"
    text = dcc.Textarea(id="text", className="text", maxLength=places.MAX_TEXT, spellCheck=False, title=hint)
    encode = button("Encode", "place", "Encode this DAG and show it on the map (Ctrl+Enter)", "primary")
    return html.Div(
        id="panel-Inspect",
        className="panel",
        children=[
            html.Div(head, className="row"),
            html.Div(id="facts", className="facts"),
            graph_window.framed("drawing"),
            *comparison.parts(),
            html.Div(edits, className="row edit-row"),
            *_condition_rows(space),
            html.Div(
                [text, html.Div([encode, export_menu("export", space.task)], className="text-buttons")],
                className="text-row",
            ),
            html.P(id="text-problem", className="problem", role="alert"),
            html.H3("Nearest known DAGs"),
            html.Div(id="nearest", className="strip"),
            *graph_window.stores(),
            *history.parts(),
        ],
    )


def _condition_rows(space: Space) -> list[html.Div]:
    """A slider for each condition of the model: what would this DAG be with another value?"""
    rows = []
    best = space.known.dags[space.best].properties
    for one in handles(space):
        slider = dcc.Slider(
            one.low, one.high, one.step, value=one.at(best), marks=None,
            id={"type": "condition", "index": one.name}, className="slider", tooltip={"placement": "top"},
        )  # fmt: skip
        name = html.Span(f"With {one.name}", className="label", title="What this DAG would be with another value")
        rows.append(html.Div([name, slider], className="row slider-row condition"))
    return rows


def connect(app: Dash, model: PageModel) -> None:
    """Everything that chooses, shows, edits or exports the page's DAG."""
    _connect_choices(app, model)
    _connect_edits(app, model)
    graph_window.connect(app, model)
    comparison.connect(app, model)
    history.connect(app)
    space = model.space

    @app.callback(
        Output("drawing", "elements"), Output("title", "children"), Output("facts", "children"),
        Output("text", "value"), Output("text-problem", "children", allow_duplicate=True),
        Output("nearest", "children"), Output("node", "options"), Output("edge-from", "options"),
        Output("edge-to", "options"), Output("node", "value", allow_duplicate=True),
        Output("edge-from", "value", allow_duplicate=True), Output("edge-to", "value", allow_duplicate=True),
        Output("message", "className", allow_duplicate=True),
        Input("current", "data"), Input("enforce", "value"), Input("direction", "data"),
        Input("compared", "data"), prevent_initial_call="initial_duplicate",
    )  # fmt: skip
    def show(shown: Any, enforce: Any, direction: Any, compared: Any) -> Any:
        finding = model.find(shown, enforce)
        dag = finding.dag
        for name, value in model.slider_values(finding.place).items():
            set_props({"type": "condition", "index": name}, {"value": value})
        nodes = [{"label": f"{node} {label}", "value": node} for node, label in enumerate(dag.types)]
        return (
            graph_window.elements_of(
                model, dag, comparison.difference_from(model, compared, shown, enforce), direction
            ),
            cards.title_of(finding),
            cards.facts(finding, space.task.can_score, space.draws),
            cards.dag_text(dag, space.task),
            "",
            cards.neighbour_cards(space, finding, graph_view.direction_of(direction)),
            nodes, nodes, nodes, None, None, None,
            NO_MESSAGE,
        )  # fmt: skip

    @app.callback(
        Output("download", "data"), Output("export", "value"), Input("export", "value"), State("current", "data"),
        State("enforce", "value"), State("direction", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def export(key: Any, shown: Any, enforce: Any, direction: Any) -> Any:
        if key is None:
            raise PreventUpdate
        return download(model.export_current(shown, key, enforce, direction)), None


def _connect_choices(app: Dash, model: PageModel) -> None:
    current = Output("current", "data", allow_duplicate=True)

    @app.callback(current, Input({"type": "go", "index": ALL}, "n_clicks"), prevent_initial_call=True)
    def neighbour(_: Any) -> Any:
        return places.to_json(model.place({"known": pressed()}))

    @app.callback(current, Input("go-best", "n_clicks"), prevent_initial_call=True)
    def best(_: Any) -> Any:
        return {"known": model.space.best}

    @app.callback(current, Input("go-random", "n_clicks"), prevent_initial_call=True)
    def random(clicks: Any) -> Any:
        seed = places.whole_number(clicks, 0, MAX_SEED, "the number of clicks")
        return places.to_json(model.space.random(seed))

    @app.callback(
        current, Input({"type": "condition", "index": ALL}, "value"), State("current", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def conditioned(_: Any, shown: Any) -> Any:
        if not ctx.triggered or not isinstance(ctx.triggered_id, dict):
            raise PreventUpdate
        place = model.slider_moved(shown, ctx.triggered_id.get("index"), ctx.triggered[0]["value"])
        return no_update if place is None else places.to_json(place)


def _connect_edits(app: Dash, model: PageModel) -> None:
    current = Output("current", "data", allow_duplicate=True)
    edited = Output("edited", "data", allow_duplicate=True)

    @app.callback(
        current, edited, Output("text-problem", "children"), Input("place", "n_clicks"), State("text", "value"),
        State("current", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def typed(_: Any, text: Any, shown: Any) -> Any:
        try:
            place = places.to_json(model.typed(text))
        except DvaeError as error:  # beside the text, not far away at the edge of the page
            return no_update, no_update, str(error)
        return place, history.edit(shown, place), ""

    @app.callback(
        current, edited, Input("node-type", "value"), State("node", "value"), State("current", "data"),
        State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def retyped(label: Any, node: Any, shown: Any, enforce: Any) -> Any:
        if node is None or label is None:
            raise PreventUpdate
        place = model.retyped(shown, node, label, enforce)
        if place is None:
            return no_update, no_update
        return places.to_json(place), history.edit(shown, places.to_json(place))

    @app.callback(
        current, edited, Input("toggle", "n_clicks"), State("edge-from", "value"), State("edge-to", "value"),
        State("current", "data"), State("enforce", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def toggled(_: Any, source: Any, target: Any, shown: Any, enforce: Any) -> Any:
        place = places.to_json(model.toggled(shown, source, target, enforce))
        return place, history.edit(shown, place)

    @app.callback(
        Output("node-type", "value"), Input("node", "value"), State("current", "data"), State("enforce", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def type_of(node: Any, shown: Any, enforce: Any) -> Any:
        if node is None:
            return None
        dag = model.find(shown, enforce).dag
        return dag.types[places.whole_number(node, 0, len(dag) - 1, "the number of a node")]


def _labels(space: Space) -> list[Label]:
    """The types that a user may give a node: not those of virtual ends."""
    task, example = space.task, space.known.dags[0]
    wrapped = task.wrap(example)
    virtual = {label for label in (wrapped.types[0], wrapped.types[-1]) if label not in example.types}
    return [label for label in task.vocabulary.labels if label not in virtual]
