"""The page on a Bayesian network: its drawing, what follows from evidence, and the parameters of a variable."""

from __future__ import annotations

from itertools import islice
from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html
from dash.exceptions import PreventUpdate

from dvae.bayesnet import Belief, StateShares
from dvae.errors import DvaeError
from dvae.explorer.colours import ACCENT
from dvae.explorer.controls import drawing, pressed, segments, theme_button
from dvae.explorer.graph_view import EDGE
from dvae.explorer.network_model import KINDS, NetworkModel

MAX_LISTED = 150  # variables beside the drawing; any other is a click away
MAX_STATES = 40
MAX_ROWS = 100  # of a table of parameters
STYLE: list[dict[str, Any]] = [
    {"selector": "edge", "style": {"width": "data(thick)", "line-color": EDGE}},
    {"selector": "edge.undirected", "style": {"target-arrow-shape": "none"}},
    {"selector": "node.given", "style": {"border-color": "#2f6db0", "border-width": 4}},
    {"selector": "node.chosen", "style": {"border-color": ACCENT, "border-width": 3}},
    {"selector": "node.given.chosen", "style": {"border-color": ACCENT, "border-width": 5}},
]


def layout(model: NetworkModel) -> html.Div:
    """All parts of the page."""
    head = html.Header(
        className="top",
        children=[
            html.Div([html.Span(className="mark"), html.Span("dvae", className="wordmark")], className="brand"),
            html.Div([html.H1(model.title), html.P(model.facts())], className="run"),
            html.Div(theme_button(), className="tools"),
        ],
    )
    hint = (
        "Click a variable for its parameters, and a value to say that it is so. "
        "Data cannot tell the direction of an edge without an arrow."
    )
    width = "" if model.confidence is None else " The wider an edge, the surer it is."
    picture = [
        html.Div([html.H2("Network"), html.Span(className="grow"), segments("kind", list(KINDS), KINDS[0], "View")],
                 className="card-head"),
        drawing("drawing", STYLE),
        html.Div(html.Span(hint + width, className="hint"), className="card-foot"),
    ]  # fmt: skip
    side = [html.Div(id="given", className="chips"), html.Div(id="chosen", className="panel"),
            html.H3("Everything else"), html.Div(id="others", className="others")]  # fmt: skip
    return html.Div(
        id="network",
        className="page network",
        children=[
            dcc.Store(id="evidence", data={}),
            dcc.Store(id="selected", data=model.network.names[0]),
            dcc.Store(id="wired"),
            head,
            html.Main(
                [html.Section(picture, className="card"), html.Section(side, className="card side")], className="board"
            ),
            html.Div(id="message", className="message", role="alert"),
        ],
    )


