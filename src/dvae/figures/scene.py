"""A drawing as a value that a browser can pan, zoom and search: boxes and curves, and what each of them says.

`viewer.js` draws it on the explorer's page and in reports.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dvae.dag.columns import Column, values_at
from dvae.dag.value import Dag, Edge, Label
from dvae.figures.arrows import EdgeLook, arrow
from dvae.figures.directions import Direction, arrangement
from dvae.figures.folding import Folding, group_name
from dvae.figures.layout import Box, Point
from dvae.figures.picture import shortened, text_width
from dvae.figures.style import DagStyle, mixed, text_colour

FULL_LABEL = 420.0  # pixels up to which a label is shown whole
PADDING = 22.0  # of a box, left and right of its text together
GROUP = "#e8edf3"  # boxes of several types
FOLDABLE = 16  # nodes from which on a drawing can be folded
MAX_WIDTH = 5.0  # of an edge that stands for many


@dataclass(frozen=True, slots=True)
class SceneNode:
    """A node, or a group of them, as a box."""

    x: float
    y: float
    box: Box
    fill: str
    label: str  # as it is drawn
    name: str  # in full
    members: tuple[int, ...]  # the nodes of the DAG that it stands for
    kind: str = ""  # how it differs from another DAG: added, removed or changed
    values: tuple[tuple[str, str], ...] = ()
    shares: tuple[tuple[str, float], ...] = ()  # of a group of several types: colours and their shares


@dataclass(frozen=True, slots=True)
class SceneEdge:
    """An edge, or several between two groups, as a chain of cubics."""

    source: int  # places among the nodes of the scene
    target: int
    route: tuple[Point, ...]
    count: int = 1
    kind: str = ""
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A whole drawing. `types` and `names` are those of the DAG's nodes, which groups refer to."""

    width: float
    height: float
    direction: Direction
    nodes: tuple[SceneNode, ...]
    edges: tuple[SceneEdge, ...]
    types: tuple[str, ...]
    folded: bool = False
    foldable: bool = False
    title: str = ""

    def to_mapping(self) -> dict[str, Any]:
        """Plain values for `viewer.js`, names kept short: a thousand nodes are sent at once."""
        style = DagStyle()
        return {
            "width": round(self.width, 1),
            "height": round(self.height, 1),
            "direction": self.direction,
            "folded": self.folded,
            "foldable": self.foldable,
            "title": self.title,
            "types": list(self.types),
            "nodes": [_plain_node(node) for node in self.nodes],
            "edges": [_plain_edge(edge, style) for edge in self.edges],
        }


def numbered(dag: Dag) -> list[str]:
    """What the nodes are called in a drawing: their types, with their numbers where a type comes more than once."""
    times = Counter(dag.types)
    return [str(label) if times[label] == 1 else f"{node}: {label}" for node, label in enumerate(dag.types)]


def make_scene(
    dag: Dag,
    style: DagStyle,
    *,
    direction: Direction = "right",
    folding: Folding | None = None,
    title: str = "",
) -> Scene:
    """The drawing of a DAG, or of a folding of it."""
    groups = [(node,) for node in range(len(dag))] if folding is None else list(folding.groups)
    links: Sequence[tuple[Edge, int]] = [(edge, 1) for edge in dag.edges] if folding is None else folding.links
    names = numbered(dag)
    nodes = [_node(dag, group, names, style) for group in groups]
    shown = Dag(tuple(range(len(groups))), tuple(edge for edge, _ in links))
    layout = arrangement(direction)(shown, [node.box for node in nodes])
    placed = [replace(node, x=x, y=y) for node, (x, y) in zip(nodes, layout.centres, strict=True)]
    count, at = dict(links), {edge: place for place, edge in enumerate(dag.edges)}
    edges = []
    for (source, target), route in zip(shown.edges, layout.routes, strict=True):
        ends = groups[source], groups[target]
        single = at.get((ends[0][0], ends[1][0])) if len(ends[0]) == len(ends[1]) == 1 else None
        values = () if single is None else value_words(dag.edge, single)
        edges.append(SceneEdge(source, target, route, count[source, target], values=values))
    types = tuple(map(str, dag.types))
    folds = len(groups) < len(dag), len(dag) >= FOLDABLE
    return Scene(layout.width, layout.height, direction, tuple(placed), tuple(edges), types, *folds, title)


