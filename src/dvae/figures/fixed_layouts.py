"""Layouts in which a node's place depends on its number or its label alone.

In the layered layout every DAG is drawn as well as it can be, and a node moves when an edge comes or goes. Where many
DAGs stand side by side to be compared, what is the same must stay where it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from dvae.dag.value import Dag, Label
from dvae.figures.layout import Box, Layout, Point

Arrange = Callable[[Dag, Sequence[Box]], Layout]

PITCH = 12.0  # free height between two nodes of a column
BULGE, BULGE_PER_NODE = 10.0, 8.0  # how far a skip swings out, and more for each node that it passes
PORT = 0.22  # of a box's height: skips leave below its middle and arrive above it
RING = 1.9  # circles on a ring are this many diameters apart: no edge touches a node that it passes
THIRD = 1 / 3


def column(dag: Dag, boxes: Sequence[Box]) -> Layout:
    """Nodes in one column, in their order; an edge to the next is straight, any other swings out to one side.

    Edges of even nodes go to the right, those of odd ones to the left.
    """
    width = max(box.width for box in boxes)
    reach = 0.75 * _bulge(len(dag) - 1) if len(dag) > 2 else 0.0  # of a cubic with controls at the full bulge
    middle = reach + width / 2
    centres, top = [], 0.0
    for box in boxes:
        centres.append((middle, top + box.height / 2))
        top += box.height + PITCH
    routes = tuple(_skip_or_step(centres, boxes, source, target) for source, target in dag.edges)
    return Layout(2 * middle, top - PITCH, tuple(boxes), tuple(range(len(dag))), tuple(centres), routes)


def ring(labels: Sequence[Label]) -> Arrange:
    """Nodes on a circle, clockwise from the top, each label at its own place; for DAGs whose labels differ."""
    place = {label: number for number, label in enumerate(labels)}

    def arrange(dag: Dag, boxes: Sequence[Box]) -> Layout:
        size = max(max(box.width, box.height) for box in boxes)
        count = max(len(place), 3)
        radius = RING * size / (2 * math.sin(math.pi / count))
        middle = radius + size / 2
        centres = tuple(
            _on_circle(middle, radius, place.get(label, number) / count) for number, label in enumerate(dag.types)
        )
        routes = tuple(_chord(centres[source], centres[target], size / 2) for source, target in dag.edges)
        return Layout(2 * middle, 2 * middle, tuple(boxes), (0,) * len(dag), centres, routes)

    return arrange


def _skip_or_step(centres: Sequence[Point], boxes: Sequence[Box], source: int, target: int) -> tuple[Point, ...]:
    (x, start), (_, end) = centres[source], centres[target]
    if target == source + 1:
        return _straight((x, start + boxes[source].height / 2), (x, end - boxes[target].height / 2))
    side = 1.0 if source % 2 == 0 else -1.0
    first = (x + side * boxes[source].width / 2, start + PORT * boxes[source].height)
    last = (x + side * boxes[target].width / 2, end - PORT * boxes[target].height)
    out = side * _bulge(target - source)
    return first, (first[0] + out, first[1]), (last[0] + out, last[1]), last


def _bulge(span: int) -> float:
    return BULGE + BULGE_PER_NODE * (span - 1)


def _on_circle(middle: float, radius: float, share: float) -> Point:
    angle = 2 * math.pi * share
    return middle + radius * math.sin(angle), middle - radius * math.cos(angle)


def _chord(source: Point, target: Point, inset: float) -> tuple[Point, ...]:
    """From rim to rim; two nodes at one place, which no drawing can part, get an edge without length."""
    right, down = target[0] - source[0], target[1] - source[1]
    length = math.hypot(right, down)
    if length <= 2 * inset:
        return _straight(source, (target[0], target[1] + 1.0))
    x, y = right / length * inset, down / length * inset
    return _straight((source[0] + x, source[1] + y), (target[0] - x, target[1] - y))


def _straight(start: Point, end: Point) -> tuple[Point, ...]:
    right, down = (end[0] - start[0]) * THIRD, (end[1] - start[1]) * THIRD
    return start, (start[0] + right, start[1] + down), (end[0] - right, end[1] - down), end
