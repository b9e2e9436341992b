"""`dvae search` for several properties: the front, from a function and from the predictor; resumed; in the report."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from dvae.dag import Dag, ScoredDag, load_jsonl, write_jsonl
from dvae.evaluation import prediction
from dvae.studies import Study
from dvae.studies.storage import storage_of

from .conftest import TINY, Call, Refused


def values(dag: Dag) -> dict[str, float]:
    """More amps, more gain; more loads, more noise; few nodes are stable."""
    return {
        "gain": float(dag.types.count("amp")), "quiet": -float(dag.types.count("load")), "pm": 6.0 - len(dag),
    }  # fmt: skip


@pytest.fixture(scope="module")
def trained(call: Call, tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = random.Random(0)
    dags = []
    for _ in range(120):
        types = ("in", *(chance.choice(["amp", "load"]) for _ in range(chance.randint(1, 4))), "out")
        dags.append(Dag(types, tuple((node, node + 1) for node in range(len(types) - 1))))
    folder = tmp_path_factory.mktemp("search")
    items = [ScoredDag(Dag(dag.types, dag.edges, properties=values(dag))) for dag in dags]
    write_jsonl(folder / "amps.jsonl", items)
    task = f"file:{folder / 'amps.jsonl'}"
    result = call("train", "--task", task, "--run", folder / "run", "--epochs", 2, "--preset", "paper", *TINY)
    assert result.exit_code == 0, result.stderr
    return folder / "run"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "amps.py").write_text(
        "def score(dag):\n"
        "    return {'gain': float(dag.types.count('amp')), 'quiet': -float(dag.types.count('load')),\n"
        "            'pm': 6.0 - len(dag)}\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


WANTED = ("--maximize", "gain", "--maximize", "quiet", "--subject-to", "pm>=1")
SHORT = ("--budget", 12, "--batch", 4, "--strategy", "evolution", "--isolate", "no")


def test_a_function_of_several_values_gives_a_front(call: Call, trained: Path, mine: Path) -> None:
    out = mine / "front.jsonl"
    words = ("search", trained, "--score", "amps:score", *WANTED, *SHORT, "--study", "mine")
    result = call(*words, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["complete"] == found["evaluations"] <= 12
    assert found["feasible"] >= 1
    assert found["hypervolume"] >= 0
    for row in found["front"]:
        assert row["values"] == values(Dag(row["types"], row["edges"]))
        assert row["values"]["pm"] >= 1
    assert len(load_jsonl(out)) == len(found["front"])
    assert load_jsonl(out)[0].dag.properties == found["front"][0]["values"]
    again = json.loads(call(*words, "--json").stdout)
    assert again["front"] == found["front"]
    trials = Study.open(storage_of(trained), "mine").trials
    assert all(set(trial.attributes["values"]) == {"gain", "quiet", "pm"} for trial in trials)


def test_the_predictor_scores_where_nothing_else_can(
    call: Call, trained: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction.fit_predictor, "__kwdefaults__", {"seed": 0, "trees": 20, "progress": None})
    result = call("search", trained, *WANTED, "--budget", 8, "--batch", 4, "--strategy", "random", "--draw", "f.svg")
    assert result.exit_code == 0, result.stderr
    assert "the Pareto front: maximize gain and maximize quiet, subject to pm>=1" in result.stdout
    assert "Hypervolume: " in result.stderr
    assert (mine / "f.svg").is_file()
    assert call("report", trained).exit_code == 0
    page = (trained / "report.md").read_text() if (trained / "report.md").is_file() else ""
    assert "maximize gain and maximize quiet" in page or "maximize gain" in (trained / "report.html").read_text()


def test_what_cannot_be_asked_for_is_refused(refused: Refused, trained: Path, mine: Path) -> None:
    assert "not of the form" in refused("search", trained, "--maximize", "gain", "--subject-to", "pm>2")
    assert "--lower" in refused("search", trained, "--maximize", "gain", "--minimize")
    assert "at least one" in refused("search", trained, "--subject-to", "pm>=2")
    assert "no DAG has a property 'colour'" in refused("search", trained, "--maximize", "colour")


def test_a_lacking_value_fails_its_candidate(call: Call, trained: Path, mine: Path) -> None:
    words = ("search", trained, "--score", "amps:score", "--maximize", "colour", *SHORT, "--study", "lacking")
    result = call(*words)
    assert "the score gives no 'colour'; it gives gain, quiet, pm" in result.stderr
    single = call("search", trained, "--score", "amps:score", *SHORT, "--study", "single")
    assert "say which to search for" in single.stderr
