"""The tab that follows studies while they run."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, html, no_update
from dash.exceptions import PreventUpdate

from dvae.errors import DvaeError
from dvae.explorer import cards, front_part, graph_view, places, replay_part, trials_part
from dvae.explorer.colours import series_colour
from dvae.explorer.controls import aria_label, download, export_menu, menu, pressed, segments
from dvae.explorer.model import PageModel
from dvae.explorer.space import Space

COMMANDS = "dvae search RUN\ndvae explore RUN"


def panel(space: Space, study_names: list[str]) -> html.Div:
    """The parts of the tab."""
    body = _study_parts(space, study_names) if study_names else [html.Div(_no_study(), className="empty")]
    return html.Div(body, id="panel-Search", className="panel", hidden=True)


def _no_study() -> list[Any]:
    return [
        html.H3("This page follows no search"),
        html.P("Start a search of this run, then open this page again to watch it live:"),
        html.Pre(COMMANDS),
    ]


def _study_parts(space: Space, names: list[str]) -> list[Any]:
    studies = [{"label": _study_label(number, name), "value": number} for number, name in enumerate(names)]
    head = [
        menu("study", "study", "drop wide", options=studies, value=0),
        html.Span(id="study-words", className="label"),
        html.Span("live", id="live", className="live", hidden=True),
    ]
    table = [
        segments("table-kind", [trials_part.BEST, trials_part.ALL_TRIALS], trials_part.BEST, "What the table shows"),
        html.Span(trials_part.TICK, id="export-words", className="label push"),
        export_menu("export-top", space.task),
    ]
    waiting = html.P("Reading the study …", className="hint waiting")
    best = html.Div(waiting, id="top", className="table-frame", tabIndex=0, role="group", **aria_label("Best DAGs"))
    return [
        html.Div(head, className="row study-row"),
        html.P(id="study-problem", className="problem"),
        *front_part.parts(),
        *replay_part.parts(),
        html.Div(table, className="row"),
        html.Div(best, id="best-part", className="fill"),
        html.Div(trials_part.parts(), id="all-part", className="fill", hidden=True),
    ]


def _study_label(number: int, name: str) -> html.Span:
    return html.Span([html.I(className="dot", style={"background": series_colour(number)}), name])


def connect(app: Dash, model: PageModel) -> None:
    """The chosen study as it grows, and what its best DAGs can be used for."""
    for part in (front_part, replay_part, trials_part):
        part.connect(app, model)
    ticks = State({"type": "tick", "index": ALL}, "value")

    @app.callback(
        Output("study-words", "children"), Output("live", "hidden"), Output("study-problem", "children"),
        Output("top", "children"), Output("shown-trials", "data"),
        Input("clock", "n_intervals"), Input("study", "value"), Input("tab", "value"), Input("direction", "data"),
        State("shown-trials", "data"), ticks, prevent_initial_call=True,
        # A tick while the answer is under way would throw that answer away, and a slow one would never come.
        running=[(Output("clock", "disabled"), True, False)],
    )  # fmt: skip
    def follow(_: Any, number: Any, tab: Any, direction: Any, before: Any, ticked: Any) -> Any:
        way = graph_view.direction_of(direction)
        if tab != "Search":
            if before is None:
                raise PreventUpdate
            return *[no_update] * 4, None
        try:
            study = model.study(number)
        except DvaeError as error:  # a search that is not there yet, or is moving: the page goes on asking
            return no_update, True, str(error), *[no_update] * 2
        others = [len(each.scored) for each in model.comparable_studies(number).values()]
        now = [number, study.words, study.ended, others, way]
        if now == before:
            raise PreventUpdate
        rows = cards.top_rows(model.space, study, set(_ticked(ticked)), way)
        return study.words, not study.is_live, study.problem, rows, now

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "trial", "index": ALL}, "n_clicks"), Input({"type": "row", "index": ALL}, "n_clicks"),
        State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, __: Any, study: Any) -> Any:
        return places.to_json(model.trial(study, pressed())), "Inspect"

    @app.callback(
        Output("download", "data", allow_duplicate=True), Output("export-top", "value"),
        Input("export-top", "value"), ticks, State("study", "value"), State("table-kind", "value"),
        State("trial-filter", "value"), State("trial-sort", "data"), State("direction", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def export(key: Any, ticked: Any, study: Any, kind: Any, text: Any, order: Any, direction: Any) -> Any:
        if key is None:
            raise PreventUpdate
        if kind == trials_part.ALL_TRIALS:
            return download(trials_part.export_rows(model, study, text, order, key, direction)), None
        return download(model.export_trials(study, _ticked(ticked), key, direction)), None


def _ticked(values: Any) -> list[int]:
    """The numbers in all boxes that are ticked."""
    boxes = values if isinstance(values, list) else []
    return [number for box in boxes if isinstance(box, list) for number in box if isinstance(number, int)]
