"""Which way a drawing runs: from top to bottom, or from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from dvae.dag.value import Dag
from dvae.errors import ConfigError
from dvae.figures.fixed_layouts import Arrange
from dvae.figures.layout import Box, Layout, Point, layered

Direction = Literal["down", "right"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


def rightward(dag: Dag, boxes: Sequence[Box]) -> Layout:
    """The layered drawing of a DAG, left to right."""
    return directed(layered, "right")(dag, boxes)


def arrangement(direction: str) -> Arrange:
    """The layered layout that runs this way."""
    return directed(layered, direction)


def directed(arrange: Arrange, direction: str) -> Arrange:
    """A layout that runs downwards, turned where it is to run to the right."""
    if direction not in DIRECTIONS:
        raise ConfigError(f"{direction!r} is no direction of a drawing; choose one of {', '.join(DIRECTIONS)}")
    if direction == "down":
        return arrange
    return lambda dag, boxes: _turned(arrange(dag, [_turned_box(box) for box in boxes]))


def _turned(layout: Layout) -> Layout:
    return Layout(
        layout.height,
        layout.width,
        tuple(map(_turned_box, layout.boxes)),
        layout.layers,
        tuple(map(_turned_point, layout.centres)),
        tuple(tuple(map(_turned_point, route)) for route in layout.routes),
    )


def _turned_box(box: Box) -> Box:
    return Box(box.height, box.width, box.round)


def _turned_point(point: Point) -> Point:
    return point[1], point[0]
