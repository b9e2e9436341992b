"""Expressions and retraining from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dvae.studies.retraining import RECORD

from .conftest import TINY, Call, Refused


@pytest.fixture
def run_of_expressions(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path / "nothing"))
    words = ("train", "--task", "expressions", "--size", 40, "--epochs", 1, *TINY)
    done = call(*words, "--run", tmp_path / "run")
    assert done.exit_code == 0, done.stderr
    return tmp_path / "run"


def test_a_search_with_retraining(call: Call, run_of_expressions: Path) -> None:
    words = ("search", run_of_expressions, "--strategy", "latent-evolution", "--batch", 3, "--retrain", 3, "--json")
    done = call(*words, "--budget", 6)
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["study"] == "expressions-latent-evolution-0-retrain3"
    assert answer["description"]["retrain"]["weight"] == 1e-3
    kept = run_of_expressions / "retrained" / answer["study"]
    assert [path.name for path in kept.iterdir()] == ["trial-000003"]
    before = (kept / "trial-000003" / RECORD).read_text()
    longer = json.loads(call(*words, "--budget", 9).stdout)
    assert longer["evaluations"] == 9
    assert sorted(path.name for path in kept.iterdir()) == ["trial-000003", "trial-000006"]
    assert (kept / "trial-000003" / RECORD).read_text() == before
    other = call(*words, "--budget", 12, "--retrain-weight", 0.5)
    assert (other.exit_code, "was begun with retrain" in other.stderr) == (2, True)
    zero = call(*words, "--retrain-weight", 0, "--study", "other")
    assert (zero.exit_code, "positive and finite" in zero.stderr) == (2, True)


def test_expressions_are_scored_and_refused_by_line(call: Call, refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("1 / 3 + x + sin(x * x)\nx\n")
    done = call("score", "--task", "expressions", path, "--json")
    assert done.exit_code == 0, done.stderr
    assert "0.0" in done.stdout
    path.write_text("x\nx ** 2\n")
    assert "mine.txt:2: part 3 is '*'" in refused("score", "--task", "expressions", path)
