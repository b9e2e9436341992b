"""The tab that shows DAGs picked from the map, by a filter or a bookmark."""

from __future__ import annotations

from typing import Any

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from dvae.explorer import gallery, graph_view, places
from dvae.explorer.cards import worth_text
from dvae.explorer.controls import aria_label, button, download, export_menu, menu, pressed, segments
from dvae.explorer.gallery import BOOKMARKS, FILTERED, SELECTED, SOURCES, Gallery, Item
from dvae.explorer.model import PageModel
from dvae.explorer.quantities import NODES, NUMBER, SCORE
from dvae.figures import Direction

PAGE = 24  # DAGs that are shown at first, and more at a time
MAX_PAGES = 1_000
ORDERS = ("falling", "rising")
EMPTY = {
    SELECTED: "Nothing is selected. Choose the box or the lasso above the map, and draw around some DAGs.",
    FILTERED: "No DAG of the map passes the filter.",
    BOOKMARKS: "There are no bookmarks yet. “Bookmark” at the top keeps the DAG under Inspect, in the run's folder.",
}


def panel(model: PageModel) -> html.Div:
    """The parts of the tab."""
    sort = SCORE if len(model.space.sorted_scores) else NODES
    choices = [
        segments("gallery-source", list(SOURCES), FILTERED, "What the gallery shows"),
        html.Span(id="gallery-words", className="label grow", role="status"),
        export_menu("gallery-export", model.space.task),
    ]
    order = [
        html.Span("Sort by", className="label"),
        menu("gallery-sort", "order", options=[sort], value=sort),
        segments("gallery-order", list(ORDERS), ORDERS[0], "Direction of the order"),
        html.Span("Tick to export or compare", className="label push"),
        button("Compare", "gallery-compare", "Lay the ticked DAGs side by side"),
    ]
    return html.Div(
        id="panel-Gallery",
        className="panel",
        hidden=True,
        children=[
            html.Div(choices, className="row"),
            html.Div(order, className="row"),
            html.Div(id="gallery-compared", className="compared", hidden=True, tabIndex=0, role="group",
                     **aria_label("DAGs side by side")),
            html.Div([html.Div(id="gallery-cards", className="gallery"), button("Show more", "gallery-more")],
                     className="gallery-frame", tabIndex=0, role="group", **aria_label("Gallery")),
            dcc.Store(id="picked", data=[]),
        ],
    )  # fmt: skip


