"""DAGs as the page draws them: elements of a cytoscape graph at fixed places, and thumbnails.

Places and routes come from `dvae.figures`, so a DAG looks the same here as in every other picture, and edges keep
clear of nodes, which a layout that only places nodes cannot promise.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from dvae import figures
from dvae.dag import Dag, Label
from dvae.dag.columns import Column
from dvae.errors import DagError
from dvae.explorer.places import choice
from dvae.explorer.walks import Changes, changes
from dvae.figures import (
    DIRECTIONS,
    Arrange,
    DagStyle,
    Direction,
    arrangement,
    column,
    compact,
    directed,
    layered,
    ring,
    to_svg,
)
from dvae.figures.folding import MANY, fold
from dvae.figures.layout import Box, Point
from dvae.figures.scene import Scene, SceneNode, make_scene, value_words
from dvae.figures.scene_picture import scene_picture
from dvae.figures.style import mixed, text_colour
from dvae.figures.svg import svg_text
from dvae.tasks import Task

Element = dict[str, Any]
Name = Hashable  # of a node: see `Task.node_names`

REMEMBERED = 4096
EDGE = "#7f8da1"  # visible on light and dark backgrounds
MIN_LENGTH = 1e-6
DIRECTION: Direction = "right"  # of drawings, until the reader chooses another: the page has more width than height
MANY_SMALL = 60  # nodes above which a thumbnail is folded
ON_THE_LINE = 1.5  # pixels; controls this near to the straight line are left out
CLEARANCE = 8.0  # pixels between a control point and the nodes of its edge: room for thick borders and the arrow head


def direction_of(wanted: object) -> Direction:
    """The direction that the page names, or the usual one."""
    if wanted is None:
        return DIRECTION
    return "down" if choice(wanted, DIRECTIONS, "the direction") == "down" else "right"


def task_style(task: Task) -> DagStyle:
    """The style of all DAGs of a task on the page, which has its own background."""
    return replace(figures.task_style(task), background=None, edge=EDGE, edge_width=1.8)


@dataclass(frozen=True)
class Frame:
    """Places for nodes and routes for edges, by name: one frame can hold many DAGs, which then do not jump."""

    width: float
    height: float
    centres: dict[Name, Point]
    routes: dict[tuple[Name, Name], tuple[Point, ...]]


def frame(dag: Dag, style: DagStyle, task: Task, direction: Direction = DIRECTION) -> Frame:
    """The frame of one DAG."""
    return _frame(dag, [style.box(label) for label in dag.types], task.node_names(dag), direction)


def common_frame(dags: Sequence[Dag], style: DagStyle, task: Task, direction: Direction = DIRECTION) -> Frame | None:
    """One frame for all of `dags`; None where no order suits them all, or their nodes cannot be told apart."""
    labels: dict[Name, Label] = {}
    edges: set[tuple[Name, Name]] = set()
    for dag in dags:
        names = task.node_names(dag)
        for name, label in zip(names, dag.types, strict=True):
            labels[name] = max(labels.get(name, label), label, key=lambda each: style.box(each).width)
        edges |= {(names[source], names[target]) for source, target in dag.edges}
    if len({type(name) for name in labels}) > 1:
        return None  # variables in some, positions in others
    order = sorted(labels, key=lambda name: name if isinstance(name, int) else 0)  # others stay as they came
    number = {name: place for place, name in enumerate(order)}
    try:
        union = Dag(tuple(str(place) for place in range(len(order))), tuple((number[u], number[v]) for u, v in edges))
    except DagError:
        return None
    names = [order[int(str(label))] for label in union.types]
    return _frame(union, [style.box(labels[name]) for name in names], names, direction)


def elements(
    dag: Dag,
    style: DagStyle,
    task: Task,
    *,
    within: Frame | None = None,
    changed: Changes | None = None,
    direction: Direction = DIRECTION,
) -> list[Element]:
    """The nodes and edges of a drawing, folded where there are too many; changed ones carry classes."""
    if within is not None or changed is not None:
        names = task.node_names(dag)
        return named_elements(dag, style, names, within=within, changed=changed, direction=direction)
    return scene_elements(make_scene(dag, style, direction=direction, folding=fold(dag) if len(dag) > MANY else None))


def scene_elements(scene: Scene) -> list[Element]:
    """A scene as elements; what differs from another DAG has its kind as a class."""
    place = Frame(
        scene.width,
        scene.height,
        {number: (node.x, node.y) for number, node in enumerate(scene.nodes)},
        {(edge.source, edge.target): edge.route for edge in scene.edges},
    )
    nodes = [_scene_node(node, number) for number, node in enumerate(scene.nodes)]
    edges = []
    for edge in scene.edges:
        ends = edge.source, edge.target
        boxes = scene.nodes[edge.source].box, scene.nodes[edge.target].box
        drawn = _edge(ends, edge.kind, _controls(place, ends, boxes))
        edges.append(_with_values(drawn, edge.values, f"{ends[0]} → {ends[1]}"))
    return [*_corners(place), *nodes, *edges]


def named_elements(
    dag: Dag,
    style: DagStyle,
    names: Sequence[Name],
    *,
    within: Frame | None = None,
    changed: Changes | None = None,
    direction: Direction = DIRECTION,
) -> list[Element]:
    """The nodes and edges of a DAG whose nodes have names; changed ones carry classes, removed edges are ghosts."""
    place = within or _frame(dag, [style.box(label) for label in dag.types], names, direction)
    changed = changed or Changes()
    nodes = [_node(dag, node, name, place, style, name in changed.nodes) for node, name in enumerate(names)]
    number = {name: node for node, name in enumerate(names)}
    at = {edge: place for place, edge in enumerate(dag.edges)}
    shown = [(names[source], names[target]) for source, target in dag.edges]
    kinds = {pair: "added" if pair in changed.added else "" for pair in shown}
    kinds |= dict.fromkeys(sorted(changed.removed & place.routes.keys(), key=str), "removed")
    edges = []
    for (source, target), kind in kinds.items():
        if source in number and target in number:
            ends = number[source], number[target]
            boxes = style.box(dag.types[ends[0]]), style.box(dag.types[ends[1]])
            edge = _edge(ends, kind, _controls(place, (source, target), boxes))
            edges.append(_with_columns(edge, dag.edge, at.get(ends), f"{ends[0]} → {ends[1]}"))
    return [*_corners(place), *nodes, *edges]


def film(dags: Sequence[Dag], style: DagStyle, task: Task, direction: Direction = DIRECTION) -> list[list[Element]]:
    """The drawings of a walk, each with what changed since the one before."""
    shared = common_frame(dags, style, task, direction)
    pictures = []
    for number, dag in enumerate(dags):
        found = changes(dags[number - 1], dag, task) if number else Changes()
        pictures.append(elements(dag, style, task, within=shared, changed=found, direction=direction))
    return pictures


@lru_cache(maxsize=REMEMBERED)
def thumbnail(dag: Dag, task: Task, direction: Direction = DIRECTION) -> str:
    """A small picture as a data address, for an image; it runs as all other drawings of its browser tab do.

    Small pictures stand side by side to be compared, so nodes have fixed places where the task names them.
    """
    style = compact(task_style(task))
    if len(dag) > MANY_SMALL:
        scene = make_scene(dag, style, direction=direction, folding=fold(dag, MANY_SMALL // 3))
        text = svg_text(scene_picture(scene, style))
    else:
        text = to_svg(dag, style=style, arrange=_arrangement(dag, task, direction))
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")


def _arrangement(dag: Dag, task: Task, direction: Direction) -> Arrange:
    if task.look.arrangement == "ring" and task.node_names(dag) == list(dag.types):
        return ring(task.vocabulary.labels[2:])
    return directed(column if task.look.arrangement == "column" else layered, direction)


def _frame(dag: Dag, boxes: Sequence[Box], names: Sequence[Name], direction: Direction) -> Frame:
    layout = arrangement(direction)(dag, boxes)
    centres = dict(zip(names, layout.centres, strict=True))
    routes = {
        (names[source], names[target]): route for (source, target), route in zip(dag.edges, layout.routes, strict=True)
    }
    return Frame(layout.width, layout.height, centres, routes)


def _corners(place: Frame) -> list[Element]:
    """Two unseen marks that the view is fitted to, so that the drawings of one frame keep one scale."""
    ends = ((0.0, 0.0), (place.width, place.height))
    return [
        {"data": {"id": f"corner{number}"}, "position": {"x": x, "y": y}, "classes": "corner", "selectable": False}
        for number, (x, y) in enumerate(ends)
    ]


def _node(dag: Dag, node: int, name: Name, place: Frame, style: DagStyle, changed: bool) -> Element:
    label = dag.types[node]
    words = style.text(label), f"{node}: {label}"
    drawn = _node_element(node, words, style.colour(label), style.box(label), place.centres[name])
    drawn["classes"] = "changed" if changed else ""
    return _with_columns(drawn, dag.node, node, words[1])


def _scene_node(node: SceneNode, number: int) -> Element:
    """A group stands for several nodes, so it has no number that could be edited."""
    drawn = _node_element(number, (node.label, node.name), node.fill, node.box, (node.x, node.y))
    drawn["classes"] = node.kind
    drawn["data"]["node"] = node.members[0] if len(node.members) == 1 else None
    return _with_values(drawn, node.values, node.name)


def _node_element(number: int, words: tuple[str, str], fill: str, box: Box, at: Point) -> Element:
    data = {
        "id": f"n{number}",
        "node": number,
        "label": words[0],
        "full": words[1],
        "fill": fill,
        "stroke": mixed(fill, "#000000", 0.3),
        "ink": text_colour(fill),
        "width": box.width,
        "height": box.height,
        "shape": "ellipse" if box.round else "round-rectangle",
    }
    return {"data": data, "position": {"x": at[0], "y": at[1]}, "classes": "", "grabbable": False}


def _with_columns(drawn: Element, columns: Mapping[str, Column], place: int | None, title: str) -> Element:
    """An element with what its columns say at a place, for the page to show beside it."""
    return _with_values(drawn, () if place is None else value_words(columns, place), title)


def _with_values(drawn: Element, values: Sequence[tuple[str, str]], title: str) -> Element:
    if not values:
        return drawn
    return {**drawn, "data": {**drawn["data"], "full": title, "columns": [list(pair) for pair in values]}}


def _edge(ends: tuple[int, int], kind: str, controls: Sequence[Point]) -> Element:
    source, target = ends
    name = f"{'g' if kind == 'removed' else 'e'}{source}-{target}"
    data: Element = {"id": name, "source": f"n{source}", "target": f"n{target}", "from": source, "to": target}
    if controls:
        data["weights"] = " ".join(str(round(along, 4)) for along, _ in controls)
        data["distances"] = " ".join(str(round(across, 2)) for _, across in controls)
    return {"data": data, "classes": f"{kind} routed".strip() if controls else kind}


def _controls(place: Frame, pair: tuple[Name, Name], boxes: tuple[Box, Box]) -> list[Point]:
    """The control points of a route as cytoscape wants them: the share along the line of centres, the distance from it.

    Its unbundled curves pass through the middles of consecutive controls, so the ends of inner pieces, where a route
    runs in its lane, serve as controls; two of them hold the curve in the lane.
    """
    route, start, end = place.routes[pair], place.centres[pair[0]], place.centres[pair[1]]
    right, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(right, down)
    if length < MIN_LENGTH:
        return []
    controls = []
    for point in route[3:-3:3] or route[1:-1]:
        x, y = _outside(_outside(point, start, boxes[0]), end, boxes[1])
        along = ((x - start[0]) * right + (y - start[1]) * down) / length**2
        controls.append((along, ((x - start[0]) * -down + (y - start[1]) * right) / length))
    return [] if all(abs(across) < ON_THE_LINE for _, across in controls) else controls


def _outside(point: Point, centre: Point, box: Box) -> Point:
    """The point, moved straight away from a node until it is clear of it.

    An edge ends where the line from its control point to the centre meets the node's outline; cytoscape does not draw
    an edge whose control point is inside.
    """
    x, y = point[0] - centre[0], point[1] - centre[1]
    across, down = x / (box.width / 2 + CLEARANCE), y / (box.height / 2 + CLEARANCE)
    reach = math.hypot(across, down) if box.round else max(abs(across), abs(down))
    return point if reach >= 1 or reach == 0 else (centre[0] + x / reach, centre[1] + y / reach)
