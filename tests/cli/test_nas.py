"""`dvae nas`: from shared weights to a trained network, on the smallest of everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dvae.dag import Dag, ScoredDag, load_jsonl, write_jsonl
from dvae.tasks import EnasTask
from nas.examples import ctrl_c_at

from .conftest import Call, Refused

SMALL = ("--data", "digits", "--epochs", 1, "--width", 4, "--validation", 100)


@pytest.fixture(scope="session")
def supernet(call: Call, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared weights after one epoch; tests must not change them."""
    folder = tmp_path_factory.mktemp("nas") / "net"
    result = call("nas", "train-supernet", folder, "--space", "enas3", *SMALL, "--json")
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert answer["epochs"] == 1
    assert 0 <= answer["last"]["watched"] <= 1
    return folder


@pytest.fixture
def architectures(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "some.jsonl", EnasTask(3).sample(6, seed=3))
    return tmp_path / "some.jsonl"


def test_a_supernet_can_be_resumed(call: Call, supernet: Path, tmp_path: Path) -> None:
    words = ("nas", "train-supernet", tmp_path / "net", "--space", "enas2", *SMALL)
    assert "shared weights of enas2 on digits" in call(*words).stdout
    assert call(*words).exit_code == 2
    again = call("nas", "train-supernet", tmp_path / "net", "--resume", "--epochs", 2, "--json")
    assert json.loads(again.stdout)["epochs"] == 2


def test_architectures_are_scored(call: Call, supernet: Path, architectures: Path, tmp_path: Path) -> None:
    words = ("nas", "score", supernet, architectures, "--out", tmp_path / "scored.jsonl")
    answer = json.loads(call(*words, "--json").stdout)
    assert answer["images"] == 100
    assert answer["architectures_per_second"] > 0
    assert [item.score for item in load_jsonl(tmp_path / "scored.jsonl")] == answer["scores"]
    shown = call(*words[:-2]).stdout
    assert f"{max(answer['scores']):.4f}" in shown


def test_a_data_set_goes_on_where_it_was(call: Call, supernet: Path, tmp_path: Path) -> None:
    out = tmp_path / "set.jsonl"
    assert json.loads(call("nas", "dataset", supernet, "--count", 5, "--out", out, "--json").stdout)["scored_now"] == 5
    first = load_jsonl(out)
    words = ("nas", "dataset", supernet, "--count", 9, "--out", out, "--space", "enas3")
    assert json.loads(call(*words, "--json").stdout)["scored_now"] == 4
    assert load_jsonl(out)[:5] == first
    assert len({item.dag for item in load_jsonl(out)}) == 9
    assert call(*words[:-1], "enas6").exit_code == 2
    assert "holds something else" in call(*words, "--seed", 1).stderr
    assert "holds 9 architectures, more than --count 8" in call(*words, "--count", 8).stderr
    write_jsonl(out, [ScoredDag(item.dag, 0.123) for item in load_jsonl(out)])
    assert "has other scores than these shared weights give" in call(*words).stderr


def test_twelve_layers(call: Call, tmp_path: Path) -> None:
    net, out = tmp_path / "net", tmp_path / "set.jsonl"
    assert call("nas", "train-supernet", net, "--space", "enas12", *SMALL).exit_code == 0
    assert call("nas", "dataset", net, "--space", "enas12", "--count", 5, "--out", out).exit_code == 0
    assert [len(item.dag) for item in load_jsonl(out)] == [14] * 5