def connect(app: Dash, model: PageModel) -> None:
    """What the gallery shows, and what can be done with it."""
    source = (State("gallery-source", "value"), State("selection", "data"), State("filter", "value"))
    order = (State("gallery-sort", "value"), State("gallery-order", "value"))

    def collected(kind: Any, selection: Any, text: Any, sort: Any, direction: Any) -> Gallery:
        found = gallery.collect(model, kind, selection, text)
        name = sort if sort in found.quantities.names else NUMBER
        rising = places.choice(direction, ORDERS, "the direction") == "rising"
        return found.sorted_by(name, rising=rising) if found.items else found

    @app.callback(
        Output("gallery-cards", "children"), Output("gallery-words", "children"), Output("gallery-more", "hidden"),
        Output("gallery-sort", "options"), Output("gallery-compare", "disabled"),
        Input("gallery-source", "value"), Input("selection", "data"), Input("filter", "value"),
        Input("gallery-sort", "value"), Input("gallery-order", "value"), Input("gallery-more", "n_clicks"),
        Input("tab", "value"), Input("bookmarked", "data"), Input("direction", "data"), State("picked", "data"),
        prevent_initial_call=True,
    )  # fmt: skip
    def show(kind: Any, selection: Any, text: Any, sort: Any, order: Any, more: Any, tab: Any, _: Any,
             direction: Any, picked: Any) -> Any:  # fmt: skip
        if tab != "Gallery":
            raise PreventUpdate
        found = collected(kind, selection, text, sort, order)
        way = graph_view.direction_of(direction)
        pages = places.whole_number(more or 0, 0, MAX_PAGES, "the number of clicks")
        shown = found.items[: PAGE * (pages + 1)]
        ticked = {item.key for item in found.picked(picked)}
        options = [name for name in found.quantities.names if name != NUMBER]
        words = f"{len(found.items):,} DAG{'' if len(found.items) == 1 else 's'}"
        cells: list[Any] = [
            _card(model, found, place, sort, item.key in ticked, way) for place, item in enumerate(shown)
        ]
        return (
            cells or html.P(EMPTY[kind], className="hint"), words, len(shown) == len(found.items), options,
            len(found.items) < 2,
        )  # fmt: skip

    @app.callback(
        Output("picked", "data"), Input({"type": "pick", "index": ALL}, "value"), State("picked", "data"),
        State({"type": "pick", "index": ALL}, "id"), prevent_initial_call=True,
    )  # fmt: skip
    def pick(values: Any, before: Any, ids: Any) -> Any:
        on_page = {str(one.get("index")) for one in ids if isinstance(one, dict)} if isinstance(ids, list) else set()
        kept = (
            [key for key in before if isinstance(key, str) and key not in on_page] if isinstance(before, list) else []
        )
        boxes = [box for box in values if isinstance(box, list)] if isinstance(values, list) else []
        return kept + [key for box in boxes for key in box if isinstance(key, str)]

    @app.callback(
        Output("gallery-compared", "children"), Output("gallery-compared", "hidden"),
        Input("gallery-compare", "n_clicks"), Input("gallery-compare-close", "n_clicks", allow_optional=True),
        State("picked", "data"), State("direction", "data"), *source, *order, prevent_initial_call=True,
    )  # fmt: skip
    def compare(_: Any, __: Any, picked: Any, direction: Any, *view: Any) -> Any:
        if ctx.triggered_id == "gallery-compare-close":
            return no_update, True
        found = collected(*view)
        items = found.picked(picked)
        way = graph_view.direction_of(direction)
        return _side_by_side(model, items, gallery.compared(found, items), way), False

    @app.callback(
        Output("current", "data", allow_duplicate=True), Output("tab", "value", allow_duplicate=True),
        Input({"type": "gallery", "index": ALL}, "n_clicks"), *source, prevent_initial_call=True,
    )  # fmt: skip
    def inspect(_: Any, *view: Any) -> Any:
        (item,) = gallery.collect(model, *view).picked([pressed()]) or (None,)
        if item is None:
            raise PreventUpdate
        return places.to_json(item.place), "Inspect"

    @app.callback(
        Output("download", "data", allow_duplicate=True), Output("gallery-export", "value"),
        Input("gallery-export", "value"), State("picked", "data"), State("direction", "data"), *source, *order,
        prevent_initial_call=True,
    )  # fmt: skip
    def export(key: Any, picked: Any, direction: Any, *view: Any) -> Any:
        if key is None:
            raise PreventUpdate
        found = collected(*view)
        return download(gallery.export_items(model, found.picked(picked) or found.items, key, direction)), None

    @app.callback(
        Output("tab", "value", allow_duplicate=True), Output("gallery-source", "value"),
        Input("open-gallery", "n_clicks"), State("selection", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def open_gallery(_: Any, selection: Any) -> Any:
        return "Gallery", FILTERED if selection is None else SELECTED

    @app.callback(
        Output("bookmark", "children"), Output("bookmarked", "data"), Output("bookmark", "aria-pressed"),
        Input("bookmark", "n_clicks"), Input("current", "data"), State("enforce", "value"),
        State("bookmarked", "data"),
    )  # fmt: skip
    def bookmark(_: Any, shown: Any, enforce: Any, before: Any) -> Any:
        mark = gallery.bookmark_of(model, shown, enforce)
        count: Any = no_update
        if ctx.triggered_id == "bookmark":
            is_set = model.bookmarks.toggle(mark)
            count = before + 1 if isinstance(before, int) and 0 <= before < 2**31 else 1
        else:
            is_set = any(each.place == mark.place for each in model.bookmarks.read())
        return "★ Bookmarked" if is_set else "☆ Bookmark", count, "true" if is_set else "false"


def _card(model: PageModel, found: Gallery, place: int, sort: Any, ticked: bool, way: Direction) -> html.Div:
    item = found.items[place]
    by = found.quantities.get(sort).text(place) if sort in found.quantities.names and sort != SCORE else ""
    box: Any = dcc.Checklist(
        [{"label": html.Span(item.title, className="name"), "value": item.key}], [item.key] if ticked else [],
        id={"type": "pick", "index": item.key}, className="check",
    )  # fmt: skip
    picture = html.Button(
        id={"type": "gallery", "index": item.key},
        className="thumb",
        title=f"{item.title}: inspect it",
        children=[
            html.Img(src=graph_view.thumbnail(item.dag, model.space.task, way), alt=item.title),
            html.Strong(worth_text(model.space, item.dag, item.score)),
            html.Small(f"{sort} {by}" if by else f"{len(item.dag)} nodes, {len(item.dag.edges)} edges"),
        ],
    )
    return html.Div([picture, box], className="gallery-card")


def _side_by_side(model: PageModel, items: list[Item], rows: list[tuple[str, list[str]]], way: Direction) -> list[Any]:
    """The pictures of some DAGs over a table of what tells them apart."""
    head = [html.Th(item.title, scope="col") for item in items]
    pictures = [
        html.Td(html.Img(src=graph_view.thumbnail(item.dag, model.space.task, way), alt=f"the DAG {item.title}"))
        for item in items
    ]
    body = [html.Tr([html.Th("", scope="row"), *pictures])]
    body += [html.Tr([html.Th(name, scope="row"), *(html.Td(word) for word in words)]) for name, words in rows]
    if not rows:
        body.append(html.Tr([html.Th("", scope="row"), html.Td("the same in all quantities", colSpan=len(items))]))
    return [
        html.Div(
            [html.H3("Side by side", className="grow"), button("Close", "gallery-compare-close")], className="row"
        ),
        html.Table([html.Thead(html.Tr([html.Th("", scope="col"), *head])), html.Tbody(body)]),
    ]
