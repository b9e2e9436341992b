"""What DAGs are coloured, filtered and sorted by."""

from __future__ import annotations

import numpy as np
import pytest

from dvae.dag import Dag
from dvae.explorer import PageModel, RequestError, Space, map_colours, map_figure
from dvae.explorer.filters import MAX_CLAUSES, MAX_TEXT, matches
from dvae.explorer.quantities import Quantities, Quantity

from .test_charts import unpacked

DAGS = (
    Dag(("a", "b"), ((0, 1),), properties={"gain (dB)": 1.5}),
    Dag(("a", "b", "b"), ((0, 1), (0, 2)), properties={"gain (dB)": 2.5}),
    Dag(("b", "a", 7), ((0, 1), (1, 2))),
)


@pytest.fixture
def quantities() -> Quantities:
    return Quantities(DAGS, {"score": [1.0, None, 3.0]}, {"split": ["train", "train", "test"]})


def test_every_quantity_has_a_value_for_every_dag(quantities: Quantities) -> None:
    assert quantities.names == [
        "score", "nodes", "edges", "split", "gain (dB)", "count(7)", "count(a)", "count(b)",
    ]  # fmt: skip
    for name in quantities.names:
        assert len(quantities.get(name).values) == 3
    assert quantities.get("count(b)").values.tolist() == [1, 2, 1]
    assert np.isnan(quantities.get("score").values[1])
    assert quantities.get("split").text(2) == "test"
    assert quantities.get("score").text(1) == "–"
    assert "count(a)" not in quantities.useful


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("", [0, 1, 2]),
        (None, [0, 1, 2]),
        ("score >= 1", [0, 2]),  # a DAG without a score passes no comparison of it
        ("nodes < 3 and edges = 1", [0]),
        ("nodes <= 3, edges != 1", [1, 2]),
        ("a -> b", [0, 1]),
        ("not a -> b", [2]),
        ("a → 7", [2]),
        ("count(b) == 2", [1]),
        ("split = test", [2]),
        ("split != test", [0, 1]),
        ('"gain (dB)" > 2', [1]),
        ("gain (dB) > 2", [1]),
        (", ,", [0, 1, 2]),
    ],
)
def test_a_filter_lets_through_what_it_says(quantities: Quantities, text: object, numbers: list[int]) -> None:
    assert np.flatnonzero(matches(text, quantities)).tolist() == numbers


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodez > 3", "no 'nodez'"),
        ("nodes > many", "compared with a number"),
        ("split > test", "write split = train or split = test"),
        ("a -> z", "no DAG here has a node of type 'z'"),
        ("count(z) = 1", "type 'z'"),
        ("hello", "is no filter"),
        ("x" * (MAX_TEXT + 1), "at most"),
        (", ".join(["nodes > 1"] * (MAX_CLAUSES + 1)), "at most"),
        (7, "is a text"),
    ],
)
def test_what_is_no_filter_is_said(quantities: Quantities, text: object, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        matches(text, quantities)


def test_words_whole_numbers_and_others_have_their_own_colours(quantities: Quantities) -> None:
    words = map_colours.colours_of(quantities.get("split"))
    assert words["colorbar"]["ticktext"] == ["train", "test"]
    assert len({colour for _, colour in words["colorscale"]}) == 2
    whole = map_colours.colours_of(quantities.get("edges"))
    assert (whole["cmin"], whole["cmax"]) == (1, 2)
    ranked = map_colours.colours_of(Quantity("x", np.array([0.5, 1e9, np.nan, 0.7])))
    assert unpacked(ranked["color"])[[0, 1, 3]].tolist() == pytest.approx([0, 2 / 3, 1 / 3])
    assert map_colours.colours_of(Quantity("same", np.ones(4))) == {}


def test_a_filtered_map_has_the_rest_faintly_behind_and_keeps_numbers(asia: Space) -> None:
    model = PageModel(asia)
    shown = model.shown("edges > 9")
    assert 0 < shown.sum() < len(shown)
    figure = map_figure.map_figure(asia, asia.planes[0], "none", None, shown)
    points, faded = figure["data"][map_figure.POINTS], figure["data"][map_figure.FADED]
    assert points["customdata"] == np.flatnonzero(shown).tolist()
    assert len(unpacked(points["x"])) == len(unpacked(points["marker"]["color"])) == shown.sum()
    assert len(unpacked(faded["x"])) == (~shown).sum()
    assert "customdata" not in map_figure.map_figure(asia, asia.planes[0], "none")["data"][map_figure.POINTS]


COLUMNED = (
    Dag(("a", "b"), ((0, 1),), node={"size": [1, 3], "kind": ["x", "y"]}, edge={"delay": [0.5]}),
    Dag(("a", "b"), ((0, 1),), node={"size": [None, 6], "kind": ["x", "x"]}, edge={"delay": [None]}),
)


def test_columns_are_coloured_and_filtered_by_their_means_and_words() -> None:
    quantities = Quantities(COLUMNED, {})
    assert quantities.means == ["mean(size)", "mean(delay)"]
    assert quantities.get("mean(size)").values.tolist() == [2, 6]
    assert "mean(size)" in quantities.useful
    assert np.isnan(quantities.get("mean(delay)").values[1])
    for text, numbers in (("mean(size) > 2", [1]), ("kind = y", [0]), ("kind != y", [1]), ("not kind = x", [])):
        assert np.flatnonzero(matches(text, quantities)).tolist() == numbers
    for wrong in ("kind > x", "mean(kind) > 1", "mean(nothing) > 1"):
        with pytest.raises(RequestError, match="there is no"):
            matches(wrong, quantities)


ODD = (" A -> B, nodes <= 3", '"quoted" & <b>', "x", "</script>")


def test_types_with_odd_names_are_counted_and_filtered() -> None:
    dags = [Dag((one, "x"), ((0, 1),)) for one in ODD]
    quantities = Quantities(dags, {})
    for label in ODD:
        assert quantities.get(f"count({label})").values.max() >= 1
    assert set(quantities.useful) == {f"count({label})" for label in ODD}
    for text, numbers in ((f'count("{ODD[0]}") = 1', [0]), (f'"{ODD[0]}" -> x', [0]), ("</script> -> x", [3])):
        assert np.flatnonzero(matches(text, quantities)).tolist() == numbers
