"""`dvae diff` and the ways in which `dvae draw` draws large DAGs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dvae.dag import Dag, write_jsonl
from figures.test_folding import large_dag

from .conftest import Call, Refused

ONE = Dag(("A", "B", "C"), ((0, 1), (1, 2)))
OTHER = Dag(("B", "A", "D"), ((0, 1), (0, 2)))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    write_jsonl(tmp_path / "one.jsonl", [ONE])
    (tmp_path / "other.dot").write_text("digraph { B -> A; B -> D }")  # names as types
    return tmp_path / "one.jsonl", tmp_path / "other.dot"


def test_a_difference_is_told_and_drawn(call: Call, files: tuple[Path, Path], tmp_path: Path) -> None:
    result = call("diff", *files, "--draw", tmp_path / "both.svg", "--direction", "right")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "node 2: D is new",
        "node 2: C is gone",
        "edge 0: B → 1: A runs the other way",
        "edge 0: B → 2: D is new",
        "edge 1: B → 2: C is gone",
    ]
    assert (tmp_path / "both.svg").read_text().count("stroke-dasharray") == 1


def test_programs_get_numbers(call: Call, files: tuple[Path, Path], tmp_path: Path) -> None:
    answer = json.loads(call("diff", *files, "--json").stdout)
    assert (answer["edits"], answer["added_nodes"], answer["turned_edges"]) == (6, [2], [[0, 1]])
    write_jsonl(tmp_path / "two.jsonl", [ONE, OTHER])
    assert json.loads(call("diff", tmp_path / "two.jsonl", "--json").stdout) == answer
    same = call("diff", files[0], files[0])
    assert (same.stdout, same.exit_code) == ("", 0)
    assert "the same" in same.stderr


def test_too_many_or_too_few_dags_are_refused(refused: Refused, files: tuple[Path, Path], tmp_path: Path) -> None:
    assert "the file has 1 DAG; give one with two" in refused("diff", files[0])
    write_jsonl(tmp_path / "two.jsonl", [ONE, OTHER])
    assert "each of two files must have one" in refused("diff", tmp_path / "two.jsonl", files[1])
    assert "does not exist" in refused("diff", files[0], tmp_path / "no.jsonl")
    assert ".svg or .png" in refused("diff", *files, "--draw", tmp_path / "x.pdf")


def test_a_large_dag_is_drawn_folded(call: Call, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    write_jsonl(path, [large_dag(300)])
    result = call("draw", path, tmp_path / "a.svg", "--fold", 30, "--direction", "right")
    assert result.exit_code == 0
    count = re.search(r"drew 300 nodes as (\d+) boxes", result.stderr)
    assert count is not None
    assert int(count[1]) <= 30
    write_jsonl(path, [ONE, OTHER])
    assert "--fold draws one DAG, not 2" in refused("draw", path, tmp_path / "b.svg", "--fold", 30)
    assert not (tmp_path / "b.svg").exists()


def test_the_first_dags_of_a_file_have_the_colours_of_all(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "all.jsonl"
    write_jsonl(path, [Dag(("mul", "sub"), ((0, 1),)), Dag(("add", "div"), ((0, 1),))])

    def colours(name: str, *words: object) -> dict[str, str]:
        assert call("draw", path, tmp_path / name, *words).exit_code == 0
        text = (tmp_path / name).read_text()
        return dict(re.findall(r"<title>\d: (\w+)</title><\w+ [^>]*?fill=\"(#\w+)\"", text))

    first, every = colours("first.svg", "--limit", 1), colours("every.svg")
    assert first.items() <= every.items()
    assert colours("right.svg", "--direction", "right") == every
