"""What the page asks of the graph view, checked, and what it is given."""

from __future__ import annotations

from typing import Any

import pytest

from dvae.explorer import PageModel, RequestError, Space, comparison, history
from dvae.explorer.graph_view import direction_of, elements, task_style, thumbnail
from dvae.explorer.graph_window import elements_of, scene_of
from dvae.figures import style_of
from dvae.tasks import GenericTask
from figures.test_folding import large_dag


def test_large_dags_come_folded_unless_they_are_wished_whole() -> None:
    dag = large_dag(120)
    style = style_of([dag])
    assert scene_of(dag, style, None).folded
    assert not scene_of(dag, style, {"folded": False}).folded
    small = large_dag(20)
    assert not scene_of(small, style, {}).folded
    assert scene_of(small, style, {"folded": True}).folded
    assert scene_of(small, style, {"direction": "down"}).direction == "down"


@pytest.mark.parametrize(
    "wish",
    [{"direction": "up"}, {"direction": 3}, {"opened": 7, "folded": True}, {"opened": [[0]], "folded": True},
     {"opened": [["a", 1]], "folded": True}, {"opened": [[True, 1]], "folded": True},
     {"opened": [[0, 1]] * 501, "folded": True}],
)  # fmt: skip
def test_impossible_wishes_are_refused_in_words(wish: dict[str, Any]) -> None:
    dag = large_dag(100)
    with pytest.raises(RequestError):
        scene_of(dag, style_of([dag]), wish)


def test_groups_that_are_not_there_are_passed_over() -> None:
    dag = large_dag(100)
    wish = {"folded": True, "opened": [[99_999, 3], [-1, -1]]}
    assert len(scene_of(dag, style_of([dag]), wish).nodes) == len(scene_of(dag, style_of([dag]), {}).nodes)


def test_the_drawing_of_the_tab_is_folded_too_and_its_groups_cannot_be_edited() -> None:
    dag = large_dag(1000)
    task = GenericTask.infer("large", [dag])
    drawn = elements(dag, task_style(task), task)
    nodes = [part["data"] for part in drawn if "node" in part["data"]]
    assert len(nodes) <= 60
    assert any(data["node"] is None for data in nodes)
    assert len(thumbnail(dag, task)) < 40_000


def test_the_kept_dag_is_compared_with_the_pages(model: PageModel, asia: Space) -> None:
    assert comparison.difference_from(model, None, {"known": 1}) is None
    assert comparison.difference_from(model, {"known": 1}, {"known": 1}) is None
    found = comparison.difference_from(model, {"known": 0}, {"known": 1})
    assert found is not None
    assert len(comparison.words(found)[1].children) == len(found.lines())
    parts = elements_of(model, asia.known.dags[1], found, "down")
    kinds = [part["classes"].split() for part in parts if "source" in part["data"]]
    assert sum("added" in kind for kind in kinds) == len(found.added_edges) - len(found.turned_edges)
    with pytest.raises(RequestError):
        comparison.difference_from(model, {"known": -1}, {"known": 1})


def test_directions_are_checked() -> None:
    assert [direction_of(wanted) for wanted in (None, "right", "down")] == ["right", "right", "down"]
    with pytest.raises(RequestError, match="the direction must be one of"):
        direction_of(["down"])


def test_an_edit_remembers_both_places() -> None:
    assert history.edit({"known": 1}, {"types": []}) == {"before": {"known": 1}, "after": {"types": []}}


def test_a_walk_is_drawn_in_the_direction_of_the_tab(model: PageModel) -> None:
    wide, tall = (model.walk({"known": 0}, {"known": 1}, "line", None, way) for way in ("right", "down"))
    first, second = (
        next(part["position"] for part in walk.pictures[0] if part["data"]["id"] == "corner1") for walk in (wide, tall)
    )
    assert first != second
