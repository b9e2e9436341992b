"""Benchmarks of searches: they compare several models, and go on from the rows that are there."""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import dvae

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def run_script(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run(name: str, *arguments: object) -> Any:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        monkeypatch.setattr(sys, "path", list(sys.path))
        runpy.run_path(str(FOLDER / name), run_name="__main__")
        text = capsys.readouterr().out
        return json.loads(text) if text.strip() else None

    return run


def models(task: str, folder: Path) -> list[Path]:
    made = []
    for seed in range(2):
        vae = dvae.models.build("dvae", dvae.tasks.get(task), hidden=8, latent=3, seed=seed)
        vae.save(folder / f"model{seed}")
        made.append(folder / f"model{seed}")
    return made


def test_searches_of_two_models_side_by_side(run_script: Any, tmp_path: Path) -> None:
    lines, options = tmp_path / "rows.jsonl", ("--task", "asia", "--seeds", 2, "--budget", 4, "--each", 2, "--warm", 9)
    found = run_script(
        "search.py", *models("asia", tmp_path), *options, "--strategies", "random,evolution", "--lines", lines, "--json"
    )
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(rows) == len(found["rows"]) == 8
    assert {row["run"] for row in rows} == set(found["summary"]) == set(found["run"])
    assert all(set(each) == {"random", "evolution"} for each in found["summary"].values())
    starts = {(row["seed"], row["warm_best"]) for row in rows}
    assert len(starts) == 2  # the same for both models and strategies
    lines.write_text("\n".join(json.dumps(row) for row in rows[:-1]) + "\n")
    again = run_script(
        "search.py", *models("asia", tmp_path), *options, "--strategies", "random,evolution", "--lines", lines, "--json"
    )
    assert again["rows"][:7] == rows[:7]
    assert again["rows"][7]["best"] == rows[7]["best"]


def test_solvers_side_by_side_go_on_from_their_lines(run_script: Any, tmp_path: Path, shared_data: Path) -> None:
    (model, _), lines = models("nasbench201", tmp_path), tmp_path / "rows.jsonl"
    small = ("--lines", lines, "--seeds", 1, "--start", 4, "--each", 2, "--budget", 8)
    names = "dvae evolution,random-mutation,tpe"
    found = run_script("solvers.py", model, *small, "--solvers", names)
    assert set(found["summary"]) == set(names.split(","))
    rows = lines.read_text()
    assert all(json.loads(line)["spent"] <= 8 for line in rows.splitlines())
    run_script("solvers.py", model, *small, "--solvers", names)
    assert lines.read_text() == rows


def test_expressions_by_the_published_protocol(
    run_script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a small table in place of the published one."""
    task = dvae.tasks.ExpressionsTask()
    dags = task.sample(1_500, seed=0)
    table = tmp_path / "expressions" / "expressions.csv.gz"
    table.parent.mkdir()
    rows = (f"{task.format(dag)},{error}" for dag, error in zip(dags, task.log_errors(dags), strict=True))
    dvae.dag.lines.write_lines(table, ["expression,log1p_mse", *rows])
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    small = "--known", 200
    (model, _), lines = models("expressions", tmp_path), tmp_path / "rows.jsonl"
    options = ("search", "--run", model, "--seeds", "3", "--budget", 6, "--batch", 3, "--lines", lines, *small)
    run_script("expressions.py", *options, "--strategy", "latent-evolution,edits")
    run_script("expressions.py", *options, "--strategy", "edits")  # is there already
    assert len(lines.read_text().splitlines()) == 2
    found = run_script("expressions.py", "table", "--lines", lines, "--json")
    assert set(found["ours"]) == {"latent-evolution", "edits"}
    assert found["ours"]["edits"]["seeds"] == 1
    for row in found["rows"]:
        assert row["best"]["6"] == pytest.approx(task.log_errors([task.parse(row["expression"])])[0])


@pytest.mark.parametrize("sets", ["tpu", pytest.param("hls,na_edge,tpu", marks=pytest.mark.slow)])
def test_large_dags_by_one_command(sets: str, run_script: Any, tmp_path: Path) -> None:
    folder = Path(os.environ.get("DVAE_DATA", FOLDER.parents[1] / "shared" / "data")) / "dags"
    if not (folder / "tpu_tile_val_test.npz").is_file():
        pytest.skip(f"{folder} has no data sets of large DAGs")
    options = (
        *("--sets", sets, "--models", "layerwise", "--preset", "tiny", "--seconds", 30, "--epochs", 1),
        *("--test-limit", 8, "--device", "cpu", "--work", tmp_path / "work", "--out", tmp_path / "out"),
        *("--places", 2, "--change", 0.5),
    )
    found = run_script("large.py", *options)
    assert set(found) == {f"{name}-layerwise" for name in sets.split(",")}
    kept = json.loads((tmp_path / "out" / "tpu-layerwise.json").read_text())
    assert kept["generation"]["property"] == "runtime"
    assert kept["training"]["epochs"] == 1
    assert kept["generation"]["change"] == 0.5
    assert run_script("large.py", *options) == found


def test_the_exponent_of_a_cost_is_its_slope_from_64_nodes_on() -> None:
    script = runpy.run_path(str(FOLDER / "scaling.py"))
    rows = [
        {"version": "now", "nodes": nodes, "train_ms": 3.0 * nodes**2 if nodes >= 64 else 1.0, "decode_ms": None}
        for nodes in (8, 64, 128, 512)
    ]
    assert script["exponent"](rows, "now", "train_ms") == pytest.approx(2)
    assert script["exponent"](rows, "now", "decode_ms") is None
    assert script["exponent"](rows, "before", "train_ms") is None
    seconds = script["guesses"](rows, "now", 1024)
    assert seconds["train"] == pytest.approx(3e-3 * 1024**2)
    assert script["least"](lambda: 1 / 0, False, 1.0, 10.0, 11.0) is None  # would take too long


@pytest.mark.slow
def test_time_and_memory_against_nodes(run_script: Any, tmp_path: Path) -> None:
    options = ("--nodes", "8,20", "--batch", 2, "--hidden", 8, "--seconds", 0, "--out", tmp_path, "--json")
    found = run_script("scaling.py", *options)
    assert [(row["version"], row["nodes"]) for row in found["rows"]] == [("now", 8), ("now", 20)]
    assert all(row["train_ms"] > 0 and row["decode_ms"] > 0 and row["encode_ms"] > 0 for row in found["rows"])
    assert (tmp_path / "scaling_cpu.svg").is_file()
    assert run_script("scaling.py", *options)["rows"] == found["rows"]  # kept, not measured again


def test_the_tables_of_the_report_are_those_of_the_results_that_are_kept(run_script: Any) -> None:
    with pytest.raises(SystemExit) as ended:
        run_script("paper_tables.py", "--check")
    assert ended.value.code == 0