@pytest.mark.filterwarnings("ignore:A not p.d.")  # of so few points, a Gaussian process may be near singular
def test_a_latent_space_is_searched(call: Call, supernet: Path, tmp_path: Path) -> None:
    scored, run, out = tmp_path / "set.jsonl", tmp_path / "run", tmp_path / "found.jsonl"
    call("nas", "dataset", supernet, "--count", 40, "--out", scored)
    small = ("--set", "model.hidden=10", "--set", "model.latent=4", "--epochs", 20, "--batch-size", 4)
    small += ("--set", "training.learning_rate=0.01")
    assert call("train", "--task", "enas3", "--data", scored, "--run", run, *small).exit_code == 0
    words = ("nas", "search", run, supernet, "--out", out, "--known", scored, "--budget", 6, "--batch", 3)
    for strategy in ("random", "evolution", "trust-region"):
        answer = json.loads(call(*words, "--strategy", strategy, "--json").stdout)
        assert 1 <= answer["evaluations"] <= 6
        found = load_jsonl(out)
        assert found[0].score == answer["best"]
        assert {item.dag for item in found}.isdisjoint(item.dag for item in load_jsonl(scored))
        assert all(len(item.dag) == 5 for item in found)
    write_jsonl(tmp_path / "unscored.jsonl", EnasTask(3).sample(2, seed=0))
    assert "no scored architecture" in call(*words, "--known", tmp_path / "unscored.jsonl").stderr
    other = tmp_path / "other"
    assert call("nas", "train-supernet", other, "--space", "enas2", *SMALL).exit_code == 0
    result = call("nas", "search", run, other, "--out", out, "--budget", 6)
    assert result.exit_code == 2
    assert "the model is of enas3, the shared weights are of enas2" in result.stderr


