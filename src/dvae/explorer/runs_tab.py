"""The tab that shows other runs beside the page's own: their maps, with the same DAG marked on all."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, Patch, State, dcc, html
from dash.exceptions import PreventUpdate

from dvae.errors import DvaeError
from dvae.explorer import cards, map_figure, map_marks, places
from dvae.explorer.controls import aria_label, menu
from dvae.explorer.map_card import first_plane
from dvae.explorer.model import PageModel
from dvae.explorer.places import Given, Place
from dvae.explorer.space import Finding
from dvae.runs import Comparison

OPTIONS: Any = {"displayModeBar": False, "scrollZoom": True}


def panel(model: PageModel) -> html.Div:
    """A card for each of the other runs."""
    hint = "The DAG under Inspect is marked on every map. Click a map to choose or decode a DAG there."
    return html.Div(
        id="panel-Runs",
        className="panel",
        hidden=True,
        children=[
            html.P(hint, className="hint"),
            html.Div(
                id="runs-table", className="compared", tabIndex=0, role="group", **aria_label("This DAG in all runs")
            ),
            html.Div([_card(number, other) for number, other in enumerate(model.others)], className="run-cards"),
            *([] if model.comparison is None else [_numbers(model.comparison)]),
        ],
    )


def _numbers(comparison: Comparison) -> html.Details:
    """Settings and measurements of all runs, as `dvae compare` prints them; the clearly best is bold."""
    head = html.Tr([html.Th("", scope="col"), *(html.Th(name, scope="col") for name in comparison.names)])
    rows = [
        html.Tr(
            [html.Th(row.name, scope="row"), *(html.Td("" if value is None else str(value)) for value in row.values)]
        )
        for row in (*comparison.data, *comparison.settings)
    ]
    for row in comparison.numbers:
        words = [row.words(place) for place in range(len(row.numbers))]
        cells = [html.Td(html.Strong(text) if place == row.best else text) for place, text in enumerate(words)]
        rows.append(html.Tr([html.Th(row.name, scope="row"), *cells]))
    notes = [html.P(f"{note[:1].upper()}{note[1:]}.", className="hint") for note in comparison.notes]
    table = html.Table([html.Thead(head), html.Tbody(rows)])
    return html.Details(
        [html.Summary("Settings and numbers side by side"), table, *notes], className="numbers compared"
    )


def _card(number: int, other: PageModel) -> html.Section:
    space, plane = other.space, first_plane(other.space)
    names = [plane.name for plane in space.planes]
    figure = map_figure.map_figure(space, plane, "density")
    figure["layout"]["margin"] = {"l": 8, "r": 8, "t": 4, "b": 26}
    for axis in ("xaxis", "yaxis"):
        figure["layout"][axis] |= {"showticklabels": False, "automargin": False}
    figure["layout"]["yaxis"]["title"] = {"text": ""}
    figure["data"][map_figure.KEY] = map_marks.nothing()
    graph = dcc.Graph(
        id={"type": "run-map", "index": number}, figure=figure, config=OPTIONS, responsive=True, className="graph"
    )
    facts = f"model {space.vae.config.name} · {space.latent_size} latent dimensions · {len(space.known):,} DAGs"
    head = [
        html.H3(space.title),
        html.Span(facts, className="label grow"),
        menu({"type": "run-plane", "index": number}, "map", options=names, value=plane.name),
    ]
    frame: dict[str, Any] = {"data-run": number, **aria_label(f"Map of the run {space.title}")}
    return html.Section(
        [html.Div(head, className="row"), html.Div(graph, className="map-frame run-map", role="img", **frame)],
        className="run-card",
        **aria_label(f"The run {space.title}"),
    )


def connect(app: Dash, model: PageModel) -> None:
    """The mark of the page's DAG on all maps, and clicks on them."""
    if not model.others:
        return

    @app.callback(
        Output({"type": "run-map", "index": ALL}, "figure"), Output("runs-table", "children"),
        Input("current", "data"), Input("enforce", "value"), Input("tab", "value"),
        Input({"type": "run-plane", "index": ALL}, "value"), prevent_initial_call=True,
    )  # fmt: skip
    def show(shown: Any, enforce: Any, tab: Any, planes: Any) -> Any:
        if tab != "Runs":
            raise PreventUpdate
        own = model.find(shown, enforce)
        names = planes if isinstance(planes, list) and len(planes) == len(model.others) else [None] * len(model.others)
        found = [_found(other, own, enforce) for other in model.others]
        patches = [_marked(*each) for each in zip(model.others, found, names, strict=True)]
        return patches, _table(model, own, found)

    @app.callback(
        Output("current", "data", allow_duplicate=True), Input("run-click", "data"), State("enforce", "value"),
        prevent_initial_call=True,
    )  # fmt: skip
    def choose(click: Any, enforce: Any) -> Any:
        return places.to_json(chosen_elsewhere(model, click, enforce))


