"""Undo and redo of edits: the page remembers what the DAG was before each of them, and the server remembers nothing."""

from __future__ import annotations

from typing import Any

from dash import Dash, Input, Output, State, dcc, html

from dvae.explorer.controls import aria_label, button


def parts() -> list[Any]:
    """What the page keeps: the edit that was made last, for the browser to add to its list."""
    return [dcc.Store(id="edited"), dcc.Store(id="history", data={"past": [], "future": []})]


def buttons() -> list[html.Button]:
    """Undo and redo."""
    return [
        button("↶", "undo", "Undo the last edit (Ctrl+Z)", disabled=True, **aria_label("Undo")),
        button("↷", "redo", "Redo what was undone (Ctrl+Shift+Z)", disabled=True, **aria_label("Redo")),
    ]


def edit(before: object, after: dict[str, Any]) -> dict[str, Any]:
    """What an edit sends to the page: the places of the DAG before and after it."""
    return {"before": before, "after": after}


def connect(app: Dash) -> None:
    """The list of edits, kept in the browser."""
    app.clientside_callback(
        "function (edited, history) { return explorerGraph.edited(edited, history); }",
        Output("history", "data"), Input("edited", "data"), State("history", "data"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (undo, redo, history) { return explorerGraph.moved(history); }",
        Output("current", "data", allow_duplicate=True), Output("history", "data", allow_duplicate=True),
        Input("undo", "n_clicks"), Input("redo", "n_clicks"), State("history", "data"), prevent_initial_call=True,
    )  # fmt: skip
    app.clientside_callback(
        "function (history) { return [!history.past.length, !history.future.length]; }",
        Output("undo", "disabled"), Output("redo", "disabled"), Input("history", "data"),
    )  # fmt: skip
