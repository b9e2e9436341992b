"""Rules of a user's own DAGs on the command line: shown, given, kept to, and named when they are broken."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import TINY, Call, Refused
from dvae.dag import load_jsonl
from dvae.tasks import GenericTask


@pytest.fixture(scope="module")
def circuits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sink in each, of a type that other nodes have, too."""
    path = tmp_path_factory.mktemp("ruled") / "circuits.jsonl"
    chance = random.Random(0)
    lines = []
    for _ in range(40):
        count = chance.randint(3, 6)
        edges = {(u, v) for v in range(count) for u in range(v) if chance.random() < 0.3}
        edges |= {(u, count - 1) for u in range(count - 1) if not any((u, v) in edges for v in range(count))}
        types = [*(chance.choice(["add", "mul", "out"]) for _ in range(count - 1)), "out"]
        lines.append(json.dumps({"types": types, "edges": sorted(edges)}))
    path.write_text("\n".join(lines) + "\n")
    return path


def facts_of(call: Call, *words: object) -> dict[str, Any]:
    result = call(*words, "--json")
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_data_shows_the_rules_that_it_inferred(call: Call, circuits: Path) -> None:
    inferred = {"single_sink": True, "sink_types": ["out"], "connected": True}
    assert facts_of(call, "data", circuits)["rules"] == inferred
    assert "sink_types: out" in call("data", circuits).stdout
    assert facts_of(call, "data", circuits, "--rules", "strict")["rules"]["nodes"] == [3, 6]
    assert facts_of(call, "data", circuits, "--rules", "none")["rules"] == {}
    assert facts_of(call, "data", f"file:{circuits}?rules=none")["rules"] == {}
    assert facts_of(call, "data", "asia", "--size", 20)["rules"] is None


def test_rules_come_from_a_file(call: Call, circuits: Path, tmp_path: Path, refused: Refused) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text("nodes = [2, 7]\nsingle_sink = true\n")
    assert facts_of(call, "data", circuits, "--rules", rules)["rules"] == {"nodes": [2, 7], "single_sink": True}
    rules.write_text("nodes = [6, 7]\n")
    assert "circuits.jsonl:" in refused("data", circuits, "--rules", rules)
    assert "inferred, strict, none" in refused("data", circuits, "--rules", "strickt")
    assert "has its own" in refused("data", "asia", "--rules", "strict")
    assert "--data" in refused("train", "--rules", "strict", "--run", tmp_path / "run")


def test_a_run_keeps_its_rules_and_says_which_are_broken(
    call: Call, circuits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: Refused
) -> None:
    from dvae.runs import Run

    monkeypatch.chdir(circuits.parent)
    (tmp_path / "own.toml").write_text('nodes = [3, 6]\nsingle_sink = true\nsink_types = ["out"]\n')
    run = tmp_path / "run"
    first = call("train", "--data", circuits.name, "--rules", tmp_path / "own.toml", "--run", run, "--epochs", 1, *TINY)
    assert first.exit_code == 0, first.stderr
    (tmp_path / "own.toml").unlink()
    task = Run.open(run).task
    assert isinstance(task, GenericTask)
    assert task.name == f"file:{circuits}"
    assert task.graph_rules.nodes == (3, 6)
    assert call("train", "--run", run, "--resume", "--epochs", 2).exit_code == 0
    assert "keeps the rules" in refused("train", "--run", run, "--resume", "--rules", "none")
    assert facts_of(call, "sample", run, "--count", 60, "--seed", 1, "--valid")["valid"] == 60
    free = facts_of(call, "sample", run, "--count", 60, "--seed", 1)
    assert sum(free["broken_rules"].values()) == 60 - free["valid"] > 0
    told = call("sample", run, "--count", 60, "--seed", 1).stderr.splitlines()
    rule, count = next(iter(free["broken_rules"].items()))
    assert f"not valid: {count} DAG" in told[1]
    assert f", {rule}" in told[1]
    assert len(told) == 1 + min(3, len(free["broken_rules"]))
    assert call("evaluate", run, "--test-limit", 4).exit_code == 0


def test_strict_rules_hold_for_valid_samples(call: Call, circuits: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    name = f"file:{circuits}"
    assert call("train", "--task", name, "--rules", "strict", "--run", run, "--epochs", 1, *TINY).exit_code == 0
    out = tmp_path / "new.jsonl"
    assert call("sample", run, "--count", 100, "--seed", 2, "--valid", "--out", out).exit_code == 0
    strict = GenericTask.from_name(f"{name}?rules=strict")
    assert strict is not None
    assert [strict.why_invalid(item.dag) for item in load_jsonl(out)] == [None] * 100
