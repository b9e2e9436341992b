"""The page: its parts and where they stand. What they show is put there by `callbacks`."""

from __future__ import annotations

from typing import Any

from dash import dcc, html
from dash_cytoscape import Cytoscape

from dvae.explorer import charts, graph_view
from dvae.explorer.exports import formats_of
from dvae.explorer.places import Known, to_json
from dvae.explorer.plane import Plane
from dvae.explorer.reading import LONGEST_TEXT, notations
from dvae.explorer.space import Space

TABS = ("Inspect", "Walk", "Neighbourhood", "Search")
STEPS = 33  # of a walk
SIDES = (3, 5, 7)
REFRESH = 2_000  # milliseconds between two looks at a study

GRAPH_OPTIONS: Any = {
    "displaylogo": False,
    "scrollZoom": True,
    "modeBarButtons": [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    "plotGlPixelRatio": 1.5,
}
CHART_OPTIONS: Any = {"displayModeBar": False}

DRAWING_STYLE: list[dict[str, Any]] = [
    {
        "selector": "node[label]",
        "style": {
            "label": "data(label)",
            "width": "data(width)",
            "height": "data(height)",
            "shape": "data(shape)",
            "background-color": "data(fill)",
            "border-color": "data(stroke)",
            "border-width": 1,
            "color": "data(ink)",
            "font-size": 13,
            "font-family": "Inter, Roboto, Liberation Sans, Helvetica, Arial, sans-serif",
            "text-valign": "center",
            "text-halign": "center",
            "overlay-opacity": 0,
        },
    },
    {
        "selector": "edge",
        "style": {
            "width": 1.6,
            "line-color": graph_view.EDGE,
            "curve-style": "straight",
            "target-arrow-shape": "triangle",
            "target-arrow-color": graph_view.EDGE,
            "arrow-scale": 0.9,
            "overlay-opacity": 0,
        },
    },
    {
        "selector": ".routed",
        "style": {
            "curve-style": "unbundled-bezier",
            "control-point-weights": "data(weights)",
            "control-point-distances": "data(distances)",
            "edge-distances": "node-position",
        },
    },
    {"selector": ".corner", "style": {"width": 1, "height": 1, "opacity": 0, "events": "no", "label": ""}},
    {"selector": "node.changed", "style": {"border-color": "#16a34a", "border-width": 4}},
    {
        "selector": "edge.added",
        "style": {"line-color": "#16a34a", "target-arrow-color": "#16a34a", "width": 3},
    },
    {
        "selector": "edge.removed",
        "style": {
            "line-color": "#e25563",
            "target-arrow-color": "#e25563",
            "line-style": "dashed",
            "opacity": 0.75,
        },
    },
    {"selector": "node:selected", "style": {"border-color": charts.ACCENT, "border-width": 3}},
    {"selector": "edge:selected", "style": {"line-color": charts.ACCENT, "target-arrow-color": charts.ACCENT}},
]


def page(space: Space, study_names: list[str]) -> html.Div:
    return html.Div(
        className="page",
        children=[
            *_stores(space),
            _header(space),
            html.Main(className="board", children=[_map_card(space), _side(space, study_names)]),
            html.Div(id="message", className="message", role="alert"),
            dcc.Download(id="download"),
            dcc.Interval(id="clock", interval=REFRESH),
            dcc.Interval(id="player", interval=450, disabled=True),
        ],
    )


def _stores(space: Space) -> list[Any]:
    names = ("anchor", "walk-start", "walk-end", "map-click", "shown-trials", "wired")
    return [dcc.Store(id="current", data=to_json(Known(space.best))), *(dcc.Store(id=name) for name in names)]


def _header(space: Space) -> html.Header:
    config = space.vae.config
    facts = [
        space.task.name if "/" not in space.task.name else space.task.name.split("/")[-1],
        f"model {config.name}",
        f"{space.latent_size} latent dimensions",
        f"{len(space.known):,} DAGs",
    ]
    return html.Header(
        className="top",
        children=[
            html.Div([html.Span(className="mark"), html.Span("dvae", className="wordmark")], className="brand"),
            html.Div([html.H1(space.title), html.P(" · ".join(facts), title=space.source)], className="run"),
            html.Div(
                className="tools",
                children=[
                    html.Button(
                        "Best known",
                        id="go-best",
                        className="quiet",
                        title="The known DAG with the best score",
                        hidden=not len(space.sorted_scores),
                    ),
                    html.Button("Random", id="go-random", className="quiet", title="Decode a latent from the prior"),
                    html.Button("◐", id="theme", className="quiet icon", title="Light or dark", **_spoken("Theme")),
                ],
            ),
        ],
    )


def _map_card(space: Space) -> html.Section:
    names = space.map_names
    plane = space.planes[-1] if len(space.sorted_scores) > 1 else space.planes[0]
    under = ["none", "density", *(["score"] if len(space.sorted_scores) > 1 else [])]
    return html.Section(
        className="card map-card",
        children=[
            html.Div(
                className="card-head",
                children=[
                    html.H2("Map"),
                    _segments("plane", names, plane.name, "Axes of the map"),
                    html.Span("Under", className="label push"),
                    _segments("underlay", under, "density", "What lies under the points"),
                ],
            ),
            html.Div(
                id="map-frame",
                className="map-frame",
                tabIndex=0,
                role="application",
                **_spoken("Map of the latent space: arrow keys move the decoded place, Enter decodes it"),
                children=[
                    dcc.Graph(
                        id="map",
                        figure=_first_map(space, plane),
                        config=GRAPH_OPTIONS,
                        clear_on_unhover=True,
                        responsive=True,
                        className="graph",
                    ),
                    dcc.Tooltip(id="hover-card", direction="right", loading_text="", className="hover-card"),
                ],
            ),
            html.Div(
                className="card-foot",
                children=[
                    html.P(
                        "Click a point for its DAG, or between points to decode that place.",
                        className="hint",
                    ),
                    html.Div(
                        className="anchor",
                        children=[
                            html.Span("Other dimensions from", className="label"),
                            html.Span("the mean", id="anchor-name", className="chip"),
                            html.Button("Reset", id="anchor-reset", className="quiet small", hidden=True),
                        ],
                    ),
                    dcc.Checklist(
                        [{"label": "Only valid DAGs", "value": "enforce"}], [], id="enforce", className="check"
                    ),
                ],
            ),
        ],
    )


def _first_map(space: Space, plane: Plane) -> charts.Figure:
    """The map as the page opens, with the mark on its first DAG: to add it later would draw all points twice."""
    figure = charts.map_figure(space, plane, "density")
    x, y = plane.project(space.latents[space.best][None])[0].tolist()
    figure["data"][charts.CURRENT] = charts.current_trace(x, y)
    return figure


def _side(space: Space, study_names: list[str]) -> html.Section:
    return html.Section(
        className="card side",
        children=[
            _segments("tab", list(TABS), TABS[0], "What to do", "tabs"),
            _inspect_panel(space),
            _walk_panel(),
            _grid_panel(),
            _search_panel(space, study_names),
        ],
    )


def _inspect_panel(space: Space) -> html.Div:
    return html.Div(
        id="panel-Inspect",
        className="panel",
        children=[
            html.Div(
                className="row",
                children=[
                    html.H2(id="title", className="grow"),
                    html.Button("Walk from here", id="set-start", className="quiet small"),
                    html.Button("Walk to here", id="set-end", className="quiet small"),
                    html.Button("Anchor here", id="set-anchor", className="quiet small"),
                ],
            ),
            html.Div(id="facts", className="facts"),
            _drawing("drawing"),
            html.Div(
                className="row edit-row",
                children=[
                    html.Span("Node", className="label"),
                    dcc.Dropdown(id="node", clearable=False, searchable=False, placeholder="node", className="drop"),
                    html.Span("is", className="label"),
                    dcc.Dropdown(
                        id="node-type",
                        options=[{"label": str(label), "value": label} for label in _labels(space)],
                        clearable=False,
                        searchable=False,
                        placeholder="type",
                        className="drop",
                    ),
                    html.Span("Edge", className="label push"),
                    dcc.Dropdown(
                        id="edge-from", clearable=False, searchable=False, placeholder="from", className="drop"
                    ),
                    html.Span("→", className="label"),
                    dcc.Dropdown(id="edge-to", clearable=False, searchable=False, placeholder="to", className="drop"),
                    html.Button("Toggle", id="toggle", className="quiet small", title="Add this edge, or remove it"),
                ],
            ),
            html.Div(
                className="text-row",
                children=[
                    dcc.Textarea(
                        id="text",
                        className="text",
                        maxLength=LONGEST_TEXT,
                        spellCheck=False,
                        title=f"Type or paste {notations(space.task)}",
                    ),
                    html.Div(
                        className="text-buttons",
                        children=[
                            html.Button(
                                "Place it", id="place", className="primary", title="Encode this DAG (Ctrl+Enter)"
                            ),
                            _export("export", space),
                        ],
                    ),
                ],
            ),
            html.P(id="text-problem", className="problem", role="alert"),
            html.H3("Nearest known DAGs"),
            html.Div(id="nearest", className="strip"),
        ],
    )


def _walk_panel() -> html.Div:
    return html.Div(
        id="panel-Walk",
        className="panel",
        hidden=True,
        children=[
            html.Div(
                className="row ends",
                children=[
                    html.Div(id="start-card", className="end-card"),
                    html.Div(
                        className="between",
                        children=[
                            _segments("path", ["line", "circle"], "line", "The way between them"),
                            html.Button("Swap", id="swap", className="quiet small"),
                        ],
                    ),
                    html.Div(id="end-card", className="end-card"),
                ],
            ),
            html.Div(
                id="walk-body",
                className="fill",
                children=[
                    html.Div(id="walk-facts", className="facts"),
                    _drawing("walk-drawing"),
                    html.P(
                        [
                            html.Span("new", className="key added"),
                            html.Span("gone", className="key removed"),
                            html.Span("since the step before"),
                            html.Button("Inspect this DAG", id="walk-inspect", className="quiet small push"),
                        ],
                        className="hint row",
                    ),
                    html.Div(
                        className="row slider-row",
                        children=[
                            html.Button("▶", id="play", className="quiet icon", **_spoken("Play or stop")),
                            dcc.Slider(
                                0, STEPS - 1, 1, value=0, id="step", marks=None, updatemode="drag", className="slider"
                            ),
                        ],
                    ),
                    _chart("walk-chart", "chart-frame low"),
                ],
            ),
        ],
    )


def _grid_panel() -> html.Div:
    return html.Div(
        id="panel-Neighbourhood",
        className="panel",
        hidden=True,
        children=[
            html.Div(
                className="row",
                children=[
                    html.Span("DAGs a side", className="label"),
                    _segments("side", [str(side) for side in SIDES], "5", "DAGs a side"),
                    html.Span("Reach", className="label push"),
                    dcc.Slider(0.1, 3, 0.1, value=1, id="reach", marks=None, className="slider reach"),
                ],
            ),
            html.P(
                "What the model decodes around the DAG under Inspect, along the two axes of the map; the reach of the "
                "outermost is in standard deviations. Click one to inspect it.",
                className="hint",
            ),
            html.Div(id="grid", className="grid"),
        ],
    )


def _search_panel(space: Space, study_names: list[str]) -> html.Div:
    if not study_names:
        body: list[Any] = [
            html.Div(
                className="empty",
                children=[
                    html.H3("No study is followed"),
                    html.P("Start a search, then open this page with its storage to watch it live:"),
                    html.Pre(
                        "dvae search RUN --storage sqlite:///search.db\ndvae explore RUN --study sqlite:///search.db"
                    ),
                ],
            )
        ]
    else:
        body = [
            html.Div(
                className="row",
                children=[
                    dcc.Dropdown(
                        id="study",
                        options=[{"label": name, "value": number} for number, name in enumerate(study_names)],
                        value=0,
                        clearable=False,
                        searchable=False,
                        className="drop wide",
                    ),
                    html.Span(id="study-words", className="label grow"),
                    html.Span("live", className="live"),
                ],
            ),
            html.P(id="study-problem", className="problem"),
            _chart("progress", "chart-frame"),
            html.Div(
                className="row",
                children=[
                    html.H3("Best DAGs", className="grow"),
                    html.Span("Tick some to export them", className="label"),
                    _export("export-top", space),
                ],
            ),
            html.Div(html.P("Reading the study …", className="hint waiting"), id="top", className="table-frame"),
        ]
    return html.Div(id="panel-Search", className="panel", hidden=True, children=body)


def _export(name: str, space: Space) -> dcc.Dropdown:
    return dcc.Dropdown(
        id=name,
        options=[{"label": kind.label, "value": kind.key} for kind in formats_of(space.task)],
        placeholder="Export as …",
        searchable=False,
        clearable=False,
        className="drop export",
    )


def _chart(name: str, frame: str) -> html.Div:
    chart = dcc.Graph(id=name, figure=charts.empty_chart(), config=CHART_OPTIONS, responsive=True, className="chart")
    return html.Div(chart, id=f"{name}-frame", className=frame)


def _drawing(name: str) -> html.Div:
    return html.Div(
        className="drawing",
        children=Cytoscape(
            id=name,
            elements=[],
            layout={"name": "preset", "fit": True, "padding": 16},
            stylesheet=DRAWING_STYLE,
            style={"width": "100%", "height": "100%"},
            minZoom=0.1,
            maxZoom=1.6,
            autoungrabify=True,
            boxSelectionEnabled=False,
            responsive=True,
        ),
    )


def _segments(name: str, options: list[str], value: str, label: str, kind: str = "segments") -> html.Div:
    choices = [{"label": option.capitalize() if option.islower() else option, "value": option} for option in options]
    return html.Div(dcc.RadioItems(choices, value, id=name, className=kind), role="group", **_spoken(label))


def _spoken(text: str) -> dict[str, Any]:
    """The name of a part for those who hear the page."""
    return {"aria-label": text}


def _labels(space: Space) -> list[str | int]:
    """The types a user may give a node: not those of virtual ends."""
    task = space.task
    wrapped = task.wrap(space.known.dags[0])
    virtual = {label for label in (wrapped.types[0], wrapped.types[-1]) if label not in space.known.dags[0].types}
    return [label for label in task.vocabulary.labels if label not in virtual]