def edge_width(edge: SceneEdge, width: float) -> float:
    """How wide an edge is, more where it stands for several or differs from another DAG."""
    return min(MAX_WIDTH, width * (1 + math.log2(edge.count) / 3)) + (1.0 if edge.kind else 0.0)


def node_box(text: str, style: DagStyle) -> Box:
    """A circle where the style has them and the text fits into it, else a box around the text."""
    if style.round and text_width(text, style.font_size) <= style.circle - 6:
        return Box(style.circle, style.circle, round=True)
    return Box(max(style.min_width, text_width(text, style.font_size) + PADDING), style.node_height)


def value_words(columns: Mapping[str, Column], place: int) -> tuple[tuple[str, str], ...]:
    """What the columns say at a place, absent values left out."""
    return tuple(
        (name, value if isinstance(value, str) else f"{value:.6g}")
        for name, value in values_at(columns, place).items()
        if value is not None
    )


def make_node(dag: Dag, node: int, text: str, style: DagStyle, kind: str = "") -> SceneNode:
    """One node of a DAG with the text that is drawn, not placed yet."""
    label = shortened(text, FULL_LABEL, style.font_size)
    name, fill = f"{node}: {dag.types[node]}", style.colour(dag.types[node])
    return SceneNode(0, 0, node_box(label, style), fill, label, name, (node,), kind, value_words(dag.node, node))


def _node(dag: Dag, group: tuple[int, ...], names: Sequence[str], style: DagStyle) -> SceneNode:
    if len(group) == 1:
        return make_node(dag, group[0], names[group[0]], style)
    types = [dag.types[node] for node in group]
    name, shares = group_name(types), _shares(types, style)
    # The colours tell the types of a group, so that its box can be narrow and many of them fit into a window.
    label = shortened(name if len(shares) == 1 else f"{len(group):,} nodes", FULL_LABEL, style.font_size)
    fill = shares[0][0] if len(shares) == 1 else GROUP
    return SceneNode(0, 0, node_box(label, replace(style, round=False)), fill, label, name, group, shares=shares)


def _shares(types: Sequence[Label], style: DagStyle) -> tuple[tuple[str, float], ...]:
    counts = Counter(style.colour(label) for label in types)
    return tuple((colour, count / len(types)) for colour, count in counts.most_common())


def _plain_node(node: SceneNode) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "x": round(node.x, 1),
        "y": round(node.y, 1),
        "w": round(node.box.width, 1),
        "h": round(node.box.height, 1),
        "fill": node.fill,
        "ink": text_colour(node.fill),
        "stroke": mixed(node.fill, "#000000", 0.3),
        "label": node.label,
        "name": node.name,
        "members": list(node.members),
    }
    if node.box.round:
        plain["round"] = True
    if len(node.shares) > 1:
        plain["shares"] = [[colour, round(share, 4)] for colour, share in node.shares]
    return plain | _plain_rest(node.kind, node.values)


def _plain_edge(edge: SceneEdge, style: DagStyle) -> dict[str, Any]:
    drawn = arrow(edge.route, EdgeLook(edge_width(edge, style.edge_width), style.edge), "")
    assert drawn.head is not None
    plain: dict[str, Any] = {
        "from": edge.source,
        "to": edge.target,
        "width": round(drawn.width, 2),
        "route": [round(number, 1) for point in drawn.points for number in point],
        "head": [round(number, 1) for point in drawn.head for number in point],
    }
    if edge.count > 1:
        plain["count"] = edge.count
    return plain | _plain_rest(edge.kind, edge.values)


def _plain_rest(kind: str, values: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    rest: dict[str, Any] = {"kind": kind} if kind else {}
    return rest | ({"values": [list(pair) for pair in values]} if values else {})