def test_ctrl_c_says_how_to_go_on(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("nas", "train-supernet", tmp_path / "net", "--space", "enas2", *SMALL)
    with monkeypatch.context() as patch:
        ctrl_c_at(3, patch)
        result = call(*words)
    assert result.exit_code == 130
    assert f"Continue with:  dvae nas train-supernet {tmp_path / 'net'} --resume" in result.stderr
    assert call(*words[:3], "--resume", "--json").exit_code == 0


def test_architectures_are_trained_and_not_twice(call: Call, architectures: Path, tmp_path: Path) -> None:
    words = (
        "nas", "train", architectures, "--recipe", "digits", "--data", "digits", "--epochs", 1, "--top", 2,
        "--set", "network.width=4", "--out", tmp_path / "trained", "--json",
    )  # fmt: skip
    first = json.loads(call(*words).stdout)["trained"]
    assert [row["images"] for row in first] == ["test", "test"]
    assert all(row["parameters"] > 0 for row in first)
    again = json.loads(call(*words).stdout)["trained"]
    assert [row["accuracy"] for row in again] == [row["accuracy"] for row in first]
    results = json.loads((tmp_path / "trained" / "results.json").read_text())
    assert results["record"]["config"]["epochs"] == 1
    assert "test accuracy" in call(*words[:-1]).stdout


def test_the_best_is_trained_longer(call: Call, architectures: Path, tmp_path: Path) -> None:
    words = (
        "nas", "train", architectures, "--recipe", "digits", "--data", "digits", "--epochs", 1, "--top", 2,
        "--longer", 2, "--set", "network.width=4", "--out", tmp_path / "trained", "--json",
    )  # fmt: skip
    *first, last = json.loads(call(*words).stdout)["trained"]
    assert [row["epochs"] for row in (*first, last)] == [1, 1, 2]
    best = max(first, key=lambda row: float(row["accuracy"]))
    assert (last["types"], last["edges"]) == (best["types"], best["edges"])
    assert len(list((tmp_path / "trained").glob("*_2/result.json"))) == 1
    assert json.loads(call(*words).stdout)["trained"][2]["accuracy"] == last["accuracy"]
    assert [row["longer"] for row in (*first, last)] == [False, False, True]


def test_what_is_finished_is_told_however_little_time_there_is(call: Call, architectures: Path, tmp_path: Path) -> None:
    words = (
        "nas", "train", architectures, "--recipe", "digits", "--data", "digits", "--epochs", 1,
        "--set", "network.width=4", "--out", tmp_path / "trained", "--json",
    )  # fmt: skip
    whole = json.loads(call(*words, "--top", 4, "--longer", 2).stdout)["trained"]
    again = call(*words, "--top", 4, "--longer", 2, "--minutes", 0.01)
    assert [row["accuracy"] for row in json.loads(again.stdout)["trained"]] == [row["accuracy"] for row in whole]
    endless = call(*words, "--top", 5, "--longer", 10_000_000, "--minutes", 1)  # there is time for the fifth
    assert [row["longer"] for row in json.loads(endless.stdout)["trained"]] == [False] * 5
    assert "no time to train the best" in endless.stderr


def test_results_need_a_folder(refused: Refused, architectures: Path) -> None:
    words = ("--recipe", "digits", "--data", "digits", "--out", architectures)
    assert "is a file" in refused("nas", "train", architectures, *words)
    assert "is a file" in refused("nas", "demo", "--run", architectures)


def test_longer_is_longer(refused: Refused, architectures: Path, tmp_path: Path) -> None:
    for longer in (1, 15):
        words = ("nas", "train", architectures, "--recipe", "digits", "--data", "digits", "--longer", longer)
        assert "more than the 15 epochs" in refused(*words, "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_parameters_are_counted(call: Call, architectures: Path) -> None:
    sizes = json.loads(call("nas", "count", architectures, "--json").stdout)
    assert len(sizes) == 6
    narrow = json.loads(call("nas", "count", architectures, "--recipe", "supernet", "--width", 4, "--json").stdout)
    assert all(one["parameters"] > other["parameters"] for one, other in zip(sizes, narrow, strict=True))
    assert "parameters" in call("nas", "count", architectures).stdout


def test_bad_input_is_one_sentence(refused: Refused, supernet: Path, architectures: Path, tmp_path: Path) -> None:
    assert "no trained supernet" in refused("nas", "score", tmp_path / "none", architectures)
    write_jsonl(tmp_path / "deep.jsonl", [*EnasTask(3).sample(1, seed=0), *EnasTask(4).sample(1, seed=0)])
    assert "deep.jsonl:2: the architecture has 4 layers" in refused("nas", "score", supernet, tmp_path / "deep.jsonl")
    write_jsonl(tmp_path / "odd.jsonl", [Dag(("input", "conv9", "output"), ((0, 1), (1, 2)))])
    assert "odd.jsonl:1: layer 0 is 'conv9'" in refused("nas", "count", tmp_path / "odd.jsonl")
    assert "no recipe 'slow'" in refused("nas", "train", architectures, "--recipe", "slow", "--out", tmp_path / "x")
    assert "no images 'mnist'" in refused("nas", "train-supernet", tmp_path / "y", "--data", "mnist")
    assert "no space of networks" in refused("nas", "train-supernet", tmp_path / "y", "--space", "asia")
    assert ".jsonl" in refused("nas", "score", supernet, architectures, "--out", tmp_path / "x.csv")


def test_fetching_says_what_there_is(refused: Refused) -> None:
    assert "there is cifar10" in refused("data", "fetch", "mnist")
    assert "a word too many" in refused("data", "asia", "cifar10")


def test_a_benchmark_scores_dags(call: Call, refused: Refused, tmp_path: Path) -> None:
    pytest.importorskip("nas_bench_graph")
    call("data", "nasbench-graph:proteins", "--sample", 3, "--out", tmp_path / "some.jsonl")
    lines = call("score", "--task", "nasbench-graph:proteins", tmp_path / "some.jsonl", "--json").stdout.splitlines()
    assert [0.5 < json.loads(line)["score"] < 1 for line in lines] == [True] * 3
    assert "DAG" in call("score", "--task", "nasbench-graph:proteins", tmp_path / "some.jsonl").stdout
    write_jsonl(tmp_path / "other.jsonl", EnasTask(3).sample(1, seed=0))
    assert "other.jsonl:1" in refused("score", "--task", "nasbench-graph:proteins", tmp_path / "other.jsonl")


@pytest.mark.slow
def test_the_demo_ends_in_a_table_and_a_picture(call: Call, tmp_path: Path) -> None:
    result = call("nas", "demo", "--run", tmp_path / "demo", "--minutes", 0.3)
    assert result.exit_code == 0, result.stderr
    assert "test accuracy" in result.stdout
    assert (tmp_path / "demo" / "architectures.png").stat().st_size > 10_000
    again = json.loads(call("nas", "demo", "--run", tmp_path / "demo", "--minutes", 0.3, "--json").stdout)
    assert len(again["trained"]) == 4
