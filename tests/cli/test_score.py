"""`dvae score`, and tables of data as tasks of the other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.scores import SCORE_NAMES, NetworkScores
from dvae.dag import Dag, write_jsonl
from dvae.tasks import get

from .conftest import TINY, Call, Refused


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    rows = [f"{'ab'[n % 2]},{'xyz'[n % 3]},{'pq'[n % 5 // 3]}" for n in range(40)]
    path.write_text("\n".join(["one,two,three", *rows]) + "\n")
    return path


@pytest.fixture
def networks(tmp_path: Path) -> Path:
    path = tmp_path / "networks.jsonl"
    write_jsonl(path, [Dag(("two", "one", "three"), ((0, 1), (1, 2))), Dag(("one", "two", "three"))])
    return path


def test_one_object_a_network(call: Call, table: Path, networks: Path) -> None:
    result = call("score", "--task", f"bn:{table}", networks, "--json")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    chain, empty = map(json.loads, result.stdout.splitlines())
    scores = NetworkScores(DiscreteData.read_csv(table))
    assert tuple(chain) == SCORE_NAMES
    for name in SCORE_NAMES:
        assert chain[name] == scores.score(name, Dag(("two", "one", "three"), ((0, 1), (1, 2))))
        assert empty[name] == scores.score(name, Dag(("one", "two", "three")))


def test_the_imaginary_sample_size_changes_bde_alone(call: Call, table: Path, networks: Path) -> None:
    one, ten = (
        json.loads(call("score", "--task", f"bn:{table}", networks, "--iss", iss, "--json").stdout.splitlines()[0])
        for iss in (1, 10)
    )
    assert [name for name in SCORE_NAMES if one[name] != ten[name]] == ["bde"]


def test_a_table_for_people(call: Call, table: Path, networks: Path) -> None:
    shown = call("score", "--task", f"bn:{table}", networks).stdout
    score = NetworkScores(DiscreteData.read_csv(table)).score("k2", Dag(("one", "two", "three")))
    assert f"{score:.6f}" in shown
    assert "2 networks on 40 rows" in shown
    assert all(name in shown for name in SCORE_NAMES)


def test_asia_is_scored_on_its_embedded_rows(call: Call, tmp_path: Path) -> None:
    task = get("asia")
    dags = task.sample(5, seed=0)
    write_jsonl(tmp_path / "nets.jsonl.gz", dags)
    lines = call("score", "--task", "asia", tmp_path / "nets.jsonl.gz", "--json").stdout.splitlines()
    assert [json.loads(line)["bic"] for line in lines] == task.scores(dags)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"types": ["one", "two", "four"], "edges": []}', "no variable 'four' (they have one, two, three)"),
        ('{"types": ["one", "two"], "edges": []}', "'three' is missing"),
        ('{"types": ["one", "two", "three", "one"], "edges": []}', "'one' stands 2 times"),
        ('{"types": [1, 2, 3], "edges": []}', "no variable 1"),
        ('{"types": ["one", "two", "three"], "edges": [[0, 1], [1, 0]]}', "cycle"),
    ],
)
def test_a_dag_that_is_no_network_is_named(
    line: str, words: str, refused: Refused, table: Path, tmp_path: Path
) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"types": ["one", "two", "three"], "edges": []}\n\n' + line + "\n")
    sentence = refused("score", "--task", f"bn:{table}", path, "--json")
    assert sentence.startswith(f"{path}:3: ")
    assert words in sentence


def test_a_bad_table_is_named(refused: Refused, networks: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("one,two,three\na,x,p\nb,,q\n")
    for words in (("score", networks), ("train", "--run", tmp_path / "run"), ("data",)):
        place = ("--task", f"bn:{bad}") if words != ("data",) else (f"bn:{bad}",)
        assert refused(*words, *place).startswith(f"{bad}:3: the value of column 'two' is missing")
    assert "none.csv" in refused("score", "--task", f"bn:{tmp_path / 'none.csv'}", networks)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--task", "enas6"), "'enas6'"),
        (("--task", "bn:one,two,three"), "no data"),
        (("--task", "nothing"), "'nothing'"),
        (("--task", "asia", "--iss", 0), "imaginary sample size"),
        (("--task", "asia", "--iss", "nan"), "imaginary sample size"),
        (("--task", "asia"), "no variable 'two'"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    words: tuple[object, ...], named: str, refused: Refused, networks: Path
) -> None:
    assert named in refused("score", networks, *words)


def test_bnlearns_rows_are_asked_for(
    refused: Refused, networks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path / "nowhere"))
    assert "DVAE_DATA" in refused("score", "--task", "asia-bnlearn", networks)


def test_a_table_is_a_task_to_train_on(
    call: Call, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dvae.runs import Run

    monkeypatch.chdir(table.parent)
    run = tmp_path / "run"
    few = ("--size", 30, "--epochs", 1, *TINY)
    result = call("train", "--task", "bn:my.csv", "--order", "three, one,two", "--run", run, *few)
    assert result.exit_code == 0, result.stderr
    assert "no order" not in result.stderr
    assert Run.open(run).config.task == f"bn:{table}?order=three,one,two"
    assert json.loads((run / "task.json").read_text())["variables"] == ["three", "one", "two"]
    monkeypatch.chdir(tmp_path.parent)
    table.rename(table.with_name("gone.csv"))
    assert call("sample", run, "--count", 3).exit_code == 0
    assert call("evaluate", run, "--test-limit", 1).exit_code == 0


def test_an_estimated_order_is_told_and_kept(call: Call, table: Path, tmp_path: Path) -> None:
    from dvae.runs import Run

    run = tmp_path / "run"
    result = call("train", "--task", f"bn:{table}", "--run", run, "--size", 30, "--epochs", 1, *TINY)
    assert result.exit_code == 0, result.stderr
    assert "no order" in result.stderr
    task = Run.open(run).config.task
    assert task.startswith(f"bn:{table}?order=")
    again = call("train", "--run", run, "--resume", "--epochs", 2)
    assert again.exit_code == 0, again.stderr
    assert "no order" not in again.stderr


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--order", "A,B"), "--task"),
        (("--task", "asia", "--order", "A,S"), "leaves out"),
        (("--task", "asia", "--order", "A,S,T,L,B,E,X,D,Z"), "'Z'"),
        (("--task", "enas6", "--order", "A,S"), "Bayesian networks"),
    ],
)
def test_a_wrong_order_is_refused(words: tuple[object, ...], named: str, refused: Refused, tmp_path: Path) -> None:
    assert named in refused("train", "--run", tmp_path / "run", "--size", 10, *words)
