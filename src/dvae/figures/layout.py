"""Where the nodes of a DAG stand on paper and how its edges run, as a value without any drawing.

Layers lie below each other in bands. Between two bands an edge is a smooth curve; inside a band that it
passes it is a vertical line in a lane of its own. So every edge only ever goes down, and none can touch a
node other than its two ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dvae.dag.value import Dag
from dvae.errors import ConfigError
from dvae.figures.ordering import LayeredGraph, Order, best_orders, layered_graph
from dvae.figures.spacing import Pull, separate, separate_medians, within

Point = tuple[float, float]

NODE_GAP = 22.0  # free space between two nodes of a layer
LANE_GAP = 13.0  # free space between an edge and whatever it passes
BAND_GAP = 30.0  # minimum height between two layers
BAND_GAP_PER_REACH = 0.11  # more height where edges go far sideways
MAX_BAND_GAP = 110.0
TOUCHING = 1e-6  # heights below this are none
PORT_GAP = 9.0  # between two edges at the same side of a rectangle
PORT_MARGIN = 10.0  # between the ports of a rectangle and its corners
PORT_PULL = 0.3  # how far a port follows an edge that goes sideways
PORT_ANGLE = 0.3  # between two edges at a circle
MAX_PORT_ANGLE = 0.95  # angle to the vertical at which an edge may leave a circle
STRAIGHT_WEIGHT = 50.0  # edges that can be straight keep their place, others make room
ROUNDS = 10  # of sweeps down and up when the places in the layers are found
CARRY = 1.5  # weight of the layer just placed against the one that comes next
LARGE = 5_000  # vertices from which on two rounds must do
SETTLED = 0.5  # moves below this end the rounds
CANDIDATES = 16  # orders with equally few crossings that are compared by how straight their edges are


@dataclass(frozen=True, slots=True)
class Box:
    """The size of a node: a rectangle, or the circle inside it."""

    width: float = 64.0
    height: float = 30.0
    round: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing of a DAG: x to the right, y down, everything within (0, 0) and (width, height)."""

    width: float
    height: float
    boxes: tuple[Box, ...]  # of every node
    layers: tuple[int, ...]  # of every node
    centres: tuple[Point, ...]  # of every node
    routes: tuple[tuple[Point, ...], ...]  # of every edge: a start, then (control, control, end) per cubic


def layered(dag: Dag, boxes: Sequence[Box] | None = None) -> Layout:
    """The layered drawing of a DAG, top to bottom."""
    if boxes is None:
        boxes = [Box()] * len(dag)
    if len(boxes) != len(dag):
        raise ConfigError(f"{len(boxes)} boxes were given for {len(dag)} nodes; give one per node")
    graph = layered_graph(dag)
    half = [box.width / 2 for box in boxes] + [0.0] * (len(graph.layer) - len(dag))
    orders = best_orders(graph, CANDIDATES if len(half) < LARGE else 1)
    places = min((_Placement(graph, order, half) for order in orders), key=lambda placement: placement.cost)
    left = min(x - h for x, h in zip(places.xs, half, strict=True))
    xs = [x - left for x in places.xs]
    bands = _bands(graph, boxes, xs)
    width = max(x + h for x, h in zip(xs, half, strict=True))
    centres = tuple((xs[node], sum(bands[graph.layer[node]]) / 2) for node in range(len(dag)))
    routes = _routes(graph, boxes, xs, bands)
    # A curve may swing out a little further than anything it passes; its control points bound it.
    swung = [x for route in routes for x, _ in route]
    left, right = min([0.0, *swung]), max([width, *swung])
    centres = tuple((x - left, y) for x, y in centres)
    routes = tuple(tuple((x - left, y) for x, y in route) for route in routes)
    return Layout(right - left, bands[-1][1], tuple(boxes), graph.layer[: len(dag)], centres, routes)


