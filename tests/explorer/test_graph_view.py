from __future__ import annotations

import base64
import math
import random
from typing import Any, Literal
from xml.etree import ElementTree

import pytest

from contracts.column_examples import COLUMNED_DAGS, columned_task
from dvae.dag import Dag
from dvae.explorer import Space
from dvae.explorer.graph_view import common_frame, elements, film, frame, task_style, thumbnail
from dvae.explorer.walks import changes
from dvae.figures import Direction, style_for
from dvae.tasks import GenericTask, Look

BORDER = 2.0  # pixels outside a node's box: half of the thickest border, that of a changed node


def split(drawn: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Nodes and edges of a drawing, its corners left out."""
    nodes = [item for item in drawn if "node" in item["data"]]
    return nodes, [item for item in drawn if "source" in item["data"]]


def test_a_drawing_holds_every_node_and_edge(any_space: Space) -> None:
    style = task_style(any_space.task)
    for dag in any_space.known.dags[:10]:
        nodes, edges = split(elements(dag, style, any_space.task))
        assert [node["data"]["full"] for node in nodes] == [f"{n}: {label}" for n, label in enumerate(dag.types)]
        assert sorted((edge["data"]["from"], edge["data"]["to"]) for edge in edges) == list(dag.edges)
        identifiers = [item["data"]["id"] for item in nodes + edges]
        assert len(set(identifiers)) == len(identifiers)


def test_everything_lies_between_the_corners(enas: Space) -> None:
    style = task_style(enas.task)
    drawn = elements(enas.known.dags[0], style, enas.task)
    (low, high) = [item["position"] for item in drawn if item.get("classes") == "corner"]
    for node in split(drawn)[0]:
        half = node["data"]["width"] / 2
        assert low["x"] <= node["position"]["x"] - half + 1e-6
        assert node["position"]["x"] + half <= high["x"] + 1e-6


@pytest.mark.parametrize(("direction", "axis"), [("right", 0), ("down", 1)])
def test_all_drawings_run_one_way_whatever_their_shape(
    enas: Space, asia: Space, direction: Direction, axis: int
) -> None:
    tower = frame(enas.known.dags[0], task_style(enas.task), enas.task, direction)
    assert tower.centres[0][axis] < tower.centres[7][axis]
    fan = Dag(("A", "S", "T", "L", "B", "E", "X", "D"), tuple((0, child) for child in range(1, 8)))
    flat = frame(fan, task_style(asia.task), asia.task, direction)
    assert all(flat.centres["A"][axis] < flat.centres[child][axis] for child in fan.types[1:])
    for drawn in (tower, flat):
        for (source, target), route in drawn.routes.items():
            assert drawn.centres[source][axis] < route[0][axis] < route[-1][axis] < drawn.centres[target][axis]


def test_small_pictures_of_networks_keep_their_variables_in_place(asia: Space) -> None:
    def circles(dag: Dag) -> set[tuple[str, str, str]]:
        root = ElementTree.fromstring(base64.b64decode(thumbnail(dag, asia.task).partition(",")[2]))
        found = [item for item in root.iter() if item.tag.endswith("circle")]
        return {(item.get("cx", ""), item.get("cy", ""), item.get("fill", "")) for item in found}

    assert circles(asia.known.dags[0]) == circles(asia.known.dags[1])


def test_edges_that_pass_nodes_are_routed_around_them(enas: Space) -> None:
    dag = Dag(("input", "conv3", "sep3", "output"), ((0, 1), (1, 2), (2, 3), (0, 3)))
    _, edges = split(elements(dag, task_style(enas.task), enas.task))
    by_ends = {(edge["data"]["from"], edge["data"]["to"]): edge for edge in edges}
    assert "routed" in by_ends[0, 3]["classes"]
    assert len(by_ends[0, 3]["data"]["weights"].split()) == len(by_ends[0, 3]["data"]["distances"].split()) >= 2
    assert "routed" not in by_ends[1, 2]["classes"]


def random_dag(seed: int) -> Dag:
    """Of 2 to 40 nodes, small ones more often, with half an edge to two edges per node."""
    chance = random.Random(seed)
    count = round(2 * 20 ** chance.random())
    share = min(1, chance.uniform(1, 4) / (count - 1))
    pairs = [(u, v) for v in range(count) for u in range(v)]
    edges = [pair for pair in pairs if chance.random() < share] or pairs[:1]
    return Dag(tuple(chance.choice(["a", "bcd", "a longer label"]) for _ in range(count)), tuple(edges))


def controls(edge: dict[str, Any], start: dict[str, float], end: dict[str, float]) -> list[tuple[float, float]]:
    """Where cytoscape puts the control points of an edge."""
    right, down = end["x"] - start["x"], end["y"] - start["y"]
    length = math.hypot(right, down)
    weights = map(float, edge["data"].get("weights", "").split())
    distances = map(float, edge["data"].get("distances", "").split())
    return [
        (start["x"] + along * right - across * down / length, start["y"] + along * down + across * right / length)
        for along, across in zip(weights, distances, strict=True)
    ]


def is_inside(point: tuple[float, float], node: dict[str, Any]) -> bool:
    """Whether a point lies in or on the outline of a node with the thickest border there is."""
    x, y = point[0] - node["position"]["x"], point[1] - node["position"]["y"]
    across = x / (node["data"]["width"] / 2 + BORDER)
    down = y / (node["data"]["height"] / 2 + BORDER)
    return (math.hypot(across, down) if node["data"]["shape"] == "ellipse" else max(abs(across), abs(down))) <= 1


@pytest.mark.parametrize("shape", ["circle", "box"])
@pytest.mark.parametrize("seeds", [range(start, start + 50) for start in range(0, 200, 50)], ids=str)
def test_every_edge_can_be_drawn(seeds: range, shape: Literal["circle", "box"]) -> None:
    """Cytoscape draws no edge with a control point inside one of its nodes."""
    for dag in map(random_dag, seeds):
        task = GenericTask.infer("random", [dag])
        nodes, edges = split(elements(dag, style_for(Look(shape=shape), task.vocabulary.labels), task))
        assert sorted((edge["data"]["from"], edge["data"]["to"]) for edge in edges) == list(dag.edges)
        for edge in edges:
            source, target = nodes[edge["data"]["from"]], nodes[edge["data"]["to"]]
            for point in controls(edge, source["position"], target["position"]):
                assert not is_inside(point, source)
                assert not is_inside(point, target)


def test_a_film_keeps_its_nodes_in_place_and_marks_what_changed(asia: Space) -> None:
    dags = [asia.known.dags[0], asia.known.dags[1], asia.known.dags[2]]  # sampled in one order of the variables
    style = task_style(asia.task)
    pictures = film(dags, style, asia.task)
    where = [{n["data"]["label"]: n["position"] for n in split(picture)[0]} for picture in pictures]
    assert where[0] == where[1] == where[2]
    for before, after, picture in zip(dags, dags[1:], pictures[1:], strict=False):
        found = changes(before, after, asia.task)
        _, edges = split(picture)
        assert sum("added" in edge["classes"] for edge in edges) == len(found.added)
        assert sum("removed" in edge["classes"] for edge in edges) == len(found.removed)
    assert not any(item.get("classes") in ("changed", "added") for item in pictures[0])


def test_dags_that_contradict_each_other_have_no_common_frame(asia: Space) -> None:
    style = task_style(asia.task)
    one, other = Dag(("A", "S"), ((0, 1),)), Dag(("S", "A"), ((0, 1),))
    assert common_frame([one, other], style, asia.task) is None
    assert [len(split(picture)[1]) for picture in film([one, other], style, asia.task)] == [1, 1]


def test_dags_of_different_sizes_share_a_frame_by_position(pipelines: Space) -> None:
    sizes = {len(dag) for dag in pipelines.known.dags}
    shared = common_frame(pipelines.known.dags[:12], task_style(pipelines.task), pipelines.task)
    assert shared is not None
    assert len(shared.centres) == max(len(dag) for dag in pipelines.known.dags[:12]) <= max(sizes)


def test_names_of_two_kinds_cannot_be_told_apart(asia: Space) -> None:
    twice = Dag(("A", "A"), ())  # no network: its nodes go by position
    assert common_frame([asia.known.dags[0], twice], task_style(asia.task), asia.task) is None


def test_a_frame_has_a_route_for_every_edge(any_space: Space) -> None:
    dag = any_space.known.dags[1]
    assert len(frame(dag, task_style(any_space.task), any_space.task).routes) == len(dag.edges)


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", '"><img src=x>', "a&b", "\u202e", "\x00"])
def test_a_thumbnail_is_a_picture_whatever_the_labels(pipelines: Space, label: str) -> None:
    address = thumbnail(Dag((label, "b"), ((0, 1),)), pipelines.task)
    kind, _, data = address.partition(";base64,")
    assert kind == "data:image/svg+xml"
    root = ElementTree.fromstring(base64.b64decode(data))
    assert not [item for item in root.iter() if item.tag.endswith(("script", "img", "image"))]


def test_nodes_and_edges_carry_their_columns_where_they_have_any(asia: Space) -> None:
    dag, task = COLUMNED_DAGS[0], columned_task()
    nodes, edges = split(elements(dag, task_style(task), task))
    assert [node["data"]["columns"] for node in nodes[:2]] == [
        [["kind", "y"]],  # what is absent is not shown
        [["kind", "x"], ["size", "4"], ["level", "0.1"]],
    ]
    first = next(edge["data"] for edge in edges if (edge["data"]["from"], edge["data"]["to"]) == (0, 1))
    assert (first["full"], sorted(first["columns"])) == ("0 → 1", [["length", "0.5"], ["wire", "ina"]])
    plain = elements(asia.known.dags[0], task_style(asia.task), asia.task)
    assert not any("columns" in part["data"] for part in plain)
