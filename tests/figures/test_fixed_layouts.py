from __future__ import annotations

import math

import pytest

from dvae.dag import Dag
from dvae.figures import Box, column, ring
from dvae.figures.dags import draw_dags

CHAIN = Dag(("input", "a", "b", "c", "output"), ((0, 1), (1, 2), (2, 3), (3, 4)))
SKIPS = Dag(("input", "x", "b", "c", "output"), ((0, 1), (0, 2), (0, 4), (1, 2), (1, 4), (2, 3), (3, 4)))


def boxes(dag: Dag) -> list[Box]:
    return [Box(50, 20)] * len(dag)


def test_nodes_of_a_column_stay_where_they_are_whatever_the_edges() -> None:
    plain, skipping = column(CHAIN, boxes(CHAIN)), column(SKIPS, boxes(SKIPS))
    assert plain.centres == skipping.centres
    assert (plain.width, plain.height) == (skipping.width, skipping.height)
    heights = [y for _, y in plain.centres]
    assert heights == sorted(heights)


def test_skips_swing_out_to_one_side_and_stay_inside_the_picture() -> None:
    layout = column(SKIPS, boxes(SKIPS))
    middle = layout.width / 2
    for (source, target), route in zip(SKIPS.edges, layout.routes, strict=True):
        start, first, second, end = route
        if target == source + 1:
            assert {x for x, _ in route} == {middle}
            continue
        side = 1 if source % 2 == 0 else -1
        assert all((x - middle) * side > 0 for x, _ in route)
        swing = max(abs(_cubic(t / 20, start[0], first[0], second[0], end[0]) - middle) for t in range(21))
        assert swing <= middle + 1e-9


def test_variables_stand_on_a_ring_each_at_its_own_place() -> None:
    arrange = ring(("A", "B", "C", "D"))
    one, other = Dag(("A", "B", "C", "D"), ((0, 1),)), Dag(("D", "A", "C", "B"), ((0, 3), (1, 2)))
    circles = [Box(20, 20, round=True)] * 4
    first, second = arrange(one, circles), arrange(other, circles)
    places = dict(zip(other.types, second.centres, strict=True))
    assert all(places[label] == pytest.approx(centre) for label, centre in zip(one.types, first.centres, strict=True))
    start, *_, end = first.routes[0]
    assert math.dist(start, first.centres[0]) == pytest.approx(10)
    assert math.dist(end, first.centres[1]) == pytest.approx(10)


def test_a_grid_can_be_drawn_in_either_layout() -> None:
    picture = draw_dags([CHAIN, SKIPS], columns=2, arrange=column)
    assert len(picture.arrows) == len(CHAIN.edges) + len(SKIPS.edges)
    repeated = Dag(("A", "A", "B"), ((0, 1), (1, 2)))  # two nodes at one place
    assert len(draw_dags([repeated], arrange=ring(("A", "B"))).arrows) == 2


def _cubic(t: float, a: float, b: float, c: float, d: float) -> float:
    return (1 - t) ** 3 * a + 3 * (1 - t) ** 2 * t * b + 3 * (1 - t) * t**2 * c + t**3 * d