class _Placement:
    """The horizontal places for one order of the vertices: straight edges first, then a narrow picture."""

    def __init__(self, graph: LayeredGraph, order: Order, half: Sequence[float]) -> None:
        self._graph = graph
        self._order = order
        self._gaps = [
            [half[left] + half[right] + _gap(graph, left, right) for left, right in pairwise(row)] for row in order
        ]
        self.xs = [0.0] * len(half)
        for row, gaps in zip(order, self._gaps, strict=True):
            self._put(row, separate([0.0] * len(row), gaps, [1.0] * len(row)))
        rounds = ROUNDS if len(half) < LARGE else 2
        for _ in range(rounds):
            before = self.xs[:]
            self._sweep(self._pull_to_means, down=True)
            self._sweep(self._pull_to_means, down=False)
            if max(abs(x - old) for x, old in zip(self.xs, before, strict=True)) < SETTLED:
                break
        best, self.cost = self.xs[:], self._cost()
        for _ in range(rounds):
            before = self.xs[:]
            for down in (True, False):
                self._sweep(self._pull_to_medians, down=down)
                cost = self._cost()
                if cost < self.cost:
                    best, self.cost = self.xs[:], cost
            if self.xs == before:
                break
        self.xs = best

    def _put(self, row: Sequence[int], places: Sequence[float]) -> None:
        for vertex, x in zip(row, places, strict=True):
            self.xs[vertex] = x

    def _sweep(self, solve: Callable[[int, bool], list[float]], *, down: bool) -> None:
        rows = range(len(self._order))
        for row in rows if down else reversed(rows):
            self._put(self._order[row], solve(row, down))

    def _pulls(self, vertex: int, down: bool) -> list[Pull]:
        graph = self._graph
        # The layer just placed counts a little more, so that ties carry straight lines onwards.
        from_above, from_below = (CARRY, 1.0) if down else (1.0, CARRY)
        pulls = [(self.xs[u], from_above * _stiffness(graph, u, vertex)) for u in graph.above[vertex]]
        pulls += [(self.xs[u], from_below * _stiffness(graph, vertex, u)) for u in graph.below[vertex]]
        return pulls or [(0.0, 0.01)]

    def _pull_to_means(self, row: int, down: bool) -> list[float]:
        wanted, weights = [], []
        for vertex in self._order[row]:
            pulls = self._pulls(vertex, down)
            weight = sum(w for _, w in pulls)
            wanted.append(sum(x * w for x, w in pulls) / weight)
            weights.append(weight)
        return separate(wanted, self._gaps[row], weights)

    def _pull_to_medians(self, row: int, down: bool) -> list[float]:
        return separate_medians([self._pulls(vertex, down) for vertex in self._order[row]], self._gaps[row])

    def _cost(self) -> float:
        graph, xs = self._graph, self.xs
        slant = sum(abs(xs[u] - xs[v]) * _stiffness(graph, u, v) for v, above in enumerate(graph.above) for u in above)
        return slant + 4 * (max(xs) - min(xs))


def _gap(graph: LayeredGraph, left: int, right: int) -> float:
    return LANE_GAP if graph.is_bend(left) or graph.is_bend(right) else NODE_GAP


def _stiffness(graph: LayeredGraph, upper: int, lower: int) -> float:
    """How much a slanted link hurts: most in a column of single nodes, least at the ends of a long edge."""
    if upper in graph.alone and lower in graph.alone:
        return 100.0
    bends = graph.is_bend(upper) + graph.is_bend(lower)
    return (6.0, 1.0, 8.0)[bends]


def _bands(graph: LayeredGraph, boxes: Sequence[Box], xs: Sequence[float]) -> list[tuple[float, float]]:
    """Top and bottom of every layer."""
    depth = max(graph.layer) + 1
    heights = [0.0] * depth
    for node, box in enumerate(boxes):
        heights[graph.layer[node]] = max(heights[graph.layer[node]], box.height)
    reach = [0.0] * depth
    for vertex, above in enumerate(graph.above):
        for upper in above:
            reach[graph.layer[vertex]] = max(reach[graph.layer[vertex]], abs(xs[upper] - xs[vertex]))
    bands: list[tuple[float, float]] = []
    top = 0.0
    for layer, height in enumerate(heights):
        if layer:
            top += min(BAND_GAP + BAND_GAP_PER_REACH * reach[layer], MAX_BAND_GAP)
        bands.append((top, top + height))
        top += height
    return bands


class _Port(NamedTuple):
    """Where an edge touches a node, and its direction there (downwards, of length one)."""

    x: float
    y: float
    right: float
    down: float


