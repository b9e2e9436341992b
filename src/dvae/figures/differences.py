"""Two DAGs in one drawing: what is new, what is gone and what has changed, by colour."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dvae.dag.differences import Difference
from dvae.dag.value import Dag, Edge
from dvae.figures.directions import Direction, arrangement
from dvae.figures.picture import Picture
from dvae.figures.scene import Scene, SceneEdge, SceneNode, make_node, numbered, value_words
from dvae.figures.scene_picture import save_scene, scene_picture
from dvae.figures.style import DagStyle, style_of


def difference_scene(
    difference: Difference, style: DagStyle | None = None, *, direction: Direction = "right", title: str = ""
) -> Scene:
    """Both DAGs laid over each other, kinds of nodes and edges told apart."""
    before, after = difference.before, difference.after
    style = style or style_of([before, after])
    nodes = [*_kept_and_added(difference, style), *_removed(difference, style)]
    place = {**difference.twin_of, **{node: len(after) + k for k, node in enumerate(difference.removed_nodes)}}
    turned, added = set(difference.turned_edges), set(difference.added_edges)
    kinds = {edge: "turned" if edge in turned else "added" if edge in added else "" for edge in after.edges}
    gone = {(place[source], place[target]) for source, target in difference.removed_edges}
    kinds |= dict.fromkeys(sorted(edge for edge in gone if edge[::-1] not in turned), "removed")
    union, flipped = _acyclic(len(nodes), kinds)
    layout = arrangement(direction)(union, [nodes[int(number)].box for number in union.types])
    for number, (x, y) in zip(union.types, layout.centres, strict=True):
        nodes[int(number)] = replace(nodes[int(number)], x=x, y=y)
    at = {edge: number for number, edge in enumerate(after.edges)}
    edges = []
    for (source, target), route in zip(union.edges, layout.routes, strict=True):
        ends = int(union.types[source]), int(union.types[target])
        if ends in flipped:
            ends, route = ends[::-1], route[::-1]
        values = value_words(after.edge, at[ends]) if ends in at else ()
        edges.append(SceneEdge(*ends, route, 1, kinds[ends], values))
    types = (*map(str, after.types), *(str(before.types[node]) for node in difference.removed_nodes))
    return Scene(layout.width, layout.height, direction, tuple(nodes), tuple(edges), types, title=title)


def draw_difference(
    difference: Difference,
    *,
    style: DagStyle | None = None,
    direction: Direction = "down",
    title: str = "",
) -> Picture:
    """Two DAGs as one picture: green is new, dashed red is gone, brown has another type or another direction."""
    style = style or style_of([difference.before, difference.after])
    return scene_picture(difference_scene(difference, style, direction=direction, title=title), style)


def save_difference(
    path: str | Path,
    difference: Difference,
    *,
    style: DagStyle | None = None,
    direction: Direction = "down",
    title: str = "",
) -> Path:
    """Write the picture of two DAGs to a .svg or .png file; returns its path."""
    style = style or style_of([difference.before, difference.after])
    return save_scene(path, difference_scene(difference, style, direction=direction, title=title), style)


def _kept_and_added(difference: Difference, style: DagStyle) -> list[SceneNode]:
    after, names = difference.after, numbered(difference.after)
    changed = {twin for _, twin in (*difference.retyped, *difference.revalued)}
    old = {twin: difference.before.types[node] for node, twin in difference.retyped}
    new = set(difference.added_nodes)
    nodes = []
    for node in range(len(after)):
        kind = "added" if node in new else "changed" if node in changed else ""
        text = f"{names[node]} (was {old[node]})" if node in old else names[node]
        nodes.append(make_node(after, node, text, style, kind))
    return nodes


def _removed(difference: Difference, style: DagStyle) -> list[SceneNode]:
    """Nodes that are gone go by their type, since their numbers are those of another DAG."""
    before, first = difference.before, len(difference.after)
    made = [make_node(before, node, str(before.types[node]), style, "removed") for node in difference.removed_nodes]
    return [replace(node, members=(first + k,)) for k, node in enumerate(made)]


def _acyclic(count: int, edges: Iterable[Edge]) -> tuple[Dag, set[Edge]]:
    """Edges of two DAGs as one, those turned round that would close a cycle; nodes go by their numbers as labels."""
    below: list[list[int]] = [[] for _ in range(count)]
    flipped: set[Edge] = set()
    for source, target in edges:
        if _leads(below, target, source):
            source, target = target, source
            flipped.add((source, target))
        below[source].append(target)
    return Dag(tuple(range(count)), tuple((u, v) for u, after in enumerate(below) for v in after)), flipped


def _leads(below: list[list[int]], start: int, end: int) -> bool:
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == end:
            return True
        stack += [near for near in below[node] if near not in seen]
        seen.update(below[node])
    return False
