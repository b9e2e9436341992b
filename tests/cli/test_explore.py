"""`dvae explore`: it serves a page until it is told to stop, and says in one sentence why it cannot."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from dvae import explorer
from dvae.cli import explore
from dvae.dag import load_jsonl
from dvae.explorer import PageModel
from dvae.models import load
from dvae.runs import Run

from .conftest import Call, Refused, hear_ctrl_c

PROGRAM = [sys.executable, "-c", "from dvae.cli.main import main; main()"]


def test_a_page_is_served_until_ctrl_c_and_nothing_is_written(run: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    words = [*PROGRAM, "explore", str(run), "--no-browser", "--port", "0", "--points", "20"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=hear_ctrl_c
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address is not None, line
        assert line.startswith("20 DAGs (the run's data, the first 20 of 40).")
        with urllib.request.urlopen(address[0], timeout=30) as answer:
            assert answer.status == 200
            assert b"pipelines" in answer.read()
        process.send_signal(signal.SIGINT)
        try:
            rest, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    assert rest == "The page is closed.\n"
    assert errors == ""
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before


def test_what_cannot_be_explored_is_said(refused: Refused, run: Path, tmp_path: Path) -> None:
    assert "empty" in refused("explore", tmp_path / "empty", "--no-browser")
    assert "dvae search" in refused("explore", run, "--no-browser", "--study", f"sqlite:///{tmp_path}/absent.db")
    assert "cannot be served" in refused("explore", run, "--no-browser", "--host", "203.0.113.7", "--port", 1)


def test_the_map_shows_the_runs_data_or_what_can_be_had(run: Path, pipelines: Path, tmp_path: Path) -> None:
    vae = load(run)
    known, source = explore.known_dags(Run.open(run), vae, 1000)
    assert source == "the run's data"
    assert sorted(map(str, known.dags)) == sorted(str(item.dag) for item in load_jsonl(pipelines))

    bare = tmp_path / "bare"  # a model without its run
    vae.save(bare)
    assert explore.known_dags(Run.open(bare), load(bare), 7)[1].startswith("the run's data")

    moved = tmp_path / "moved"  # a run whose file is gone
    shutil.copytree(run, moved)
    settings = (moved / "run.toml").read_text().replace(str(pipelines), str(tmp_path / "gone.jsonl"))
    (moved / "run.toml").write_text(settings)
    (moved / "task.json").write_text((moved / "task.json").read_text().replace(str(pipelines), str(tmp_path / "gone")))
    known, source = explore.known_dags(Run.open(moved), load(moved), 15)
    assert source.startswith("sampled from the model, since its data are not there")
    assert len(known) == 15
    assert not known.scored


def test_several_runs_make_one_page_and_bookmarks_lie_in_the_first(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, refused: Refused
) -> None:
    second = tmp_path / "second"
    shutil.copytree(run, second)
    served: list[str] = []
    models: list[PageModel] = []
    monkeypatch.setattr(explore.serving, "serve", lambda app, host, port, browser, what, json: served.append(what))
    monkeypatch.setattr(explorer, "make_app", lambda model, host: models.append(model))
    assert call("explore", run, second, "--no-browser", "--points", 20).exit_code == 0
    (model,) = models
    assert served == ["20 DAGs (the run's data, the first 20 of 40)"]
    assert [other.space.title for other in model.others] == ["second"]
    assert model.bookmarks.file == run / "bookmarks.json"
    assert model.comparison is not None
    assert [Path(name).name for name in model.comparison.names] == [run.name, "second"]
    assert set(model.space.splits) <= {"train", "valid", "test"}
    assert len(model.space.splits) == 20
    assert "explore one" in refused("explore", run, second, "--data", tmp_path / "x.jsonl")


def test_help_tells_what_it_does(call: Call) -> None:
    result = call("explore", "--help")
    assert result.exit_code == 0
    for word in ("--study", "--port", "--host", "--no-browser", "--points"):
        assert word in result.stdout
