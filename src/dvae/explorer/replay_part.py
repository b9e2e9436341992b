"""The part of the search tab that replays a study: its curves, and its proposals on the map up to a trial."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, Patch, State, dcc, html

from dvae.explorer import charts, map_marks, places
from dvae.explorer.controls import aria_label, button, chart, segments
from dvae.explorer.map_figure import PROPOSALS
from dvae.explorer.model import PageModel

SCORES, GAP = "score", "gap to best"
FRAME = 260  # milliseconds per step of a replay


def parts() -> list[Any]:
    """The chart, its scale, and the slider of the replay."""
    player = [
        button("▶", "replay-play", kind="quiet icon", **aria_label("Replay the search on the map, or pause")),
        dcc.Slider(1, 2, 1, value=2, id="replay", marks=None, updatemode="drag", className="slider"),
        html.Span(id="replay-words", className="label"),
        segments("scale", [SCORES, GAP], SCORES, "What the curves show"),
        dcc.Interval(id="replay-player", interval=FRAME, disabled=True),
    ]
    key = html.Div(id="progress-key", className="chart-key")
    return [chart("progress", "chart-frame keyed", key), html.Div(player, className="row slider-row replay-row")]


def connect(app: Dash, model: PageModel) -> None:
    """Curves and proposals of the chosen study, up to where the slider stands."""

    @app.callback(
        Output("replay", "max"), Output("replay", "value"), Input("shown-trials", "data"), State("replay", "max"),
        State("replay", "value"), State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def reach(shown: Any, last: Any, value: Any, number: Any) -> Any:
        """The slider stays at the end of a study that grows, and where it was moved to elsewhere."""
        count = max(2, len(model.placed_trials(number)[0])) if shown is not None else 2
        moved = isinstance(value, int) and isinstance(last, int) and value < min(last, count)
        return count, value if moved else count

    @app.callback(
        Output("progress", "figure"), Output("progress-key", "children"), Input("shown-trials", "data"),
        Input("scale", "value"), State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def curves(shown: Any, scale: Any, number: Any) -> Any:
        if shown is None:
            return charts.empty_chart(), []
        study = model.study(number)
        studies = model.comparable_studies(number)
        lines = () if study.front else model.baselines
        draw = charts.gap_chart if places.choice(scale, (SCORES, GAP), "the scale") == GAP else charts.progress_chart
        figure = draw(studies, number, lines)
        return figure, [_key(trace) for trace in figure["data"]]

    @app.callback(
        Output("map", "figure", allow_duplicate=True), Output("replay-words", "children"),
        Input("shown-trials", "data"), Input("replay", "value"), Input("shown-plane", "data"),
        State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def proposals(shown: Any, upto: Any, plane: Any, number: Any) -> Any:
        patch = Patch()
        if shown is None:
            patch["data"][PROPOSALS] = map_marks.nothing()
            return patch, ""
        numbers, latents = model.placed_trials(number)
        count = min(places.whole_number(upto, 1, 2**31, "the trial"), len(numbers))
        whole = count == len(numbers)
        stars = model.study(number).stars if whole else model.best_until(number, numbers[:count])
        best = [numbers.index(each) for each in stars if each in numbers[:count]]
        patch["data"][PROPOSALS] = map_marks.proposals_trace(
            model.plane(plane).project(latents[:count]), *best, numbers=numbers[:count], study=number,
            newest=None if whole else count - 1,
        )  # fmt: skip
        return patch, f"{count:,} of {len(numbers):,}"

    app.clientside_callback(
        "function (clicks, paused, value, last) {"
        " return [!paused, paused ? '❚❚' : '▶', paused && value >= last ? 1 : dash_clientside.no_update]; }",
        Output("replay-player", "disabled"), Output("replay-play", "children"),
        Output("replay", "value", allow_duplicate=True), Input("replay-play", "n_clicks"),
        State("replay-player", "disabled"), State("replay", "value"), State("replay", "max"),
        prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (tick, value, last) { const next = Math.min(last, value + Math.max(1, Math.round(last / 80)));"
        " return [next, next >= last, next >= last ? '▶' : '❚❚']; }",
        Output("replay", "value", allow_duplicate=True), Output("replay-player", "disabled", allow_duplicate=True),
        Output("replay-play", "children", allow_duplicate=True), Input("replay-player", "n_intervals"),
        State("replay", "value"), State("replay", "max"), prevent_initial_call=True,
    )  # fmt: skip


def _key(trace: map_marks.Trace) -> html.Span:
    """What a line of the chart is."""
    line = trace["line"]
    look = {"borderTop": f"{line['width']}px {'dotted' if line['dash'] == 'dot' else 'solid'} {line['color']}"}
    return html.Span([html.I(style=look), trace["name"]])
