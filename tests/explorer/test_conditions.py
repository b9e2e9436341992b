"""Sliders of conditions: what a DAG would be with another value of a property."""

from __future__ import annotations

import pytest
import torch

from contracts.column_examples import COLUMNED_DAGS, CONDITIONS, columned_task
from dvae import models
from dvae.dag import DagSet
from dvae.explorer import Changed, Given, Known, PageModel, RequestError, Space, make_app, places
from dvae.explorer.conditions import Handle


@pytest.fixture(scope="module")
def conditional() -> PageModel:
    task = columned_task()
    vae = models.build("dvae", task, hidden=12, latent=5, seed=0, conditions=CONDITIONS)
    batch = task.batch(COLUMNED_DAGS * 4)
    assert vae.conditions is not None
    vae.conditions.fit(batch)
    vae.calibrate(batch)
    return PageModel(Space.of(vae, DagSet.of(COLUMNED_DAGS * 4), "columned"))


def test_a_condition_changes_the_latent_and_others_stay(conditional: PageModel) -> None:
    place = conditional.with_condition({"known": 1}, "gain", 3.5)
    assert place == Changed(Known(1), (("gain", 3.5),))
    both = conditional.with_condition(places.to_json(place), "area", 5)
    assert both == Changed(Known(1), (("area", 5.0), ("gain", 3.5)))
    assert conditional.place(places.to_json(both)) == both
    before, after = conditional.find({"known": 1}), conditional.find(places.to_json(both), enforce=["enforce"])
    assert after.valid
    assert after.origin == "decoded"
    assert not torch.equal(before.latent, after.latent)
    moved = conditional.with_condition({"latent": [0.0] * 5}, "gain", 2)
    assert conditional.find(places.to_json(moved)).dag.has_columns


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("bw", 1, "the condition must be one of gain, area"),
        ("gain", 1e9, "gain must be from 1 to 4"),
        ("gain", "high", "gain must be a number"),
    ],
)
def test_impossible_conditions_are_refused(conditional: PageModel, name: str, value: object, problem: str) -> None:
    with pytest.raises(RequestError, match=problem):
        conditional.with_condition({"known": 0}, name, value)


@pytest.mark.parametrize(
    "payload", [{"base": {"known": 0}}, {"base": {"base": {"known": 0}, "given": {}}, "given": {}}]
)
def test_impossible_places_are_refused(conditional: PageModel, payload: object) -> None:
    with pytest.raises(RequestError, match="conditions without a DAG"):
        conditional.place(payload)


def test_a_model_without_conditions_refuses_them(asia: Space) -> None:
    assert asia.conditions == ()
    with pytest.raises(RequestError, match="trained without conditions"):
        PageModel(asia).find({"base": {"known": 0}, "given": {"gain": 1}})


def test_the_page_has_a_slider_for_each_condition(conditional: PageModel, asia: Space) -> None:
    assert str(make_app(conditional).layout).count("'type': 'condition'") == len(CONDITIONS)
    assert "'type': 'condition'" not in str(make_app(PageModel(asia)).layout)


def test_sliders_stand_where_the_dag_is(conditional: PageModel) -> None:
    dag = COLUMNED_DAGS[4]
    gain, area = conditional.handles
    assert (gain.step, area.step) == (1.0, 1.0)  # whole numbers in the data
    assert conditional.slider_values(Known(4)) == conditional.slider_values(Given(dag)) == dict(dag.properties)
    assert conditional.slider_values(Known(0))["gain"] == gain.middle  # it has none
    assert conditional.slider_values(conditional.place({"latent": [0.0] * 5})) == {
        "gain": gain.middle,
        "area": area.middle,
    }
    assert conditional.slider_values(Changed(Known(4), (("gain", 2.0),))) == {}  # they stay where they were moved to
    assert conditional.slider_moved({"known": 4}, "gain", 4.0) is None  # where the page has put it
    assert conditional.slider_moved({"known": 4}, "gain", 2.0) == Changed(Known(4), (("gain", 2.0),))


def test_a_slider_stays_within_its_range() -> None:
    handle = Handle("gain", 0.25, 4.0, 0.1, 2.0)
    assert [handle.at({"gain": value}) for value in (-9.0, 1.234, 99.0)] == [0.25, 1.2, 4.0]
