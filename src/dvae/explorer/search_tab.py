"""The tab that follows studies while they run."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, Patch, State, html, no_update
from dash.exceptions import PreventUpdate

from dvae.errors import DvaeError
from dvae.explorer import cards, charts, front_part, map_marks, places
from dvae.explorer.colours import series_colour
from dvae.explorer.controls import chart, download, export_menu, menu, pressed
from dvae.explorer.map_figure import PROPOSALS
from dvae.explorer.model import PageModel
from dvae.explorer.space import Space

COMMANDS = "dvae search RUN --storage sqlite:///search.db\ndvae explore RUN --study sqlite:///search.db"


def panel(space: Space, study_names: list[str]) -> html.Div:
    """The parts of the tab."""
    body = _study_parts(space, study_names) if study_names else [html.Div(_no_study(), className="empty")]
    return html.Div(body, id="panel-Search", className="panel", hidden=True)


def _no_study() -> list[Any]:
    return [
        html.H3("This page follows no search"),
        html.P("Start a search, then open this page with its storage to watch it live:"),
        html.Pre(COMMANDS),
    ]


def _study_parts(space: Space, names: list[str]) -> list[Any]:
    studies = [{"label": _study_label(number, name), "value": number} for number, name in enumerate(names)]
    head = [
        menu("study", "study", "drop wide", options=studies, value=0),
        html.Span(id="study-words", className="label grow"),
        html.Span("live", id="live", className="live", hidden=True),
    ]
    best = [
        html.H3("Best DAGs", className="grow"),
        html.Span("Select DAGs to export", className="label"),
        export_menu("export-top", space.task),
    ]
    return [
        html.Div(head, className="row"),
        html.P(id="study-problem", className="problem"),
        *front_part.parts(),
        chart("progress", "chart-frame"),
        html.Div(best, className="row"),
        html.Div(html.P("Reading the study …", className="hint waiting"), id="top", className="table-frame"),
    ]


def _study_label(number: int, name: str) -> html.Span:
    return html.Span([html.I(className="dot", style={"background": series_colour(number)}), name])


def connect(app: Dash, model: PageModel) -> None:
    """The chosen study as it grows, and what its best DAGs can be used for."""
    front_part.connect(app, model)
    ticks = State({"type": "tick", "index": ALL}, "value")

    @app.callback(
        Output("study-words", "children"), Output("live", "hidden"), Output("study-problem", "children"),
        Output("progress", "figure"), Output("top", "children"), Output("map", "figure", allow_duplicate=True),
        Output("shown-trials", "data"),
        Input("clock", "n_intervals"), Input("study", "value"), Input("tab", "value"), Input("shown-plane", "data"),
        State("shown-trials", "data"), ticks, prevent_initial_call=True,
        # A tick while the answer is under way would throw that answer away, and a slow one would never come.
        running=[(Output("clock", "disabled"), True, False)],
    )  # fmt: skip
    def follow(_: Any, number: Any, tab: Any, plane: Any, before: Any, ticked: Any) -> Any:
        patch = Patch()
        if tab != "Search":
            if before is None:
                raise PreventUpdate
            patch["data"][PROPOSALS] = map_marks.nothing()
            return *[no_update] * 5, patch, None
        try:
            study = model.study(number)
        except DvaeError as error:  # a search that is not there yet, or is moving: the page goes on asking
            return no_update, True, str(error), *[no_update] * 4
        studies = {key: each for key, each in model.readable_studies().items() if each.is_comparable(study)}
        now = [number, study.words, study.ended, plane, [len(each.scored) for each in studies.values()]]
        if now == before:
            raise PreventUpdate
        numbers, latents = model.placed_trials(number)
        best = [numbers.index(each) for each in study.stars if each in numbers]
        spots = model.plane(plane).project(latents)
        patch["data"][PROPOSALS] = map_marks.proposals_trace(spots, *best, numbers=numbers, study=number)
        return (
            study.words,
            not study.is_live,
            study.problem,
            charts.progress_chart({**studies, number: study}, number, () if study.front else model.baselines),
            cards.top_rows(model.space, study, set(_ticked(ticked))),
            patch,
            now,
        )

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "trial", "index": ALL}, "n_clicks"), State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, study: Any) -> Any:
        return places.to_json(model.trial(study, pressed())), "Inspect"

    @app.callback(
        Output("download", "data", allow_duplicate=True), Output("export-top", "value"),
        Input("export-top", "value"), ticks, State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def export(key: Any, ticked: Any, study: Any) -> Any:
        if key is None:
            raise PreventUpdate
        return download(model.export_trials(study, _ticked(ticked), key)), None


def _ticked(values: Any) -> list[int]:
    """The numbers in all boxes that are ticked."""
    boxes = values if isinstance(values, list) else []
    return [number for box in boxes if isinstance(box, list) for number in box if isinstance(number, int)]
