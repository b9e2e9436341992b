"""What the map's points mean: the axes they lie on, their colours, and the filter that picks some of them."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, Patch, State, ctx, dcc, html, no_update

from dvae.errors import DvaeError
from dvae.explorer import filters, map_figure, places
from dvae.explorer.controls import aria_label, menu, segments
from dvae.explorer.model import PageModel
from dvae.explorer.quantities import NUMBER, SCORE, Mask, Quantity
from dvae.explorer.space import Map

ASK_AGAIN = 700  # milliseconds between two looks at a map that is being made
PLAIN = "plain"  # no colours
WRITTEN = (
    "Write comparisons and edges, with commas between them: "
    "score > -11500, nodes <= 8, count(X) = 1, A -> B, not B -> A, split = test"
)


def row(model: PageModel) -> html.Div:
    """The choices of colour and filter."""
    names = colour_names(model)
    options = [{"label": name, "value": name} for name in names]
    box = dcc.Input(
        id="filter", type="text", debounce=0.4, placeholder=f"Filter, e.g. {_example(model)}", className="filter",
        maxLength=filters.MAX_TEXT, autoComplete="off", spellCheck=False,
    )  # fmt: skip
    scored = len(model.space.sorted_scores) > 1
    backgrounds = [kind for kind in map_figure.BACKGROUNDS if scored or kind != "score"]
    colour = menu("colour", "colour", options=options, value=names[0])
    background = segments("background", backgrounds, "density", "Background of the map")
    parts = [
        html.Div([html.Span("Colour", className="label"), colour], className="row"),
        html.Div([html.Span("Background", className="label"), background], className="row"),
        html.Div(box, title=WRITTEN, className="filter-frame"),
        html.Span(id="filter-words", className="label", role="status"),
    ]
    return html.Div(parts, className="card-head map-tools", role="group", **aria_label("Colours and filter of the map"))


def colour_names(model: PageModel) -> list[str]:
    """What the points can be coloured by."""
    return [*(name for name in model.quantities.useful if name != NUMBER), PLAIN]


def _example(model: PageModel) -> str:
    """A filter that fits the DAGs of this map."""
    for dag in model.space.known.dags[:50]:
        if dag.edges:
            source, target = dag.edges[0]
            return f"nodes <= {len(dag)}, {dag.types[source]} -> {dag.types[target]}"
    return "nodes <= 8"


def colour_of(model: PageModel, name: object) -> Quantity | None:
    """The quantity that colours the map; None for the usual one."""
    if name is None or name == SCORE:
        return None
    if name == PLAIN:
        return Quantity(PLAIN, model.quantities.get(NUMBER).values * 0)
    return model.quantities.get(places.choice(name, tuple(model.quantities.names), "the colour"))


def connect(app: Dash, model: PageModel) -> None:
    """Axes, background, colours and filter; a map that is not made yet is waited for, and the old one stays."""

    @app.callback(Output("prepared", "data"), Input("opened", "data"), prevent_initial_call=True)
    def prepare(_: Any) -> Any:
        """Begins to make the map that takes long, once the page is there: it may never be asked for."""
        if model.plane_if_ready(model.space.map_names[-1]) is None:
            return "begun"
        return "ready"

    @app.callback(
        Output("map", "figure", allow_duplicate=True), Output("shown-plane", "data"), Output("map-wait", "children"),
        Output("map-wait", "hidden"), Output("map-clock", "disabled"), Output("filter-words", "children"),
        Output("filter-words", "className"),
        Input("plane", "value"), Input("background", "value"), Input("colour", "value"), Input("filter", "value"),
        Input("map-clock", "n_intervals"), State("shown-plane", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def ground(plane: Any, background: Any, colour: Any, text: Any, _: Any, before: Any) -> Any:
        kind = places.choice(background, map_figure.BACKGROUNDS, "the background")
        try:
            shown = model.shown(text)
        except DvaeError as error:  # beside the filter; the map stays as it is
            return *[no_update] * 5, str(error), "problem"
        words = "" if shown.all() else f"{int(shown.sum()):,} of {len(shown):,}"
        try:
            drawn = model.plane_if_ready(plane)
        except DvaeError as error:
            return no_update, no_update, f"This map cannot be made: {error}", False, True, words, "label"
        look = kind, colour_of(model, colour), shown
        if drawn is None:
            seconds = model.space.bent.seconds
            waiting = f"Making the map “{plane}” … {seconds:.0f} s. Until it is there, this is “{before}”."
            old = (
                no_update if ctx.triggered_id in ("map-clock", "plane") else _ground(model, model.plane(before), *look)
            )
            return old, no_update, waiting, False, False, words, "label"
        name = no_update if drawn.name == before else drawn.name
        return _ground(model, drawn, *look), name, "", True, True, words, "label"


def _ground(model: PageModel, plane: Map, kind: str, colour: Quantity | None, shown: Mask) -> Patch:
    figure = map_figure.map_figure(model.space, plane, kind, colour, shown)
    patch = Patch()
    for trace in map_figure.GROUND:
        patch["data"][trace] = figure["data"][trace]
    patch["layout"] = figure["layout"]
    return patch
