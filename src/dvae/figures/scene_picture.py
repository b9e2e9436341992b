"""Scenes as pictures: what the viewer shows, for files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from dvae.figures.arrows import EdgeLook, arrow
from dvae.figures.dags import CORNER, MARGIN, TITLE_HEIGHT, TITLE_SIZE
from dvae.figures.picture import Arrow, Picture, Shape, Text, shortened
from dvae.figures.picture_file import write_picture
from dvae.figures.png import png_bytes
from dvae.figures.scene import Scene, SceneEdge, SceneNode, edge_width
from dvae.figures.style import DagStyle, mixed, text_colour
from dvae.figures.svg import svg_text

ADDED, REMOVED, CHANGED = "#16a34a", "#d9434f", "#b45309"  # also those of `viewer.js`
KINDS = {"added": ADDED, "removed": REMOVED, "changed": CHANGED, "turned": CHANGED}
STRIP = 5.0  # height of the colours of a group
STACK = 3.0  # by which the lower sheet of a stack shows


def scene_picture(scene: Scene, style: DagStyle) -> Picture:
    """The picture of a scene."""
    top = MARGIN + (TITLE_HEIGHT if scene.title else 0.0)
    width, height = scene.width + 2 * MARGIN, scene.height + top + MARGIN
    nodes = tuple(shape for node in scene.nodes for shape in _shapes(node, top, style))
    arrows = tuple(_arrow(edge, scene, top, style) for edge in scene.edges)
    titles: tuple[Text, ...] = ()
    if scene.title:
        words = shortened(scene.title, width - 2 * MARGIN, TITLE_SIZE, bold=True)
        titles = (Text(width / 2, TITLE_HEIGHT / 2 + 4, words, TITLE_SIZE, bold=True, full=scene.title),)
    return Picture(width, height, style.background, (), arrows, nodes, titles)


def save_scene(path: str | Path, scene: Scene, style: DagStyle) -> Path:
    """Write the picture of a scene to a .svg or .png file; returns its path."""
    picture = scene_picture(scene, style)
    return write_picture(path, svg=lambda: svg_text(picture).encode("utf-8", "replace"), png=lambda: png_bytes(picture))


def _shapes(node: SceneNode, top: float, style: DagStyle) -> Iterator[Shape]:
    x, y, box = node.x + MARGIN, node.y + top, node.box
    stroke = KINDS.get(node.kind) or mixed(node.fill, "#000000", 0.3)
    text = Text(x, y, node.label, style.font_size, text_colour(node.fill))
    whole = Shape(
        x, y, box.width, box.height, box.width / 2 if box.round else CORNER, node.fill, stroke, text, node.name,
        3.0 if node.kind else 1.0,
    )  # fmt: skip
    if len(node.members) > 1:
        yield replace(whole, x=x + STACK, y=y + STACK, label=None)
    yield whole
    left = x - box.width / 2 + CORNER
    for colour, share in node.shares if len(node.shares) > 1 else ():
        wide = share * (box.width - 2 * CORNER)
        yield Shape(left + wide / 2, y + box.height / 2 - STRIP, wide, STRIP, 0.0, colour, colour, full=node.name)
        left += wide


def _arrow(edge: SceneEdge, scene: Scene, top: float, style: DagStyle) -> Arrow:
    points = tuple((x + MARGIN, y + top) for x, y in edge.route)
    look = EdgeLook(edge_width(edge, style.edge_width), KINDS.get(edge.kind, style.edge), dashed=edge.kind == "removed")
    names = scene.nodes[edge.source].name, scene.nodes[edge.target].name
    note = f"{names[0]} → {names[1]}" + (f": {edge.count:,} edges" if edge.count > 1 else "")
    return arrow(points, look, note)
