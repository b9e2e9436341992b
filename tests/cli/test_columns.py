"""Columns, properties and conditions on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dvae
from dvae.dag import Dag, ScoredDag, load_jsonl, write_jsonl

from .conftest import TINY, Call, Refused


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


def test_a_run_is_asked_for_properties(call: Call, refused: Refused, circuits: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "out.jsonl"
    words = ("train", "--data", circuits, "--run", run, "--condition", "gain", *TINY, "--epochs", 2, "--json")
    assert call(*words).exit_code == 0
    assert call("sample", run, "--given", "gain=4", "--count", 7, "--valid", "--seed", 1, "--out", out).exit_code == 0
    dags = [item.dag for item in load_jsonl(out)]
    assert len(dags) == 7
    assert all(dag.has_columns for dag in dags)
    assert dvae.sample(run, 7, given={"gain": 4}, valid=True, seed=1) == dags
    changed = json.loads(call("sample", run, "--like", circuits, "--given", "gain=9", "--count", 1, "--json").stdout)
    assert changed["count"] == 40
    assert call("encode", run, circuits, "--out", tmp_path / "z.npz").exit_code == 0
    decoded = json.loads(call("decode", run, tmp_path / "z.npz", "--given", "gain=4", "--json").stdout)
    assert decoded["count"] == 40
    measured = json.loads(
        call("evaluate", run, "--encodings", 1, "--decodings", 1, "--prior-latents", 10, "--json").stdout
    )
    assert {"structure", "categories", "numbers", "together"} <= measured["greedy"]["columns"].keys()
    shown = call("evaluate", run, "--encodings", 1, "--decodings", 1, "--prior-latents", 10).stdout
    assert "numbers within 5%, greedy" in shown
    assert "a condition is NAME=NUMBER" in refused("sample", run, "--given", "gain")
    assert "is given twice" in refused("sample", run, "--given", "gain=1,gain=2")
    assert "no condition 'area'; it has gain" in refused("sample", run, "--given", "area=1")
    assert "--like goes with --given" in refused("sample", run, "--like", circuits)
    assert "--change goes with --like" in refused("sample", run, "--change", 0.5)
    varied = json.loads(call("sample", run, "--like", circuits, "--change", 0.5, "--count", 2, "--json").stdout)
    assert varied["count"] == 80


def test_a_condition_that_no_dag_has_is_refused(refused: Refused, circuits: Path, tmp_path: Path) -> None:
    words = ("train", "--data", circuits, "--run", tmp_path / "run", *TINY, "--epochs", 1, "--condition")
    assert "no property 'gian' to be a condition; did you mean 'gain'" in refused(*words, "gian")
    assert not (tmp_path / "run").exists()
    assert "names of properties, with commas between" in refused(*words, "gain,,area")
