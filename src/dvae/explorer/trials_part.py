"""The part of the search tab that shows every trial in a table."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dvae.dag import ScoredDag
from dvae.errors import DvaeError
from dvae.explorer import cards, filters, graph_view, places
from dvae.explorer.controls import aria_label, button, pressed
from dvae.explorer.exports import MAX_DAGS, Export, export
from dvae.explorer.model import PageModel
from dvae.explorer.places import RequestError
from dvae.explorer.quantities import SCORE
from dvae.explorer.trial_table import ATTRIBUTES, STANDING, STATE, TrialTable, attribute_words
from dvae.figures import Direction

BEST, ALL_TRIALS = "best", "all trials"
TICK, ROWS = "Tick DAGs to export", "Export the rows below"
PAGE = 40  # rows that are shown at first, and more at a time
MAX_PAGES = 1_000


def parts() -> list[Any]:
    """The table with its filter; hidden until it is chosen."""
    box = dcc.Input(
        id="trial-filter", type="text", debounce=0.4, placeholder="Filter, e.g. score > 0, state = complete, A -> B",
        maxLength=filters.MAX_TEXT, autoComplete="off", spellCheck=False,
    )  # fmt: skip
    return [
        html.Div(
            [html.Div(box, className="filter-frame"), html.Span(id="trial-words", className="label", role="status")],
            className="row trial-tools",
        ),
        html.Div(
            [html.Table(id="trial-rows", className="trials"), button("Show more", "trials-more", hidden=True)],
            className="table-frame", tabIndex=0, role="group", **aria_label("All trials"),
        ),
        dcc.Store(id="trial-sort", data={"by": "trial", "rising": True}),
    ]  # fmt: skip


def connect(app: Dash, model: PageModel) -> None:
    """The rows, their order, and what a click on one of them does."""

    @app.callback(
        Output("trial-rows", "children"), Output("trial-words", "children"), Output("trial-words", "className"),
        Output("trials-more", "hidden"),
        Input("shown-trials", "data"), Input("table-kind", "value"), Input("trial-filter", "value"),
        Input("trial-sort", "data"), Input("trials-more", "n_clicks"), Input("direction", "data"),
        State("study", "value"), prevent_initial_call=True,
    )  # fmt: skip
    def show(shown: Any, kind: Any, text: Any, order: Any, more: Any, direction: Any, number: Any) -> Any:
        if shown is None or kind != ALL_TRIALS:
            raise PreventUpdate
        table = TrialTable.of(model.study(number))
        try:
            rows = table.rows(text, order)
        except DvaeError as error:  # beside the filter; the table stays as it is
            return no_update, str(error), "problem", no_update
        pages = places.whole_number(more or 0, 0, MAX_PAGES, "the number of clicks")
        some = rows[: PAGE * (pages + 1)]
        words = f"{len(rows):,} of {len(table.trials):,}" if len(rows) < len(table.trials) else f"{len(rows):,} trials"
        way = graph_view.direction_of(direction)
        body = html.Tbody([_row(model, table, place, way) for place in some])
        return [_head(table, order), body], words, "label", len(some) == len(rows)

    @app.callback(
        Output("trial-sort", "data"), Input({"type": "sort", "index": ALL}, "n_clicks"), State("trial-sort", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def sort(_: Any, before: Any) -> Any:
        name = str(pressed())
        same = isinstance(before, dict) and before.get("by") == name
        return {"by": name, "rising": not before.get("rising", True) if same else name != SCORE}

    @app.callback(
        Output("best-part", "hidden"), Output("all-part", "hidden"), Output("export-words", "children"),
        Input("table-kind", "value"),
    )  # fmt: skip
    def kind(value: Any) -> Any:
        whole = value == ALL_TRIALS
        return whole, not whole, ROWS if whole else TICK


def export_rows(
    model: PageModel, study: object, text: object, order: object, key: object, direction: object = None
) -> Export:
    """The trials that pass a filter, in their order, as a file."""
    table = TrialTable.of(model.study(study))
    rows = [table.trials[place] for place in table.rows(text, order)]
    if len(rows) > MAX_DAGS:
        raise RequestError(f"one file holds at most {MAX_DAGS:,} DAGs, not {len(rows):,}; filter them first")
    way = graph_view.direction_of(direction)
    return export([ScoredDag(trial.dag, trial.score) for trial in rows], key, model.space.task, way)


def _head(table: TrialTable, order: Any) -> html.Thead:
    by, rising = (order.get("by"), order.get("rising")) if isinstance(order, dict) else (None, None)
    cells: list[Any] = [html.Th("DAG", scope="col")]
    for name in table.columns:
        sign = "" if name != by else " ↑" if rising else " ↓"
        state: dict[str, Any] = {"aria-sort": "ascending" if rising else "descending"} if name == by else {}
        sorter = html.Button(
            name + sign, id={"type": "sort", "index": name}, className="sorter", title=f"Sort by {name}"
        )
        cells.append(html.Th(sorter, scope="col", **state))
    if table.has_attributes:
        cells.append(html.Th(ATTRIBUTES, scope="col"))
    return html.Thead(html.Tr([*cells, html.Th("", scope="col")]))


def _row(model: PageModel, table: TrialTable, place: int, way: Direction) -> html.Tr:
    trial = table.trials[place]
    source = graph_view.thumbnail(trial.dag, model.space.task, way)
    cells: list[Any] = [html.Td(html.Img(src=source, alt=f"the DAG of trial {trial.number}"))]
    for name in table.columns:
        value = trial.score if name == SCORE else None
        words = table.quantities.get(name).text(place) if value is None else cards.score_text(value)
        title = trial.error if name == STATE else table.broken.get(trial.number) if name == STANDING else None
        cells.append(html.Td(words, title=title))
    if table.has_attributes:
        said = attribute_words(trial.dag)
        cells.append(html.Td(said, title=said, className="said"))
    open_it: Any = button("Inspect", "", kind="quiet small")
    open_it.id = {"type": "row", "index": trial.number}
    return html.Tr([*cells, html.Td(open_it if trial.score is not None else "", className="open")])
