"""`dvae runs` and `dvae compare`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from .conftest import Call, Refused


def test_runs_are_listed(call: Call, run: Path) -> None:
    result = call("runs", run.parent)
    assert str(run) in result.stdout
    assert "pace" in result.stdout
    (found,) = json.loads(call("runs", run.parent, "--json").stdout)["runs"][:1]
    assert found["training"]["epochs"] == 2
    assert found["name"] == str(run)


def test_a_folder_without_runs_says_how_to_start_one(call: Call, tmp_path: Path) -> None:
    result = call("runs", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "dvae train" in result.stderr
    assert json.loads(call("runs", tmp_path, "--json").stdout) == {"folder": str(tmp_path), "runs": [], "damaged": []}


def test_two_runs_stand_side_by_side(call: Call, run: Path, tmp_path: Path) -> None:
    shutil.copytree(run, tmp_path / "other")
    settings = (tmp_path / "other" / "run.toml").read_text()
    (tmp_path / "other" / "run.toml").write_text(settings.replace("seed = 0\n", "seed = 7\n"))
    result = call("compare", run, tmp_path / "other")
    assert result.exit_code == 0, result.stderr
    assert "training.seed" in result.stdout
    rows = json.loads(call("compare", run, tmp_path / "other", "--json").stdout)["settings"]
    assert {"name": "training.seed", "values": [0, 7]} in rows


def test_what_is_no_run_is_refused(refused: Refused, run: Path, tmp_path: Path) -> None:
    assert "holds no run" in refused("compare", run, tmp_path)
    assert "at least two" in refused("compare", run)
    assert "no such folder" in refused("runs", tmp_path / "nowhere")