def connect(app: Dash, model: NetworkModel) -> None:
    """Registers everything that the page does."""

    @app.callback(
        Output("drawing", "elements"), Input("kind", "value"), Input("evidence", "data"), Input("selected", "data")
    )
    def draw(kind: str, evidence: object, selected: str | None) -> Any:
        return model.elements(kind, model.checked(evidence), selected)

    @app.callback(
        Output("given", "children"), Output("chosen", "children"), Output("others", "children"),
        Input("evidence", "data"), Input("selected", "data"),
    )  # fmt: skip
    def show(evidence: object, selected: str) -> Any:
        known = model.checked(evidence)
        try:
            beliefs = model.beliefs(known)
        except DvaeError as error:  # too entangled for an exact answer: the rest of the page still works
            return _chips(model, known), [*_parameters(model, selected), html.P(str(error), className="problem")], []
        others = [name for name in model.network.names if name != selected][:MAX_LISTED]
        listed = [_variable(model, name, beliefs.get(name), known) for name in others]
        chosen = [_variable(model, selected, beliefs.get(selected), known, chosen=True), *_parameters(model, selected)]
        return _chips(model, known), chosen, listed

    @app.callback(
        Output("evidence", "data"),
        Input({"type": "state", "variable": ALL, "index": ALL}, "n_clicks"),
        Input({"type": "forget", "index": ALL}, "n_clicks"),
        Input({"type": "set", "index": ALL}, "n_clicks"),
        State({"type": "number", "index": ALL}, "value"),
        State("evidence", "data"),
        prevent_initial_call=True,
    )
    def learn_of(states: object, forgotten: object, sets: object, numbers: object, evidence: object) -> Any:
        place = pressed()
        known = model.checked(evidence)
        what = ctx.triggered_id["type"]
        if what == "forget":
            gone = set(known) if place == -1 else {model.name_at(place)}
            return {name: value for name, value in known.items() if name not in gone}
        if what == "set":
            values = {each["id"]["index"]: each.get("value") for each in ctx.states_list[0]}
            return model.with_number(known, model.name_at(place), values.get(place))
        return model.toggled(known, model.name_at(ctx.triggered_id.get("variable")), place)

    @app.callback(
        Output("selected", "data"),
        Input("drawing", "tapNodeData"),
        Input({"type": "name", "index": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def select(tapped: dict[str, Any] | None, names: object) -> Any:
        if ctx.triggered_id == "drawing":
            if not tapped or tapped.get("name") not in model.network:
                raise PreventUpdate
            return tapped["name"]
        return model.name_at(pressed())

    app.clientside_callback(
        "function () { return explorer.drawn(); }", Output("wired", "data"), Input("drawing", "elements")
    )


def _chips(model: NetworkModel, evidence: dict[str, str | float]) -> list[Any]:
    if not evidence:
        return [html.Span("Nothing is given yet: this is what the network expects of anyone.", className="hint")]
    chips = [
        html.Button(
            f"{name} = {value if isinstance(value, str) else f'{value:g}'} ×",
            id={"type": "forget", "index": model.network.index_of[name]},
            title="Forget it",
        )
        for name, value in evidence.items()
    ]
    return [
        html.Span("Given", className="label"),
        *chips,
        html.Button("Forget all", id={"type": "forget", "index": -1}),
    ]


def _variable(
    model: NetworkModel, name: str, belief: Belief | None, evidence: dict[str, str | float], *, chosen: bool = False
) -> html.Div:
    """A variable and what it is; `belief` is None where it is given."""
    place = model.network.index_of[name]
    states = model.network[name].states
    title = html.Button(
        name, id={"type": "name", "index": place}, className="name", title=f"Show the parameters of {name}"
    )
    if states is None:
        parts = _number(place, belief, evidence.get(name), chosen)
    else:
        shares = belief.probabilities.tolist() if isinstance(belief, StateShares) else None
        parts = [
            _state(
                place, code, state, float(evidence[name] == state) if shares is None else shares[code], shares is None
            )
            for code, state in enumerate(states[:MAX_STATES])
        ]
        if len(states) > MAX_STATES:
            parts.append(html.Span(f"and {len(states) - MAX_STATES} more states", className="hint"))
    return html.Div([title, *parts], className=f"variable {'chosen' if chosen else ''}".strip())


def _state(place: int, code: int, state: str, share: float, is_given: bool) -> html.Button:
    given = is_given and share == 1
    return html.Button(
        [
            html.Span(state, title=state),
            html.Span(html.I(style={"width": f"{100 * share:.2f}%"}), className="bar"),
            html.Span("given" if given else _percent(share)),
        ],
        id={"type": "state", "variable": place, "index": code},
        className="state given" if given else "state",
        title="Click to forget it" if given else f"Click to say that it is {state}",
    )


def _number(place: int, belief: Belief | None, value: str | float | None, chosen: bool) -> list[Any]:
    if belief is None or isinstance(belief, StateShares):
        return [html.Span(f"{value} (given)")]
    words = [html.Span(f"{belief.mean:.4g} ± {belief.deviation:.3g}")]
    if not chosen:
        return words
    box: Any = dcc.Input(id={"type": "number", "index": place}, type="number", placeholder="a number", debounce=False)
    row = html.Div(
        [box, html.Button("Say that it is so", id={"type": "set", "index": place}, className="quiet small")],
        className="row number-row",
    )
    return [*words, row]


def _parameters(model: NetworkModel, name: str) -> list[Any]:
    """The parameters of a variable."""
    found = model.parameters(name)
    parents = ", ".join(model.network[name].parents)
    title = f"Parameters of {name}" + (f", given {parents}" if parents else "")
    head = [html.Th(parent, className="given") for parent in found.given] + [html.Th(word) for word in found.header]
    rows = [
        html.Tr([html.Td(word, className="given") for word in words] + [html.Td(f"{each:.4g}") for each in numbers])
        for words, numbers in islice(found.rows(), MAX_ROWS)
    ]
    table = html.Div(html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)]), className="parameters")
    more = [html.Span(f"and {len(found) - MAX_ROWS:,} more rows", className="hint")] if len(found) > MAX_ROWS else []
    notes = html.Div([html.Span(note) for note in model.edge_notes(name)], className="notes")
    return [html.H3(title), table, *more, notes]


def _percent(share: float) -> str:
    """A share that is never rounded up to all or down to nothing."""
    text = f"{share:.1%}"
    if text == "100.0%" and share < 1 - 1e-12:
        return ">99.9%"
    return "<0.1%" if text == "0.0%" and share > 0 else text