def _routes(
    graph: LayeredGraph, boxes: Sequence[Box], xs: Sequence[float], bands: Sequence[tuple[float, float]]
) -> tuple[tuple[Point, ...], ...]:
    leave, arrive = [], []
    for node, box in enumerate(boxes):
        layer = graph.layer[node]
        centre = (xs[node], sum(bands[layer]) / 2)
        below = {v: (xs[v], _middle(graph, bands, v, top=True)) for v in graph.below[node]}
        above = {v: (xs[v], _middle(graph, bands, v, top=False)) for v in graph.above[node]}
        leave.append(_ports(graph, box, centre, below, 1.0))
        arrive.append(_ports(graph, box, centre, above, -1.0))
    routes = []
    for chain in graph.chains:
        start, end = leave[chain[0]][chain[1]], arrive[chain[-1]][chain[-2]]
        points: list[Point] = [(start.x, start.y)]
        here = _extended(start, bands[graph.layer[chain[0]]][1])
        points += _curve(start, here)
        for vertex in chain[1:-1]:
            top, bottom = bands[graph.layer[vertex]]
            lane = _Port(xs[vertex], top, 0.0, 1.0), _Port(xs[vertex], bottom, 0.0, 1.0)
            points += _curve(here, lane[0]) + _curve(*lane)
            here = lane[1]
        there = _extended(end, bands[graph.layer[chain[-1]]][0])
        points += _curve(here, there) + _curve(there, end)
        routes.append(tuple(points))
    return tuple(routes)


def _middle(graph: LayeredGraph, bands: Sequence[tuple[float, float]], vertex: int, *, top: bool) -> float:
    """The height at which an edge aims: the centre of a node, the near end of a lane."""
    band = bands[graph.layer[vertex]]
    if graph.is_bend(vertex):
        return band[0] if top else band[1]
    return sum(band) / 2


def _extended(port: _Port, y: float) -> _Port:
    """The place at height y on the straight line through the port."""
    return _Port(port.x + port.right / port.down * (y - port.y), y, port.right, port.down)


def _curve(start: _Port, end: _Port) -> list[Point]:
    """Two controls and the end of a cubic with the directions of both ends; nothing where the ends are one.

    Both controls lie half-way down, so that the curve never turns up.
    """
    half = (end.y - start.y) / 2
    if half < TOUCHING:
        return []
    return [
        (start.x + start.right / start.down * half, start.y + half),
        (end.x - end.right / end.down * half, end.y - half),
        (end.x, end.y),
    ]


def _ports(graph: LayeredGraph, box: Box, centre: Point, linked: Mapping[int, Point], side: float) -> dict[int, _Port]:
    """The ports at the bottom (side 1) or the top (side -1) of a node, by the vertex at the other end.

    On a circle edges point at its centre, on a rectangle they stand upright; in either case side by side, in
    the order of the other ends, and straight where they can be.
    """
    if not linked:
        return {}
    ordered = sorted(linked, key=lambda vertex: (linked[vertex][0], vertex))
    reach = MAX_PORT_ANGLE if box.round else box.width / 2 - PORT_MARGIN
    least = PORT_ANGLE if box.round else PORT_GAP
    wanted, weights = [], []
    for vertex in ordered:
        x, y = linked[vertex][0] - centre[0], abs(linked[vertex][1] - centre[1])
        aim = math.atan2(x, y) if box.round else x
        straight = abs(aim) <= reach
        if not box.round:
            # Two nodes meet half-way, a lane is met where it is.
            aim = x if graph.is_bend(vertex) else x / 2
            aim = aim if straight else math.copysign(min(abs(x) * PORT_PULL, reach), x)
        wanted.append(max(-reach, min(reach, aim)))
        weights.append(STRAIGHT_WEIGHT if straight else 1.0)
    crowd = max(sum(place < 0 for place in wanted), sum(place > 0 for place in wanted), len(wanted) / 2)
    gaps = [min(least, reach / crowd)] * (len(ordered) - 1)
    places = within(-reach, reach, separate(wanted, gaps, weights), gaps)
    return {v: _port(box, centre, place, side) for v, place in zip(ordered, places, strict=True)}


def _port(box: Box, centre: Point, place: float, side: float) -> _Port:
    if not box.round:
        return _Port(centre[0] + place, centre[1] + side * box.height / 2, 0.0, 1.0)
    right, down = math.sin(place), math.cos(place)
    x, y = box.width / 2 * right, box.height / 2 * down
    return _Port(centre[0] + x, centre[1] + side * y, side * right, down)
