from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dvae.dag import Dag
from dvae.explorer import Given, Known, Latent, RequestError
from dvae.explorer.places import choice, from_json, number, to_json, whole_number

SOME = [Known(3), Latent((0.5, -1.0)), Given(Dag(("a", 7), ((0, 1),))), Given(Dag(("only",)))]


@pytest.mark.parametrize("place", SOME)
def test_a_place_survives_the_way_to_the_page_and_back(place: Known | Latent | Given) -> None:
    assert from_json(json.loads(json.dumps(to_json(place))), known=5, latent=2) == place


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "known",
        {},
        {"known": 5},
        {"known": -1},
        {"known": True},
        {"known": "3"},
        {"known": 1.0},
        {"latent": [1.0]},
        {"latent": [1.0, "x"]},
        {"latent": [1.0, float("nan")]},
        {"latent": [1.0, float("inf")]},
        {"latent": [1.0, 1e9]},
        {"latent": {"0": 1}},
        {"types": ["a"], "edges": [[0]]},
        {"types": ["a"], "edges": [3]},
        {"types": ["a"], "edges": [[0, 1]]},
        {"types": [], "edges": []},
        {"types": [{}], "edges": []},
        {"types": ["a", "b"], "edges": [[0, 1], [1, 0]]},
        {"types": ["a"] * 1_501, "edges": []},
        {"types": ["a", "b"], "edges": [[0, 1]] * 20_001},
        {"types": "ab", "edges": []},
    ],
)
def test_what_is_no_place_is_refused_in_words(payload: object) -> None:
    with pytest.raises(RequestError):
        from_json(payload, known=5, latent=2)


def test_conditions_of_conditions_are_refused_however_deep() -> None:
    payload: dict[str, object] = {"known": 1}
    for _ in range(5_000):
        payload = {"base": payload, "given": {}}
    with pytest.raises(RequestError, match="conditions without a DAG"):
        from_json(payload, known=5, latent=2)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["known", "latent", "types", "edges", "x"]), inner),
    max_leaves=12,
)


@given(ANYTHING)
def test_any_payload_is_a_place_or_refused(payload: object) -> None:
    try:
        place = from_json(payload, known=5, latent=2)
    except RequestError:
        return
    assert from_json(to_json(place), known=5, latent=2) == place


def test_numbers_and_words_are_bounded() -> None:
    assert number(2, 0, 3, "x") == 2.0
    assert whole_number(2, 0, 3, "x") == 2
    assert choice("a", ("a", "b"), "x") == "a"
    for wrong in (True, "2", None, [], 4, float("nan")):
        with pytest.raises(RequestError, match="the x"):
            number(wrong, 0, 3, "the x")
        with pytest.raises(RequestError, match="the x"):
            whole_number(wrong, 0, 3, "the x")
        with pytest.raises(RequestError, match="the x"):
            choice(wrong, ("a", "b"), "the x")