def chosen_elsewhere(model: PageModel, click: object, enforce: object) -> Place:
    """The DAG that a click on the map of another run means, in the page's own space."""
    number = click.get("run") if isinstance(click, dict) else None
    other = model.others[places.whole_number(number, 0, len(model.others) - 1, "the number of a run")]
    assert isinstance(click, dict)
    finding = other.find(places.to_json(other.click(click, click.get("plane"), None)), enforce)
    title = f"{cards.title_of(finding)} of {other.space.title}"
    return model.held(Given(finding.dag, title[: places.MAX_NAME]))


def _found(other: PageModel, own: Finding, enforce: object) -> Finding | str:
    """What another run makes of the page's DAG, or why it cannot."""
    try:
        return other.find(places.to_json(Given(own.dag)), enforce)
    except DvaeError as error:
        return str(error)


def _marked(other: PageModel, finding: Finding | str, plane: object) -> Patch:
    name = plane if plane in other.space.map_names else first_plane(other.space).name
    ground = other.plane(name)
    figure = map_figure.map_figure(other.space, ground, "density")
    patch = Patch()
    for trace in (map_figure.BACKGROUND, map_figure.POINTS):
        patch["data"][trace] = figure["data"][trace]
    for axis in ("xaxis", "yaxis"):
        patch["layout"][axis]["range"] = figure["layout"][axis]["range"]
    patch["layout"]["xaxis"]["title"]["text"] = figure["layout"]["xaxis"]["title"]["text"]
    patch["layout"]["meta"] = figure["layout"]["meta"]
    here = (
        map_marks.nothing() if isinstance(finding, str) else map_marks.current_trace(*other.at(ground, finding.latent))
    )
    patch["data"][map_figure.CURRENT] = here
    return patch


def _table(model: PageModel, own: Finding, found: list[Finding | str]) -> html.Table:
    """The same DAG in all runs."""
    head = [html.Th(text, scope="col") for text in ("Run", "score", "valid", "confidence", "on the map", "nearest")]
    rows = []
    for title, finding in [
        (model.space.title, own),
        *zip([other.space.title for other in model.others], found, strict=True),
    ]:
        name = html.Th(title, scope="row")
        rows.append(
            html.Tr([name, html.Td(finding, colSpan=5)] if isinstance(finding, str) else [name, *_cells(finding)])
        )
    return html.Table([html.Thead(html.Tr(head)), html.Tbody(rows)])


def _cells(finding: Finding) -> list[html.Td]:
    near = finding.nearest[0].distance if finding.nearest else None
    words = (
        "–" if finding.score is None else cards.score_text(finding.score),
        "yes" if finding.valid else "no",
        f"{finding.confidence:.0%}",
        "new" if finding.same_as is None else f"number {finding.same_as:,}",
        "–" if near is None else f"{near:.2f}",
    )
    return [html.Td(word) for word in words]
