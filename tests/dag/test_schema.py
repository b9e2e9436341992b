"""The schema of columns: inferred, saved, checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import columned_dags
from dvae.dag import Dag, Schema, write_jsonl
from dvae.dag.number_grid import BINS, MAX_VALUES, NumberGrid
from dvae.errors import DagError, FormatError, MisfitError, TaskError
from dvae.tasks import from_spec, get, read_dags, to_spec

FIRST = Dag(("in", "amp", "out"), ((0, 1), (1, 2)), {"size": (None, 2, 5), "kind": ("a", None, "b")}, {"w": ("x", "y")})
SECOND = Dag(("in", "amp", "out"), ((0, 1), (0, 2)), {"size": (None, None, 9)}, {"w": ("x", None)}, {"gain": 2})


def column(schema: Schema, name: str):
    return next(column for _, column in schema.columns() if column.name == name)


def test_a_schema_says_kinds_categories_ranges_and_holders() -> None:
    schema = Schema.infer([FIRST, SECOND])
    size, kind, wire = (column(schema, name) for name in ("size", "kind", "w"))
    assert (size.kind, size.grid.values, size.grid.integer) == ("number", (2.0, 5.0, 9.0), True)
    assert {holder.owner: holder.optional for holder in size.holders} == {"amp": True, "out": False}
    assert kind.categories == ("a", "b")
    assert {holder.owner: holder.categories for holder in kind.holders} == {"in": ("a",), "out": ("b",)}
    assert {holder.owner: holder.optional for holder in wire.holders} == {("in", "amp"): False, ("amp", "out"): False}
    assert [(one.name, one.low, one.high, one.count) for one in schema.properties] == [("gain", 2, 2, 1)]


def test_without_columns_there_is_no_schema() -> None:
    assert not Schema.infer([FIRST.plain()])
    assert Schema.infer([FIRST.plain()]) == Schema()


@given(st.lists(columned_dags(), min_size=1, max_size=4))
def test_every_schema_fits_its_dags_and_comes_back(dags: list[Dag]) -> None:
    try:
        schema = Schema.infer(dags)
    except MisfitError:
        return  # a column of strings in one, of numbers in another
    assert all(schema.problem(dag) is None for dag in dags)
    assert Schema.from_mapping(json.loads(json.dumps(schema.to_mapping()))) == schema


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (
            {"node": {"kind": ("c", None, None)}},
            "has the unknown category 'c' (known: a, b), in the node column 'kind'",
        ),
        (
            {"node": {"size": ("big", None, None)}},
            "has the string 'big' where numbers are expected, in the node column",
        ),
        ({"node": {"kind": (1, None, None)}}, "has the number 1 where strings are expected, in the node column 'kind'"),
        ({"node": {"size": (1, None, None)}}, "has the value 1 at a node of type 'in', a type without this column"),
        ({"node": {"width": (1, 2, 3)}}, "has the unknown node column 'width' (known: size, kind)"),
        ({"edge": {"w": ("z", None)}}, "has the unknown category 'z' (known: x, y), in the edge column 'w'"),
    ],
)
def test_what_does_not_fit_is_named_with_file_and_line(tmp_path: Path, columns: dict, problem: str) -> None:
    write_jsonl(tmp_path / "train.jsonl", [FIRST, SECOND])
    task = get(f"file:{tmp_path / 'train.jsonl'}")
    bad = Dag(FIRST.types, FIRST.edges, **columns)
    write_jsonl(tmp_path / "new.jsonl", [FIRST, bad])
    with pytest.raises(FormatError) as caught:
        read_dags(task, tmp_path / "new.jsonl")
    assert str(caught.value).startswith(f"{tmp_path / 'new.jsonl'}:2: the DAG does not fit")
    assert problem in str(caught.value)
    assert not task.is_valid(bad)
    assert problem in str(task.why_invalid(bad))


def test_a_column_of_two_kinds_is_named_with_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    write_jsonl(path, [FIRST, SECOND, Dag(("in", "out"), ((0, 1),), {"size": ("big", None)})])
    with pytest.raises(FormatError, match=r"mixed\.jsonl:3: the DAG has a string in the node column 'size', where"):
        get(f"file:{path}")


def test_names_are_no_categories() -> None:
    dags = [Dag(("a",), (), {"name": (f"node {number}",)}) for number in range(1_001)]
    with pytest.raises(TaskError, match="the node column 'name' has 1,001 categories"):
        Schema.infer(dags)


def test_the_schema_is_saved_with_the_task(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "train.jsonl", [FIRST, SECOND])
    task = get(f"file:{tmp_path / 'train.jsonl'}")
    assert from_spec(json.loads(json.dumps(to_spec(task)))).schema == task.schema
    write_jsonl(tmp_path / "plain.jsonl", [FIRST.plain()])
    assert "schema" not in to_spec(get(f"file:{tmp_path / 'plain.jsonl'}"))


def test_a_damaged_schema_is_refused() -> None:
    with pytest.raises(DagError, match="is no type of a node"):
        Schema.from_mapping({"node": [{"name": "a", "kind": "number", "holders": [[1.5, [], False]]}]})


def test_few_numbers_are_values_and_many_fall_into_bins() -> None:
    few = NumberGrid.of({float(number): 1 for number in range(MAX_VALUES)})
    assert len(few.values) == MAX_VALUES
    assert (few.tolerance, few.rounded(3.0), few.bin_of(3.0)) == (0.0, 3.0, None)
    many = NumberGrid.of({0.0: 5_000} | {number / 7: 1 for number in range(1, 5_001)})
    assert many.values == (0.0,)
    assert len(many.edges) == BINS + 1
    assert (many.bin_of(-5.0), many.bin_of(1e9)) == (0, BINS - 1)
    assert many.edges[many.bin_of(100.0)] <= 100 < many.edges[many.bin_of(100.0) + 1]
    assert many.rounded(100.0) == many.rounded(100.0 + many.tolerance / 100)
    assert NumberGrid.of({}) == NumberGrid()


def test_a_rare_number_does_not_set_the_scale() -> None:
    grid = NumberGrid.of({float(number): 1 for number in range(100)} | {1e9: 1})
    assert grid.scale < 50
    assert grid.centre == 50


@pytest.mark.parametrize("counts", [{3.0: 7}, {0.0: 99, 1.0: 1}])
def test_the_scale_is_never_zero(counts: dict[float, int]) -> None:
    assert NumberGrid.of(counts).scale > 0
