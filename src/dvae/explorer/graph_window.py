"""The graph view: the page's DAG in the whole window, and which way all drawings of a browser tab run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dash import Dash, Input, Output, State, dcc, html

from dvae.dag import Dag, Difference
from dvae.errors import DvaeError
from dvae.explorer import graph_view, history
from dvae.explorer.comparison import difference_from
from dvae.explorer.controls import button, drawing
from dvae.explorer.model import PageModel
from dvae.explorer.places import RequestError
from dvae.figures import (
    DagStyle,
    Scene,
    difference_scene,
    fold,
    make_scene,
    viewer_script,
    viewer_style,
)
from dvae.figures.folding import LIMIT, MANY

MAX_OPENED = 500  # groups of one drawing
STYLE: list[dict[str, Any]] = [
    {"selector": f"node.{kind}", "style": {"border-color": colour, "border-width": 4}}
    for kind, colour in (("added", "#16a34a"), ("removed", "#e25563"), ("changed", "#d97706"))
] + [{"selector": "edge.turned", "style": {"line-color": "#d97706", "target-arrow-color": "#d97706", "width": 3}}]


def stores() -> list[Any]:
    """What the page remembers: the direction as long as the tab lives, wishes and scenes for the moment."""
    return [
        dcc.Store(id="direction", storage_type="session", data=graph_view.DIRECTION),
        dcc.Store(id="graph-request"),
        dcc.Store(id="graph-scene"),
        dcc.Store(id="graph-shown"),
    ]


def framed(name: str) -> html.Div:
    """A drawing with the button that opens it in the whole window."""
    frame = drawing(name, STYLE)
    opener = button("Graph view", "open-graph", "Open in the whole window: zoom, find a node, save (G)")
    frame.children = [frame.children, html.Div([*history.buttons(), opener], className="drawing-tools")]
    return frame


def head_parts() -> str:
    """Style and scripts for the head of the page."""
    style, script = ((files("dvae.explorer") / f"graph_window.{kind}").read_text("utf-8") for kind in ("css", "js"))
    return f"<style>\n{viewer_style()}{style}</style>\n<script>\n{viewer_script()}\n{script}</script>\n"


def elements_of(model: PageModel, dag: Dag, found: Difference | None, direction: object) -> list[graph_view.Element]:
    """The drawing in the tab: the DAG, or how it differs from another."""
    way = graph_view.direction_of(direction)
    if found is None:
        return graph_view.elements(dag, model.style, model.space.task, direction=way)
    return graph_view.scene_elements(difference_scene(found, model.style, direction=way))


def scene_of(dag: Dag, style: DagStyle, wish: object, title: str = "") -> Scene:
    """The drawing that the page asks for; without a wish, large DAGs come folded."""
    wish = wish if isinstance(wish, Mapping) else {}
    folded = wish.get("folded")
    is_folded = len(dag) > MANY if folded is None else bool(folded)
    limit = min(LIMIT, max(4, len(dag) // 3))  # who asks for a folding of a small DAG gets one
    folding = fold(dag, limit, _opened(wish.get("opened"))) if is_folded else None
    return make_scene(
        dag, style, direction=graph_view.direction_of(wish.get("direction")), folding=folding, title=title
    )


def connect(app: Dash, model: PageModel) -> None:
    """The scene of the page's DAG, and the window that shows it."""

    @app.callback(
        Output("graph-scene", "data"), Input("graph-request", "data"), State("current", "data"),
        State("enforce", "value"), State("compared", "data"), prevent_initial_call=True,
    )  # fmt: skip
    def drawn(wish: Any, shown: Any, enforce: Any, compared: Any) -> Any:
        try:
            found = difference_from(model, compared, shown, enforce)
            if found is not None:
                way = graph_view.direction_of(wish.get("direction") if isinstance(wish, Mapping) else None)
                return difference_scene(found, model.style, direction=way).to_mapping()
            return scene_of(model.find(shown, enforce).dag, model.style, wish).to_mapping()
        except DvaeError as error:  # said in the window, which lies over the page's own line for errors
            return {"problem": str(error)}

    app.clientside_callback(
        "function (scene) { return explorerGraph.show(scene); }",
        Output("graph-shown", "data"), Input("graph-scene", "data"), prevent_initial_call=True,
    )  # fmt: skip


def _opened(groups: object) -> set[tuple[int, int]]:
    if groups is None:
        return set()
    if not isinstance(groups, list) or len(groups) > MAX_OPENED:
        raise RequestError(f"at most {MAX_OPENED} groups of a drawing can be opened")
    found = set()
    for group in groups:
        if (
            not isinstance(group, list)
            or len(group) != 2
            or any(isinstance(n, bool) or not isinstance(n, int) for n in group)
        ):
            raise RequestError("a group of a drawing is its first node and its size")
        found.add((group[0], group[1]))
    return found
