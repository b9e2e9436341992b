"""Columns, properties and conditions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dvae.dag import Dag, ScoredDag, write_jsonl

from .conftest import Call, Refused


def amplifier(size: float, number: int) -> ScoredDag:
    """A small circuit whose gain is what its size says."""
    types = ("in", "amp", "load", "out") if number % 2 else ("in", "amp", "out")
    edges = tuple((node, node + 1) for node in range(len(types) - 1))
    columns = {"size": (None, size, *[None] * (len(types) - 2)), "kind": ("a", *["b"] * (len(types) - 1))}
    return ScoredDag(Dag(types, edges, columns, {"wire": ("thick",) * len(edges)}, {"gain": 2 * size}), size)


@pytest.fixture
def circuits(tmp_path: Path) -> Path:
    path = tmp_path / "circuits.jsonl"
    write_jsonl(path, [amplifier(1 + number % 5, number) for number in range(40)])
    return path


def test_data_shows_columns_and_properties(call: Call, circuits: Path) -> None:
    shown = call("data", circuits).stdout
    assert "node column size" in shown
    assert "5 whole numbers, 1 to 5, median 3; of amp" in shown
    assert "2: a, b; of every type" in shown
    assert "1: thick; on edges between 4 pairs of types" in shown
    assert "property gain" in shown
    facts = json.loads(call("data", circuits, "--json").stdout)
    assert [column["name"] for column in facts["schema"]["node"]] == ["size", "kind"]
    assert facts["schema"]["properties"] == [["gain", 2, 10, 40]]


def test_data_names_the_line_of_a_column_that_does_not_fit(refused: Refused, circuits: Path) -> None:
    with circuits.open("a") as file:
        file.write('{"types": ["in", "out"], "edges": [[0, 1]], "node": {"size": ["big", null]}}\n')
    assert f"{circuits}:41: the DAG has a string in the node column 'size'" in refused("data", circuits)
