"""Edges as arrows: a line that stops where its head begins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dvae.figures.layout import Point
from dvae.figures.picture import Arrow

HEAD = 8.0  # length of an arrow head
HEAD_WIDTH = 7.5
WIDE_EDGE = 2.5  # an edge wider than this has a larger head


@dataclass(frozen=True, slots=True)
class EdgeLook:
    """How one edge is drawn where it differs from the others."""

    width: float
    colour: str
    head: bool = True  # without one, an edge has no direction
    note: str = ""  # shown on hover
    dashed: bool = False


def arrow(points: Sequence[Point], look: EdgeLook, full: str) -> Arrow:
    """The arrow along a route; `full` is shown on hover where the look has no note of its own."""
    points, note = tuple(points), look.note or full
    if not look.head:
        return Arrow(points, None, look.colour, look.width, note, look.dashed)
    head, base = _head(points, max(1.0, look.width / WIDE_EDGE))
    return Arrow(_stopped_at(points, base), head, look.colour, look.width, note, look.dashed)


def _head(points: Sequence[Point], scale: float) -> tuple[tuple[Point, Point, Point], Point]:
    """The triangle at the end of a route, and the middle of its base."""
    tip, right, down = points[-1], *_direction(points[-2], points[-1])
    base = (tip[0] - scale * HEAD * right, tip[1] - scale * HEAD * down)
    x, y = scale * HEAD_WIDTH / 2 * down, scale * HEAD_WIDTH / 2 * right
    return (tip, (base[0] - x, base[1] + y), (base[0] + x, base[1] - y)), base


def _direction(start: Point, end: Point) -> Point:
    right, down = end[0] - start[0], end[1] - start[1]
    length = math.hypot(right, down)
    return right / length, down / length


def _stopped_at(points: Sequence[Point], base: Point) -> tuple[Point, ...]:
    """The route without the piece under the arrow head: its last curve ends at the base, as steep as before.

    A last piece that is shorter than the head goes with it; it is straight, so nothing bends.
    """
    right, down = _direction(points[-2], points[-1])
    kept = list(points)
    while len(kept) > 4 and (kept[-4][0] - base[0]) * right + (kept[-4][1] - base[1]) * down >= 0:
        del kept[-3:]
    shift = (base[0] - kept[-1][0], base[1] - kept[-1][1])
    kept[-1] = base
    kept[-2] = (kept[-2][0] + shift[0], kept[-2][1] + shift[1])
    return tuple(kept)
