"""`dvae reproduce` and `dvae report`: stages made, found again, limited, listed; pages written."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dvae.dag import ScoredDag
from dvae.dag.original import write_enas
from dvae.tasks import EnasTask
from dvae.tasks.enas import BURN_IN as ENAS_BURN_IN

from .conftest import Call, Refused

SMALL = ("--preset", "tiny", "--device", "cpu")


@pytest.fixture(autouse=True)
def architectures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file where the paper's is looked for, so that nothing is fetched."""
    monkeypatch.setenv("DVAE_DATA", str(tmp_path / "data"))
    dags = EnasTask(6).sample(100, seed=0)
    path = tmp_path / "data" / "enas" / "final_structures6.txt"
    path.parent.mkdir(parents=True)
    write_enas(path, [ScoredDag(dags[0], 0.5)] * ENAS_BURN_IN + [ScoredDag(dag, len(dag.edges) / 30) for dag in dags])


def test_a_table_is_made_once_and_its_page_says_what_it_is(call: Call, tmp_path: Path) -> None:
    words = ("reproduce", "table1", *SMALL, "--run", tmp_path / "run", "--only", "svae")
    first = call(*words, "--json")
    assert first.exit_code == 0, first.stderr
    answer = json.loads(first.stdout)
    assert (answer["made"], answer["found"], answer["ended"]) == (4, 0, "done")
    assert "S-VAE on Asia, seed 0: reconstruction and prior" in answer["results"]["stages"]
    assert "its numbers mean nothing" in first.stderr
    page = Path(answer["page"]).read_text()
    assert "NOT the paper" in page
    assert "not run yet" in page
    again = json.loads(call(*words, "--json").stdout)
    assert (again["made"], again["found"]) == (0, 4)
    assert again["results"] == answer["results"]
    assert "4 found" in call(*words).stdout


def test_stages_are_listed_before_and_after(call: Call, tmp_path: Path) -> None:
    run = tmp_path / "run"
    listed = json.loads(call("reproduce", "table1", *SMALL, "--run", run, "--list", "--json").stdout)
    assert len(listed) == 8
    assert not any(row["done"] for row in listed)
    assert not run.exists()
    assert "0 of 8 stages are done" in call("reproduce", "table1", *SMALL, "--run", run, "--list").stdout


def test_without_time_nothing_is_begun_and_the_report_says_so(call: Call, tmp_path: Path) -> None:
    result = call("reproduce", "all", *SMALL, "--run", tmp_path / "run", "--minutes", 0)
    assert result.exit_code == 0
    assert "The time is up" in result.stdout
    assert "Not run yet" in (tmp_path / "run" / "index.html").read_text()


def test_a_trained_run_becomes_a_page(call: Call, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    result = call("report", folder, "--out", tmp_path / "page.html", "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["page"] == str(tmp_path / "page.html")
    assert "model.hidden" in (tmp_path / "page.html").read_text()
    assert (folder / "report.html").is_file()


def test_what_cannot_be_done_is_refused_in_a_sentence(refused: Refused, tmp_path: Path) -> None:
    assert "choose among dvae, svae" in refused("reproduce", "table1", *SMALL, "--run", tmp_path / "r", "--only", "gpt")
    assert "K/N" in refused("reproduce", "table1", *SMALL, "--run", tmp_path / "r", "--part", "2 of 3")
    assert "no part 0 of 3" in refused("reproduce", "table1", *SMALL, "--run", tmp_path / "r", "--part", "0/3")
    assert "no such folder" in refused("report", tmp_path / "none")
    assert "ends in .html" in refused("report", tmp_path, "--out", tmp_path / "page.txt")
    assert "holds no run" in refused("report", tmp_path)


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = [sys.executable, "-m", "dvae", "reproduce", "table3", *SMALL, "--run", str(run)]
    for seconds in (6.0, 8.0, 10.0):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = subprocess.run([*words, "--json"], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["made"] + answer["found"] == answer["stages"]
    assert list((run / "stages").rglob(".tmp-*")) == []
    assert not any((run / "work").iterdir())
