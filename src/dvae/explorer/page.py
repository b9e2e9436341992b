"""The page: a header, the map and the tabs, and everything that happens on it."""

from __future__ import annotations

import json

from dash import Dash, Input, Output, State, dcc, html

from dvae.explorer import (
    address,
    gallery_tab,
    inspect_tab,
    map_card,
    map_tools,
    neighbourhood_tab,
    runs_tab,
    search_tab,
    walk_tab,
)
from dvae.explorer.controls import aria_label, button, segments, theme_button
from dvae.explorer.model import PageModel
from dvae.explorer.places import Known, to_json
from dvae.explorer.space import Space

TABS = ("Inspect", "Walk", "Neighbourhood", "Gallery", "Search")
RUNS = "Runs"  # a tab of pages with several
REFRESH = 2_000  # milliseconds between two reads of a study
FRAME = 450  # milliseconds per step of a walk that is played
STORES = (
    "anchor", "walk-start", "walk-end", "map-click", "map-hover", "map-drag", "selection", "shown-selection",
    "shown-trials", "wired", "address", "opened", "prepared", "bookmarked", "run-click",
)  # fmt: skip


def layout(model: PageModel) -> html.Div:
    """All parts of the page."""
    space = model.space
    panels = [
        segments("tab", tabs_of(model), TABS[0], "Tabs", "tabs"),
        inspect_tab.panel(space),
        walk_tab.panel(),
        neighbourhood_tab.panel(),
        gallery_tab.panel(model),
        search_tab.panel(space, model.study_names),
        *([runs_tab.panel(model)] if model.others else []),
    ]
    return html.Div(
        className="page",
        children=[
            dcc.Store(id="current", data=to_json(Known(space.best))),
            *(dcc.Store(id=name) for name in STORES),
            dcc.Store(id="shown-plane", data=map_card.first_plane(space).name),
            _header(space),
            html.Main(
                [map_card.card(model), html.Section(panels, className="card side", **aria_label("Tabs"))],
                className="board",
            ),
            html.Div(id="message", className="message", role="alert"),
            dcc.Download(id="download"),
            dcc.Interval(id="clock", interval=REFRESH),
            dcc.Interval(id="player", interval=FRAME, disabled=True),
            dcc.Interval(id="map-clock", interval=map_tools.ASK_AGAIN, disabled=True),
        ],
    )


def tabs_of(model: PageModel) -> list[str]:
    """The tabs of a page."""
    return [*TABS, *([RUNS] if model.others else [])]


def connect(app: Dash, model: PageModel) -> None:
    """Registers everything that the page does."""
    for part in (map_card, inspect_tab, walk_tab, neighbourhood_tab, gallery_tab, runs_tab):
        part.connect(app, model)
    if model.studies:
        search_tab.connect(app, model)
    _connect_browser(app, tabs_of(model))
    address.connect(app, model, tabs_of(model))


def _header(space: Space) -> html.Header:
    facts = [
        space.task.name.split("/")[-1],
        f"model {space.vae.config.name}",
        f"{space.latent_size} latent dimensions",
        f"{len(space.known):,} DAGs",
    ]
    unscored = not len(space.sorted_scores)
    tools = [
        button("Best known", "go-best", "The known DAG with the best score", "quiet", hidden=unscored),
        button("Random", "go-random", "Decode a random latent", "quiet"),
        button("☆ Bookmark", "bookmark", "Keep the DAG under Inspect among the bookmarks of this run", "quiet"),
        button("Copy link", "copy-link", "Copy a link that reopens this view", "quiet"),
        theme_button(),
    ]
    return html.Header(
        className="top",
        children=[
            html.Div([html.Span(className="mark"), html.Span("dvae", className="wordmark")], className="brand"),
            html.Div([html.H1(space.title), html.P(" · ".join(facts), title=space.source)], className="run"),
            html.Span(id="busy", className="busy", role="status"),
            html.Div(tools, className="tools"),
        ],
    )


def _connect_browser(app: Dash, tabs: list[str]) -> None:
    """What needs no server; the functions are in page.html."""
    panels = [Output(f"panel-{tab}", "hidden") for tab in tabs]
    names = json.dumps(tabs)
    shown = f"function (tab) {{ return explorer.panels(tab, {names}); }}"
    app.clientside_callback(shown, *panels, Input("tab", "value"))
    app.clientside_callback(
        f"function (tab) {{ return tab === 'Walk' ? {json.dumps(map_card.DRAG)} : {json.dumps(map_card.CLICK)}; }}",
        Output("map-hint", "children"), Input("tab", "value"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (selection) { return dvaeGround.choose(selection); }",
        Output("shown-selection", "data"), Input("selection", "data"), prevent_initial_call=True,
    )  # fmt: skip
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
        "function (tick, step, last) { return step >= last ? 1 : step + 1; }",
        Output("step", "value"), Input("player", "n_intervals"), State("step", "value"), State("step", "max"),
        prevent_initial_call=True,
    )  # fmt: skip
