"""DAGs as the page draws them: elements of a cytoscape graph at fixed places, and thumbnails.

Places and routes come from `dvae.figures`, so a DAG looks the same here as in every other picture, and edges keep
clear of nodes, which a layout that only places nodes cannot promise.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dvae.dag import Dag, Label
from dvae.errors import DagError
from dvae.explorer.walks import Changes, changes, identities
from dvae.figures import DagStyle, architecture_style, bayesnet_style, compact, generic_style, layered, to_svg
from dvae.figures.fixed import Arrange, column, ring
from dvae.figures.layout import Box, Point
from dvae.figures.style import SHORT_NAME, mixed, text_colour
from dvae.tasks import BayesNetTask, EnasTask, Task

Element = dict[str, Any]
Name = object  # of a node: what `walks.identities` gives

REMEMBERED = 4096
EDGE = "#7f8da1"  # seen on light and on dark ground
LEAST_LENGTH = 1e-6
TOWER = 1.15  # height to width from which on a drawing is turned: the page has more width than height
ON_THE_LINE = 1.5  # pixels; controls this near to the straight line are left out


def style_for(task: Task) -> DagStyle:
    """One look for all DAGs of a task; the background is the page's."""
    labels = task.vocabulary.labels[2:]
    if isinstance(task, EnasTask):
        style = architecture_style()
    elif isinstance(task, BayesNetTask) and all(len(str(label)) <= SHORT_NAME for label in labels):
        style = bayesnet_style(labels)
    else:
        style = generic_style(task.vocabulary.labels)
    return replace(style, background=None, edge=EDGE, edge_width=1.8)


@dataclass(frozen=True)
class Frame:
    """Places for nodes and routes for edges, by name: one frame can hold many DAGs, which then do not jump."""

    width: float
    height: float
    centres: dict[Name, Point]
    routes: dict[tuple[Name, Name], tuple[Point, ...]]


def frame(dag: Dag, style: DagStyle, task: Task) -> Frame:
    """The frame of one DAG."""
    return _frame(dag, [style.box(label) for label in dag.types], identities(dag, task))


def common_frame(dags: Sequence[Dag], style: DagStyle, task: Task) -> Frame | None:
    """One frame for all of `dags`; None where no order suits them all, or their nodes cannot be told apart."""
    labels: dict[Name, Label] = {}
    edges: set[tuple[Name, Name]] = set()
    for dag in dags:
        names = identities(dag, task)
        for name, label in zip(names, dag.types, strict=True):
            # The widest label of a position makes its box.
            if len(str(label)) >= len(str(labels.get(name, ""))):
                labels[name] = label
        edges |= {(names[source], names[target]) for source, target in dag.edges}
    if len({type(name) for name in labels}) > 1:
        return None  # variables in some, positions in others
    order = list(labels) if not all(isinstance(name, int) for name in labels) else sorted(labels, key=str)
    order = sorted(order, key=lambda name: name if isinstance(name, int) else 0)
    number = {name: place for place, name in enumerate(order)}
    try:
        union = Dag(tuple(str(place) for place in range(len(order))), tuple((number[u], number[v]) for u, v in edges))
    except DagError:
        return None
    names = [order[int(str(label))] for label in union.types]
    return _frame(union, [style.box(labels[name]) for name in names], names)


def elements(
    dag: Dag, style: DagStyle, task: Task, *, within: Frame | None = None, changed: Changes | None = None
) -> list[Element]:
    """The nodes and edges of a drawing; changed ones carry classes, removed edges are drawn as ghosts."""
    place = within or frame(dag, style, task)
    changed = changed or Changes()
    names = identities(dag, task)
    nodes = [_node(node, dag.types[node], name, place, style, name in changed.nodes) for node, name in enumerate(names)]
    edges = []
    for source, target in dag.edges:
        pair = (names[source], names[target])
        edges.append(
            _edge(f"e{source}-{target}", source, target, place, pair, "added" if pair in changed.added else "")
        )
    number = {name: node for node, name in enumerate(names)}
    for pair in sorted(changed.removed, key=str):
        if pair[0] in number and pair[1] in number and pair in place.routes:
            source, target = number[pair[0]], number[pair[1]]
            edges.append(_edge(f"g{source}-{target}", source, target, place, pair, "removed"))
    return [*_corners(place), *nodes, *edges]


