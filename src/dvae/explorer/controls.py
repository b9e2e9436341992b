"""Parts that the tabs of the page are made of, and what they send."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from dash import ctx, dcc, html
from dash.exceptions import PreventUpdate
from dash_cytoscape import Cytoscape

from dvae.explorer import charts, graph_view
from dvae.explorer.colours import ACCENT
from dvae.explorer.exports import Export, formats_of
from dvae.tasks import Task

ADDED, REMOVED = "#16a34a", "#e25563"
CHART_OPTIONS: Any = {"displayModeBar": False}
DRAWING_STYLE: list[dict[str, Any]] = [
    {
        "selector": "node[label]",
        "style": {
            **{name: f"data({name})" for name in ("label", "width", "height", "shape")},
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
    {"selector": "node.changed", "style": {"border-color": ADDED, "border-width": 4}},
    {"selector": "edge.added", "style": {"line-color": ADDED, "target-arrow-color": ADDED, "width": 3}},
    {
        "selector": "edge.removed",
        "style": {"line-color": REMOVED, "target-arrow-color": REMOVED, "line-style": "dashed", "opacity": 0.75},
    },
    {"selector": "node:selected", "style": {"border-color": ACCENT, "border-width": 3}},
    {"selector": "edge:selected", "style": {"line-color": ACCENT, "target-arrow-color": ACCENT}},
]


def segments(name: str, options: list[str], value: str, label: str, kind: str = "segments") -> html.Div:
    """A few options side by side, one of which is chosen."""
    choices = [{"label": option.capitalize() if option.islower() else option, "value": option} for option in options]
    return html.Div(dcc.RadioItems(choices, value, id=name, className=kind), role="group", **aria_label(label))


def menu(name: str | dict[str, Any], placeholder: str, kind: str = "drop", **more: Any) -> dcc.Dropdown:
    """A drop-down list."""
    fixed: Any = {"clearable": False, "searchable": False, **more}
    return dcc.Dropdown(id=name, placeholder=placeholder, className=kind, **fixed)


def export_menu(name: str, task: Task) -> dcc.Dropdown:
    """The formats that DAGs of a task can be exported in."""
    formats = [{"label": kind.label, "value": kind.key} for kind in formats_of(task)]
    return menu(name, "Export as …", "drop export", options=formats)


def button(text: str, name: str, title: str | None = None, kind: str = "quiet small", **more: Any) -> html.Button:
    """A button, with a tooltip where the text is not enough."""
    return html.Button(text, id=name, className=kind, title=title, **more)


def theme_button() -> html.Button:
    """Light or dark; its picture is drawn by the style sheet, since not every font has one."""
    half = html.Span(className="half")
    return html.Button(half, id="theme", className="quiet icon", title="Light or dark", **aria_label("Light or dark"))


def chart(name: str, frame: str, *more: Any, **options: Any) -> html.Div:
    """An empty chart in a frame of its own, with more parts over it."""
    fixed: Any = {"config": CHART_OPTIONS, "responsive": True, "className": "chart", **options}
    graph = dcc.Graph(id=name, figure=charts.empty_chart(), **fixed)
    return html.Div([graph, *more], id=f"{name}-frame", className=frame)


def drawing(name: str, more_style: Sequence[dict[str, Any]] = ()) -> html.Div:
    """An empty drawing of a DAG."""
    graph = Cytoscape(
        id=name,
        elements=[],
        layout={"name": "preset", "fit": True, "padding": 16},
        stylesheet=[*DRAWING_STYLE, *more_style],
        style={"width": "100%", "height": "100%"},
        minZoom=0.1,
        maxZoom=1.6,
        autoungrabify=True,
        boxSelectionEnabled=False,
        responsive=True,
    )
    return html.Div(graph, className="drawing")


def aria_label(text: str) -> dict[str, Any]:
    """The name of a part for screen readers."""
    return {"aria-label": text}


def pressed() -> Any:
    """The index of the button that was pressed; buttons that merely appeared were not."""
    if not ctx.triggered or not ctx.triggered[0]["value"] or not isinstance(ctx.triggered_id, dict):
        raise PreventUpdate
    return ctx.triggered_id.get("index")


def download(export: Export) -> dict[str, Any]:
    """A file as the browser takes it."""
    content = base64.b64encode(export.content).decode("ascii")
    return {"filename": export.name, "content": content, "type": "application/octet-stream", "base64": True}


def error_line(text: str) -> list[Any]:
    """What the page shows of an error."""
    close: dict[str, Any] = {"data-close": "message"}
    return [html.Span(text), html.Button("Close", className="quiet small", **close)]
