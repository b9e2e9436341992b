"""What holds of the drawing of every DAG."""

from __future__ import annotations

import math
import random
import time
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dag_strategies import dags
from dvae.dag.value import Dag
from dvae.errors import DvaeError
from dvae.figures import Box, Layout, layered
from dvae.figures.ordering import assign_layers, best_orders, crossings, layered_graph
from dvae.figures.ranking import short_layers
from dvae.figures.sifting import sift
from dvae.figures.spacing import separate, separate_medians, within

CLEAR = 3.0  # pixels between an edge and a node that is not its end


@st.composite
def drawings(draw: st.DrawFn) -> tuple[Dag, Layout]:
    dag = draw(dags(max_nodes=12))
    if draw(st.booleans()):
        return dag, layered(dag, [Box(42, 42, round=True)] * len(dag))
    widths = draw(st.lists(st.sampled_from([44, 68, 140]), min_size=len(dag), max_size=len(dag)))
    heights = draw(st.lists(st.sampled_from([30, 48]), min_size=len(dag), max_size=len(dag)))
    return dag, layered(dag, [Box(*size) for size in zip(widths, heights, strict=True)])


def points_on(route: tuple[tuple[float, float], ...], steps: int = 12) -> list[tuple[float, float]]:
    points = [route[0]]
    for k in range(0, len(route) - 1, 3):
        a, b, c, d = route[k : k + 4]
        for step in range(1, steps + 1):
            t = step / steps
            weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
            points.append(
                tuple(sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) for axis in (0, 1))
            )
    return points


def distance(box: Box, centre: tuple[float, float], point: tuple[float, float]) -> float:
    x, y = abs(point[0] - centre[0]), abs(point[1] - centre[1])
    if box.round:
        return math.hypot(x, y) - box.width / 2
    return max(x - box.width / 2, y - box.height / 2)


@settings(max_examples=80, deadline=None)
@given(drawings())
def test_every_edge_goes_down_from_its_source_to_its_target(drawing: tuple[Dag, Layout]) -> None:
    dag, layout = drawing
    assert len(layout.routes) == len(dag.edges)
    for (source, target), route in zip(dag.edges, layout.routes, strict=True):
        assert layout.layers[source] < layout.layers[target]
        assert distance(layout.boxes[source], layout.centres[source], route[0]) == pytest.approx(0, abs=1e-6)
        assert distance(layout.boxes[target], layout.centres[target], route[-1]) == pytest.approx(0, abs=1e-6)
        heights = [y for _, y in points_on(route)]
        assert all(lower - upper > -1e-9 for upper, lower in pairwise(heights))


@settings(max_examples=80, deadline=None)
@given(drawings())
def test_no_edge_touches_a_foreign_node(drawing: tuple[Dag, Layout]) -> None:
    dag, layout = drawing
    for edge, route in zip(dag.edges, layout.routes, strict=True):
        for node in set(range(len(dag))) - set(edge):
            box, centre = layout.boxes[node], layout.centres[node]
            assert min(distance(box, centre, point) for point in points_on(route)) > CLEAR


@settings(max_examples=80, deadline=None)
@given(drawings())
def test_nodes_do_not_overlap_and_all_lies_within_the_frame(drawing: tuple[Dag, Layout]) -> None:
    _, layout = drawing
    nodes = list(zip(layout.boxes, layout.centres, strict=True))
    for (box, (x, y)), (other, (other_x, other_y)) in combinations(nodes, 2):
        apart = (
            abs(x - other_x) - (box.width + other.width) / 2,
            abs(y - other_y) - (box.height + other.height) / 2,
        )
        assert max(apart) > 10
    for box, (x, y) in nodes:
        assert box.width / 2 - 1e-6 <= x <= layout.width - box.width / 2 + 1e-6
        assert box.height / 2 - 1e-6 <= y <= layout.height - box.height / 2 + 1e-6
    for route in layout.routes:
        assert all(-1e-6 <= x <= layout.width + 1e-6 for x, _ in points_on(route))