def film(dags: Sequence[Dag], style: DagStyle, task: Task) -> list[list[Element]]:
    """The drawings of a walk, each with what changed since the one before."""
    shared = common_frame(dags, style, task)
    pictures = []
    for number, dag in enumerate(dags):
        difference = changes(dags[number - 1], dag, task) if number else Changes()
        pictures.append(elements(dag, style, task, within=shared, changed=difference))
    return pictures


@lru_cache(maxsize=REMEMBERED)
def thumbnail(dag: Dag, task: Task) -> str:
    """A small picture as a data address, for an image.

    Small pictures stand side by side to be compared, so nodes have fixed places where the task names them.
    """
    text = to_svg(dag, style=compact(style_for(task)), arrange=_arrangement(dag, task)).encode()
    return "data:image/svg+xml;base64," + base64.b64encode(text).decode("ascii")


def _arrangement(dag: Dag, task: Task) -> Arrange:
    if isinstance(task, EnasTask):
        return column
    if isinstance(task, BayesNetTask) and len(set(dag.types)) == len(dag):
        return ring(task.variables)
    return layered


def _frame(dag: Dag, boxes: Sequence[Box], names: Sequence[Name]) -> Frame:
    """From left to right; top to bottom where that is wider."""
    layout = layered(dag, boxes)
    sideways = layout.height > TOWER * layout.width
    if sideways:
        layout = layered(dag, [Box(box.height, box.width, box.round) for box in boxes])
    turn = _turned if sideways else _upright
    centres = {name: turn(centre) for name, centre in zip(names, layout.centres, strict=True)}
    routes = {
        (names[source], names[target]): tuple(map(turn, route))
        for (source, target), route in zip(dag.edges, layout.routes, strict=True)
    }
    return Frame(*turn((layout.width, layout.height)), centres, routes)


def _upright(point: Point) -> Point:
    return point


def _turned(point: Point) -> Point:
    return point[1], point[0]


def _corners(place: Frame) -> list[Element]:
    """Two unseen marks that the view is fitted to, so that the drawings of one frame keep one scale."""
    ends = ((0.0, 0.0), (place.width, place.height))
    return [
        {"data": {"id": f"corner{number}"}, "position": {"x": x, "y": y}, "classes": "corner", "selectable": False}
        for number, (x, y) in enumerate(ends)
    ]


def _node(node: int, label: Label, name: Name, place: Frame, style: DagStyle, changed: bool) -> Element:
    fill = style.colour(label)
    box = style.box(label)
    x, y = place.centres[name]
    data = {
        "id": f"n{node}",
        "node": node,
        "label": style.text(label),
        "full": f"{node}: {label}",
        "fill": fill,
        "stroke": mixed(fill, "#000000", 0.3),
        "ink": text_colour(fill),
        "width": box.width,
        "height": box.height,
        "shape": "ellipse" if box.round else "round-rectangle",
    }
    return {"data": data, "position": {"x": x, "y": y}, "classes": "changed" if changed else "", "grabbable": False}


def _edge(name: str, source: int, target: int, place: Frame, pair: tuple[Name, Name], kind: str) -> Element:
    weights, distances = _controls(place.routes[pair], place.centres[pair[0]], place.centres[pair[1]])
    data: Element = {"id": name, "source": f"n{source}", "target": f"n{target}", "from": source, "to": target}
    classes = kind
    if weights:
        data |= {"weights": " ".join(map(str, weights)), "distances": " ".join(map(str, distances))}
        classes = f"{kind} routed".strip()
    return {"data": data, "classes": classes}


def _controls(route: Sequence[Point], start: Point, end: Point) -> tuple[list[float], list[float]]:
    """The control points of a route relative to the line from start to end, as cytoscape wants them.

    Its unbundled curves pass through the middles of consecutive controls, so the ends of inner pieces, where a route
    runs in its lane, serve as controls; two of them hold the curve in the lane.
    """
    right, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(right, down)
    if length < LEAST_LENGTH:
        return [], []
    inner = list(route[3:-3:3]) or list(route[1:-1])
    weights, distances = [], []
    for x, y in inner:
        across = ((x - start[0]) * -down + (y - start[1]) * right) / length
        along = ((x - start[0]) * right + (y - start[1]) * down) / length**2
        weights.append(round(along, 4))
        distances.append(round(across, 2))
    if all(abs(distance) < ON_THE_LINE for distance in distances):
        return [], []
    return weights, distances
