"""`dvae search` and `dvae worker` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dvae.dag import load_jsonl

from .conftest import Call, Refused

pytest.importorskip("optuna")

SCORE = "def few_edges(dag):\n    return -len(dag.edges)\n\ndef broken(dag):\n    raise ValueError('broken')\n"


@pytest.fixture
def score_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "my_scores_of_cli_tests.py").write_text(SCORE)
    monkeypatch.syspath_prepend(folder)


@pytest.mark.usefixtures("score_file")
def test_a_search_with_a_score_of_the_users(call: Call, run: Path, tmp_path: Path) -> None:
    storage, out, picture = f"sqlite:///{tmp_path / 'my.db'}", tmp_path / "found.jsonl", tmp_path / "found.svg"
    words = ["search", run, "--budget", 12, "--strategy", "random", "--score", "my_scores_of_cli_tests:few_edges"]
    words += ["--storage", storage, "--study", "mine"]
    done = call(*words, "--out", out, "--draw", picture, "--json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["evaluations"], answer["complete"]) == (12, 12)
    found = load_jsonl(out)
    assert len(found) == 12
    assert found[0].score == answer["best"]["score"] == -len(found[0].dag.edges)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert picture.read_text().startswith("<svg")
    again = call(*words)  # it is over, and says what it found
    assert again.exit_code == 0
    assert "the best of 12 candidates" in again.stdout
    done = call("worker", "--storage", storage, "--json")
    assert json.loads(done.stdout)["scored"] == 0


@pytest.mark.usefixtures("score_file")
def test_a_search_whose_score_always_fails_ends(call: Call, run: Path, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'my.db'}"
    done = call(
        "search", run, "--budget", 4, "--score", "my_scores_of_cli_tests:broken", "--storage", storage, "--json"
    )
    assert done.exit_code == 0
    answer = json.loads(done.stdout)
    assert (answer["failed"], answer["best"]) == (4, None)


def test_what_cannot_be_searched_is_refused(refused: Refused, run: Path, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'none.db'}"
    assert "no score of its own" in refused("search", run, "--storage", storage)
    assert "not those of asia" in refused("search", run, "--task", "asia", "--storage", storage)
    assert "cannot be imported" in refused("search", run, "--score", "nowhere:f", "--storage", storage)
    assert "holds no run" in refused("search", tmp_path, "--storage", storage)
    assert "is not there" in refused("worker", "--storage", storage)
    assert "is no storage" in refused("worker", "--storage", "studies.db")
