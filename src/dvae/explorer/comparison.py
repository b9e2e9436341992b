"""The page's DAG beside another that was kept: what separates the two, drawn and in words."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, dcc, html, no_update

from dvae.dag import Difference, difference
from dvae.errors import DvaeError
from dvae.explorer import places
from dvae.explorer.controls import aria_label, button
from dvae.explorer.model import PageModel

MAX_LINES = 40


def parts() -> list[Any]:
    """What the page keeps and shows of a comparison."""
    spoken = aria_label("How the DAG differs")
    frame = html.Div(id="comparison", className="comparison", hidden=True, tabIndex=0, role="group", **spoken)
    return [dcc.Store(id="compared"), frame]


def compare_button() -> html.Button:
    """Keeps the DAG that is shown, to compare others with it."""
    return button("Compare", "set-compared", "Keep this DAG and show how others differ from it; once more to stop")


def difference_from(model: PageModel, compared: object, shown: object, enforce: object = None) -> Difference | None:
    """What separates the page's DAG from the one that was kept; None where none was, or both are the same."""
    if compared is None:
        return None
    before, after = model.find(compared, enforce).dag, model.find(shown, enforce).dag
    return None if before == after else difference(before, after)


def connect(app: Dash, model: PageModel) -> None:
    """Keeps a DAG and says how the page's differs from it."""

    @app.callback(
        Output("compared", "data"), Input("set-compared", "n_clicks"), State("current", "data"),
        State("compared", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def keep(_: Any, shown: Any, compared: Any) -> Any:
        return None if compared is not None else places.to_json(model.place(shown))

    @app.callback(
        Output("comparison", "children"), Output("comparison", "hidden"),
        Output("set-compared", "className"), Input("compared", "data"), Input("current", "data"),
        Input("enforce", "value"),
    )  # fmt: skip
    def show(compared: Any, shown: Any, enforce: Any) -> Any:
        if compared is None:
            return [], True, "quiet small"
        try:
            found = difference_from(model, compared, shown, enforce)
        except DvaeError:  # the page says why beside the DAG that cannot be shown
            return no_update, no_update, no_update
        return words(found), False, "quiet small on"


def words(found: Difference | None) -> list[Any]:
    """A difference as a list, longest ones cut."""
    if found is None:
        return [html.P("This DAG is kept. Choose or edit another: what differs is shown here.", className="hint")]
    lines = found.lines()
    more = [html.Li(f"and {len(lines) - MAX_LINES:,} more")] if len(lines) > MAX_LINES else []
    count = f"{len(found):,} " + ("change" if len(found) == 1 else "changes")
    key = [
        html.Strong(count),
        html.Span("new", className="key added"),
        html.Span("gone", className="key removed"),
        html.Span("another type or direction", className="key turned"),
    ]
    return [html.P(key, className="hint row"), html.Ul([html.Li(line) for line in lines[:MAX_LINES]] + more)]
