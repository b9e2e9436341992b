"""`dvae bn learn` as a newcomer uses it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dvae.bayesnet import read_network

from .conftest import Call, Refused


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """Spaces, missing values, a constant, an identifier and a continuous column."""
    chance = np.random.default_rng(0)
    lines = ["patient id;blood pressure;smokes;site;lung disease"]
    for row in range(300):
        smokes = chance.random() < 0.4
        ill = chance.random() < (0.7 if smokes else 0.1)
        pressure = "" if row % 25 == 0 else f"{120 + 15 * smokes + 10 * chance.normal():.1f}"
        word = "NA" if row % 30 == 7 else ("yes" if smokes else "no")
        lines.append(f"P{row};{pressure};{word};north;{'yes' if ill else 'no'}")
    path = tmp_path / "patients.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def words(tmp_path: Path) -> Path:
    chance = np.random.default_rng(1)
    codes = chance.integers(2, size=(200, 4))
    codes[:, 1] = codes[:, 0] ^ (chance.random(200) < 0.1)
    path = tmp_path / "words.csv"
    rows = "\n".join(",".join("no" if code else "yes" for code in row) for row in codes)
    path.write_text("a,b,c,d\n" + rows + "\n", encoding="utf-8")
    return path


def test_a_newcomers_table_is_learned(call: Call, patients: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "network.json"
    shown = call("bn", "learn", patients, "--out", out)
    assert shown.exit_code == 0, shown.stderr
    for text in ("patient id", "identifier", "constant", "continuous", "bic-cg", "blood pressure"):
        assert text in shown.stdout
    assert "structural EM" in shown.stderr
    network = read_network(out)
    assert network.has_parameters
    assert {frozenset(edge) for edge in network.edges} == {
        frozenset(("smokes", "lung disease")), frozenset(("smokes", "blood pressure")),
    }  # fmt: skip
    assert "<svg" in (tmp_path / "out" / "network.svg").read_text(encoding="utf-8")
    page = (tmp_path / "out" / "network.html").read_text(encoding="utf-8")
    assert "What the columns were taken for" in page
    assert "missing at random" in page


def test_programs_get_json(call: Call, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "network.bif"
    answer = json.loads(call("bn", "learn", words, "--json", "--out", out).stdout)
    assert [edge["directed"] for edge in answer["edges"]] == [False]
    assert {answer["edges"][0]["from"], answer["edges"][0]["to"]} == {"a", "b"}
    assert answer["algorithm"] == "exact"
    assert answer["files"] == [str(out), str(out.with_suffix(".svg")), str(out.with_suffix(".html"))]
    assert len(read_network(out).edges) == 1


def test_knowledge_comes_from_options_and_files(call: Call, words: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text('required = [["c", "d"]]\n', encoding="utf-8")
    options = ("--knowledge", known, "--forbid", "a -> b", "--tier", "d", "--tier", "c", "--json")
    assert call("bn", "learn", words, *options).exit_code == 2
    options = ("--knowledge", known, "--forbid", "a -> b", "--tier", "c,b", "--tier", "d,a", "--max-parents", 1)
    answer = json.loads(call("bn", "learn", words, *options, "--json").stdout)
    assert {(edge["from"], edge["to"]) for edge in answer["edges"]} == {("c", "d"), ("b", "a")}


@pytest.mark.parametrize("algorithm", ["hill-climbing", "tabu", "exact", "memetic", "latent"])
def test_every_algorithm_answers(call: Call, words: Path, algorithm: str) -> None:
    result = call("bn", "learn", words, "--algorithm", algorithm, "--json", "--seed", 3)
    assert result.exit_code == 0, result.stderr
    assert len(json.loads(result.stdout)["edges"]) == 1
    assert ("needs about 0.0 MiB for 4 variables" in result.stderr) == (algorithm == "exact")


def test_a_learned_network_is_a_start(call: Call, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "network.bif"
    call("bn", "learn", words, "--out", out)
    answer = json.loads(call("bn", "learn", words, "--start", out, "--algorithm", "hill-climbing", "--json").stdout)
    assert len(answer["edges"]) == 1


def test_what_cannot_be_used_is_refused_at_once(refused: Refused, words: Path, patients: Path, tmp_path: Path) -> None:
    assert "ends in .bif or .json" in refused("bn", "learn", words, "--out", tmp_path / "network.txt")
    assert "does not exist" in refused("bn", "learn", tmp_path / "nothing.csv")
    assert "BIF has no continuous variables" in refused("bn", "learn", patients, "--out", tmp_path / "n.bif")
    assert "both required and forbidden" in refused("bn", "learn", words, "--require", "a->b", "--forbid", "a->b")
    assert "the edge blood pressure -> smokes is required, but" in refused(
        "bn", "learn", patients, "--require", "blood pressure -> smokes"
    )
    assert "no algorithm 'tabo'" in refused("bn", "learn", words, "--algorithm", "tabo")
    assert "no score 'bix'" in refused("bn", "learn", words, "--score", "bix")
    assert "'bge' is not for discrete columns" in refused("bn", "learn", words, "--score", "bge")
    assert "which is no variable" in refused("bn", "learn", words, "--tier", "a,z")
    assert "an edge is written" in refused("bn", "learn", words, "--forbid", "a b")