def test_a_chain_with_skips_is_a_straight_column() -> None:
    dag = Dag(tuple("abcdef"), ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 2), (1, 4), (0, 3)))
    assert len({round(x, 6) for x, _ in layered(dag).centres}) == 1


def test_a_planar_tree_has_no_crossings() -> None:
    dag = Dag(("n",) * 15, tuple(((node - 1) // 2, node) for node in range(1, 15)))
    graph = layered_graph(dag)
    assert [crossings(graph, order) for order in best_orders(graph, 1)] == [0]


def test_crossings_are_counted_pair_by_pair() -> None:
    graph = layered_graph(Dag(("n",) * 4, ((0, 2), (0, 3), (1, 2), (1, 3))))
    assert crossings(graph, [[0, 1], [2, 3]]) == 1


def test_layers_are_longest_paths_and_sources_sink_to_their_successors() -> None:
    #  0 -> 1 -> 2 -> 4, 3 -> 4
    assert assign_layers(Dag(("n",) * 5, ((0, 1), (1, 2), (2, 4), (3, 4)))) == [0, 1, 2, 2, 3]


@settings(max_examples=60, deadline=None)
@given(dags(max_nodes=8))
def test_no_other_layers_have_shorter_edges(dag: Dag) -> None:
    layers = short_layers(dag)
    assert all(layers[source] < layers[target] for source, target in dag.edges)
    span = sum(layers[target] - layers[source] for source, target in dag.edges)
    # No set of nodes can move: a sum that is discretely convex has no other minima.
    for size in range(1, len(dag)):
        for moving in combinations(range(len(dag)), size):
            for way in (-1, 1):
                moved = [layer + way * (node in moving) for node, layer in enumerate(layers)]
                if all(moved[source] < moved[target] for source, target in dag.edges):
                    assert sum(moved[target] - moved[source] for source, target in dag.edges) >= span


@settings(max_examples=60, deadline=None)
@given(dags(max_nodes=14), st.randoms(use_true_random=False))
def test_sifting_removes_as_many_crossings_as_it_says(dag: Dag, chance: random.Random) -> None:
    graph = layered_graph(dag)
    order: list[list[int]] = [[] for _ in range(max(graph.layer) + 1)]
    for vertex, layer in enumerate(graph.layer):
        order[layer].append(vertex)
    for row in order:
        chance.shuffle(row)
    before = crossings(graph, order)
    gone = sift(order, graph.above, graph.below, 5, random.Random(0))
    assert crossings(graph, order) == before - gone
    assert sorted(vertex for row in order for vertex in row) == list(range(len(graph.layer)))


def test_many_nodes_without_edges_form_a_block() -> None:
    layout = layered(Dag(("n",) * 49))
    assert layout.width < 3 * layout.height


def test_the_same_dag_is_drawn_the_same_way() -> None:
    dag = Dag(("n",) * 9, tuple((s, t) for t in range(9) for s in range(t) if (s * t) % 3 == 1))
    assert layered(dag) == layered(dag)


def test_hundreds_of_nodes_are_laid_out_in_seconds() -> None:
    draw = random.Random(0)
    edges = {(source, target) for target in range(1, 300) for source in draw.sample(range(target), min(target, 2))}
    start = time.process_time()
    layered(Dag(("n",) * 300, tuple(edges)))
    assert time.process_time() - start < 6


def test_boxes_must_match_the_nodes() -> None:
    with pytest.raises(DvaeError, match="one per node"):
        layered(Dag(("a", "b")), [Box()])


def test_separated_places_are_the_nearest_allowed() -> None:
    assert separate([0, 0, 10], [2, 2], [1, 1, 1]) == pytest.approx([-1, 1, 10])
    assert separate([0, 0], [4], [3, 1]) == pytest.approx([-1, 3])
    assert separate_medians([[(0, 1)], [(0, 5)]], [4]) == pytest.approx([-4, 0])


def test_places_within_limits_keep_their_gaps() -> None:
    assert within(0, 10, [-3, -2, 5], [2, 2]) == pytest.approx([0, 2, 5])
    assert within(0, 10, [8, 11], [2]) == pytest.approx([8, 10])
