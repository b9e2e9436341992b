"""The page without a browser: what it sends goes in, values come out."""

from __future__ import annotations

import pytest

from dvae.errors import DvaeError
from dvae.explorer import Given, Known, Latent, PageModel, RequestError, Space
from dvae.explorer.places import to_json
from dvae.studies.study import Study

from .conftest import MakeStudy

BEST = {"known": 0}


def test_a_click_on_a_point_is_that_dag_and_elsewhere_a_latent(model: PageModel) -> None:
    name = model.space.planes[0].name
    assert model.click({"x": 0.1, "y": 0.2, "known": 4}, name, None) == Known(4)
    place = model.click({"x": 0.1, "y": 0.2, "known": None}, name, None)
    assert isinstance(place, Latent)
    x, y = model.at(model.plane(name), model.space.latent_of(place))
    assert (x, y) == pytest.approx((0.1, 0.2), abs=1e-4)


def test_the_anchor_gives_what_the_map_does_not_show(model: PageModel) -> None:
    name = model.space.planes[0].name
    plain = model.click({"x": 0, "y": 0}, name, None)
    assert model.click({"x": 0, "y": 0}, name, {"known": 2}) != plain


@pytest.mark.parametrize(
    "click", [None, 3, {}, {"x": 1}, {"x": "1", "y": 2}, {"x": 1e99, "y": 0}, {"known": 99999}, {"known": "1"}]
)
def test_what_is_no_click_is_refused(model: PageModel, click: object) -> None:
    with pytest.raises(RequestError):
        model.click(click, model.space.planes[0].name, None)


def test_a_typed_dag_is_placed_and_rescored(model: PageModel) -> None:
    place = model.typed("[A][S][T|A][L|S][B|S][E|T:L][X|E][D|E:B]")
    finding = model.find(to_json(place))
    assert finding.valid
    assert finding.score == pytest.approx(model.space.task.score(finding.dag))


@pytest.mark.parametrize(
    ("text", "words"), [("[Z]", "'Z'"), ("[A", "expected"), ('{"types": ["A"], "edges": [[0, 5]]}', "leaves")]
)
def test_a_typed_dag_the_model_cannot_hold_is_refused(model: PageModel, text: str, words: str) -> None:
    with pytest.raises(DvaeError, match=words):
        model.typed(text)


def test_a_dag_the_model_cannot_hold_is_named_without_a_number(model: PageModel) -> None:
    with pytest.raises(RequestError, match=r"^the DAG has a node of type 'Z', unknown to asia"):
        model.typed("[Z]")


def test_editing_makes_a_given_dag_of_whatever_is_shown(model: PageModel) -> None:
    dag = model.find(BEST).dag
    label = str(dag.types[2])
    assert model.retyped(BEST, 2, label) is None
    place = model.retyped(BEST, 0, label)
    assert isinstance(place, Given)
    assert place.dag.types[0] == label
    toggled = model.toggled(BEST, *dag.edges[0])
    assert isinstance(toggled, Given)
    assert dag.edges[0] not in toggled.dag.edges


def test_edits_that_cannot_be_are_refused(model: PageModel) -> None:
    dag = model.find(BEST).dag
    source, target = dag.edges[0]
    for wrong in [(None, None), (0, 0), (0, 99), ("0", 1), (target, source)]:
        with pytest.raises(RequestError):
            model.toggled(BEST, *wrong)
    for node, label in [(0, "Z"), (0, None), (99, "A"), (0, True), ("0", "A"), (0, {"a": 1})]:
        with pytest.raises(RequestError):
            model.retyped(BEST, node, label)


def test_a_walk_has_a_drawing_and_its_changes_for_every_step(model: PageModel) -> None:
    walk = model.walk(BEST, {"known": 5}, "circle")
    assert len(walk.steps) == len(walk.pictures) == len(walk.changes) == 33
    assert len(walk.changes[0]) == 0
    assert model.walk(BEST, {"known": 5}, "circle") is walk
    for wrong in (None, "spiral", 3, ["line"]):
        with pytest.raises(RequestError, match="the path"):
            model.walk(BEST, BEST, wrong)


def test_a_grid_is_bounded(model: PageModel) -> None:
    name = model.space.planes[0].name
    assert len(model.grid(BEST, name, "5", 1)) == 25
    for side, reach in [("4", 1), ("99", 1), (None, 1), ([], 1), ("5", 1e9), ("5", "1"), ("5", None), ("-3", 1)]:
        with pytest.raises(RequestError):
            model.grid(BEST, name, side, reach)


def test_an_export_is_what_is_shown(model: PageModel) -> None:
    assert '"score": -1' in model.export_current(BEST, "jsonl").text


def test_chosen_trials_are_exported_best_first(asia: Space, make_study: MakeStudy) -> None:
    study: Study = make_study([1.0, 3.0, 2.0])
    model = PageModel(asia, [study])
    assert [line[-4:-1] for line in model.export_trials(0, [0, 1], "jsonl").text.splitlines()] == ["3.0", "1.0"]
    for numbers in (None, [], "all", [77]):
        with pytest.raises(RequestError):
            model.export_trials(0, numbers, "jsonl")
    assert model.trial(0, 1) == Given(asia.known.dags[1], "Trial 1 of search")
    with pytest.raises(RequestError, match="no scored trial 9"):
        model.trial(0, 9)


def test_without_a_study_there_is_nothing_to_follow(model: PageModel) -> None:
    with pytest.raises(RequestError, match="no study"):
        model.study(0)
