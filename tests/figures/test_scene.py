"""Scenes: everything of a DAG is in its drawing, in either direction, folded or whole."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given, settings

from contracts.column_examples import COLUMNED_DAGS
from dag_strategies import dags
from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.figures import Direction, arrangement, bayesnet_style, fold, layered, make_scene, rightward, style_of
from dvae.figures.scene import numbered
from dvae.figures.scene_picture import save_scene, scene_picture
from dvae.figures.svg import svg_text

from .test_folding import large_dag


@settings(max_examples=40, deadline=None)
@given(dags(max_nodes=12))
def test_every_node_and_edge_is_drawn_once_in_either_direction(dag: Dag) -> None:
    for axis, direction in ((0, "right"), (1, "down")):
        scene = make_scene(dag, style_of([dag]), direction="right" if direction == "right" else "down")
        assert [node.members for node in scene.nodes] == [(node,) for node in range(len(dag))]
        assert sorted((edge.source, edge.target) for edge in scene.edges) == list(dag.edges)
        for edge in scene.edges:
            ends = [(node.x, node.y)[axis] for node in (scene.nodes[edge.source], scene.nodes[edge.target])]
            assert ends[0] < edge.route[0][axis] < edge.route[-1][axis] < ends[1]


def test_a_drawing_to_the_right_is_that_of_turned_boxes() -> None:
    dag = large_dag(20)
    down, right = layered(dag), rightward(dag, [*layered(dag).boxes])
    assert len(down.routes) == len(right.routes)
    assert arrangement("down") is layered
    with pytest.raises(DvaeError, match="down, right"):
        arrangement("up")


def test_nodes_of_equal_type_are_numbered_and_labels_are_whole() -> None:
    long = "a_rather_long_name_of_an_operation"
    dag = Dag(("add", long, "add"), ((0, 1), (1, 2)))
    assert numbered(dag) == ["0: add", long, "2: add"]
    scene = make_scene(dag, style_of([dag]))
    assert [node.label for node in scene.nodes] == numbered(dag)
    assert [node.name for node in scene.nodes] == ["0: add", f"1: {long}", "2: add"]
    assert scene.nodes[1].box.width > scene.nodes[0].box.width


def test_a_variable_whose_name_is_too_long_for_a_circle_has_a_box() -> None:
    dag = Dag(("A", "smoking"), ((0, 1),))
    scene = make_scene(dag, bayesnet_style(dag.types))
    assert [node.box.round for node in scene.nodes] == [True, False]
    assert scene.nodes[1].label == "smoking"


def test_columns_are_told_as_words_and_colours_are_those_of_the_style() -> None:
    dag = COLUMNED_DAGS[0]
    style = style_of([dag])
    scene = make_scene(dag, style)
    assert scene.nodes[1].values == (("kind", "x"), ("size", "4"), ("level", "0.1"))
    assert [node.fill for node in scene.nodes] == [style.colour(label) for label in dag.types]
    plain = scene.to_mapping()
    assert plain["nodes"][1]["values"] == [["kind", "x"], ["size", "4"], ["level", "0.1"]]
    assert "values" in next(edge for edge in plain["edges"] if (edge["from"], edge["to"]) == (0, 1))


@pytest.mark.parametrize("direction", ["right", "down"])
def test_a_folded_scene_tells_its_members_and_counts_its_edges(direction: Direction) -> None:
    dag = large_dag(1000)
    scene = make_scene(dag, style_of([dag]), direction=direction, folding=fold(dag))
    assert scene.folded
    assert sorted(member for node in scene.nodes for member in node.members) == list(range(1000))
    group = max(scene.nodes, key=lambda node: len(node.members))
    assert sum(share for _, share in group.shares) == pytest.approx(1)
    assert any(edge.count > 1 for edge in scene.edges)
    assert len(scene.to_mapping()["types"]) == 1000


def test_a_thousand_nodes_can_be_drawn_whole() -> None:
    dag = large_dag(1000)
    scene = make_scene(dag, style_of([dag]))
    assert (len(scene.nodes), len(scene.edges)) == (1000, len(dag.edges))


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_a_scene_is_a_picture_too(suffix: str, tmp_path: Path) -> None:
    dag = large_dag(200)
    style = style_of([dag])
    scene = make_scene(dag, style, folding=fold(dag), title="large")
    root = ElementTree.fromstring(svg_text(scene_picture(scene, style)))
    assert len([item for item in root.iter() if item.get("class") == "edge"]) == len(scene.edges)
    assert save_scene(tmp_path / f"large{suffix}", scene, style).stat().st_size > 1000
