"""`dvae search` and `dvae worker` as a user meets them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from dvae.cli import output
from dvae.dag import Dag, load_jsonl, write_jsonl
from dvae.studies import Study, storage_of, study_names
from dvae.tasks import GenericTask

from .conftest import TINY, Call, Refused, hear_ctrl_c

SCORE = """
import time
def few_edges(dag):
    return -len(dag.edges)

def many_edges(dag):
    return len(dag.edges)

def broken(dag):
    raise ValueError('broken')

def moody(dag):
    return (1, 2) if len(dag.edges) % 2 else {"a": 1}

def huge(dag):
    return 1e308

def slow(dag):
    time.sleep(0.2)
    return len(dag.edges)

class Scaled:
    def __init__(self, scale=1.0):
        self.scale = scale
    def __call__(self, dag):
        return self.scale * len(dag.edges)

class Nearest:
    needs_start = False
    def __init__(self, vae, archive, *, seed):
        from dvae.strategies import RandomSearch
        self.inner = RandomSearch(vae, archive, seed=seed)
        self.ask, self.tell, self.state, self.restore = (
            self.inner.ask, self.inner.tell, self.inner.state, self.inner.restore
        )
"""
MINE = "my_scores_of_cli_tests"
QUICK = ("--strategy", "random", "--budget", 6, "--batch", 3)


@pytest.fixture
def score_file(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("mine")
    (folder / f"{MINE}.py").write_text(SCORE)
    (folder / "my_mistake_of_cli_tests.py").write_text("def score(dag:\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def storage(tmp_path: Path) -> str:
    return f"dvae:///{tmp_path / 'my.db'}"


def answer_of(done: Result) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.usefixtures("score_file")
@pytest.mark.parametrize("scheme", ["dvae", "sqlite"])
def test_a_search_with_a_score_of_the_users(scheme: str, call: Call, run: Path, tmp_path: Path) -> None:
    if scheme == "sqlite":
        pytest.importorskip("optuna")
    storage, out, picture = f"{scheme}:///{tmp_path / 'my.db'}", tmp_path / "found.jsonl", tmp_path / "found.svg"
    words = ["search", run, "--budget", 12, "--strategy", "random", "--score", f"{MINE}:few_edges"]
    words += ["--storage", storage, "--study", "mine"]
    done = call(*words, "--out", out, "--draw", picture, "--json")
    assert done.exit_code == 0, done.stderr
    answer = answer_of(done)
    assert (answer["evaluations"], answer["complete"]) == (12, 12)
    found = load_jsonl(out)
    assert len(found) == 12
    assert found[0].score == answer["best"]["score"] == -len(found[0].dag.edges)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    assert picture.read_text().startswith("<svg")
    again = call(*words)  # it is over, and says what it found
    assert again.exit_code == 0
    assert "the best of 12 candidates" in again.stdout
    done = call("worker", "--storage", storage, "--score", f"{MINE}:few_edges", "--json")
    assert answer_of(done)["scored"] == 0


@pytest.mark.usefixtures("score_file")
def test_a_search_whose_score_always_fails_ends_and_says_why(call: Call, run: Path, storage: str) -> None:
    words = ["search", run, "--storage", storage, *QUICK, "--score", f"{MINE}:broken"]
    done = call(*words, "--json")
    assert done.exit_code == 1
    answer = answer_of(done)
    assert (answer["failed"], answer["best"]) == (6, None)
    assert answer["failures"] == [{"reason": "ValueError: broken", "count": 6}]
    again = call(*words)
    assert again.exit_code == 1
    assert "Failed 6 times: ValueError: broken" in again.stderr


@pytest.mark.usefixtures("score_file")
def test_what_is_no_number_is_said(call: Call, run: Path, storage: str) -> None:
    done = call("search", run, "--storage", storage, *QUICK, "--score", f"{MINE}:moody")
    assert done.exit_code == 1
    assert "the score is (1, 2), a tuple; it must be a number" in done.stderr
    done = call("search", run, "--storage", storage, *QUICK, "--score", f"{MINE}:huge", "--strategy", "evolution")
    assert done.exit_code == 1
    assert "the score is 1e+308" in done.stderr


@pytest.mark.usefixtures("score_file")
def test_a_failing_score_on_unscored_data_is_no_traceback(call: Call, pipelines: Path, tmp_path: Path) -> None:
    data = tmp_path / "unscored.jsonl"
    write_jsonl(data, [item.dag for item in load_jsonl(pipelines)])
    folder = tmp_path / "run"
    assert call("train", "--task", f"file:{data}", "--run", folder, "--epochs", 1, *TINY).exit_code == 0
    words = ["search", folder, "--warm", 4, "--budget", 6, "--strategy", "evolution", "--score"]
    done = call(*words, f"{MINE}:broken", "--json")
    assert done.exit_code == 1
    assert answer_of(done)["failed"] == 6
    done = call(*words, f"{MINE}:few_edges", "--json")
    assert done.exit_code == 0
    assert "the first candidates are 4 training DAGs" in done.stderr
    study = Study.open(storage_of(folder), answer_of(done)["study"])
    own = {item.dag for item in load_jsonl(data)}
    assert {trial.dag for trial in study.trials if trial.round == 0} <= own
    assert len([trial for trial in study.trials if trial.round == 0]) == 4


def test_what_cannot_be_searched_is_refused(refused: Refused, run: Path, score_file: Path, tmp_path: Path) -> None:
    for scheme in ("dvae", "sqlite"):
        storage = f"{scheme}:///{tmp_path / 'none.db'}"
        assert "no score of its own" in refused("search", run, "--storage", storage)
        assert "--score mine:score" in refused("search", run, "--storage", storage)
        assert "not those of asia" in refused("search", run, "--task", "asia", "--storage", storage)
        assert "cannot be imported" in refused("search", run, "--score", "nowhere:f", "--storage", storage)
        mistake = "my_mistake_of_cli_tests:score"
        assert "SyntaxError" in refused("search", run, "--score", mistake, "--storage", storage)
        words = ("search", run, "--score", f"{MINE}:few_edges", "--storage", storage)
        assert "did you mean 'random'" in refused(*words, "--strategy", "randon")
        assert "holds no run" in refused("search", tmp_path, "--storage", storage)
    assert "is not there" in refused("worker", "--storage", f"dvae:///{tmp_path / 'none.db'}")
    assert "is no storage" in refused("worker", "--storage", "studies.db")
    assert not (run / "studies.db").exists()


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    """A copy of the run, to keep studies of its own."""
    return Path(shutil.copytree(run, tmp_path / "own"))


@pytest.mark.usefixtures("score_file")
def test_each_score_has_a_study_of_its_own(call: Call, refused: Refused, own: Path) -> None:
    for name in ("few_edges", "many_edges", "few_edges"):
        done = call("search", own, *QUICK, "--score", f"{MINE}:{name}", "--json")
        assert done.exit_code == 0
        answer = answer_of(done)
        assert f"{MINE}:{name}" in answer["study"]
        assert answer["evaluations"] == 6
        assert answer["description"]["score"] == f"{MINE}:{name}"
    assert len(study_names(storage_of(own))) == 2
    assert (own / "studies.db").is_file()
    name = answer["study"]
    done = call("search", own, *QUICK, "--score", f"{MINE}:many_edges", "--study", name)
    assert done.exit_code == 2
    assert f"was begun with score = '{MINE}:few_edges', not '{MINE}:many_edges'" in done.stderr
    done = call("search", own, *QUICK, "--score", f"{MINE}:few_edges", "--minimize")
    assert "was begun with direction = 'maximize', not 'minimize'" in done.stderr


@pytest.mark.usefixtures("score_file")
def test_the_datas_scores_are_known_where_they_are_said_to_be_the_same(
    call: Call, own: Path, pipelines: Path, tmp_path: Path
) -> None:
    words = ["search", own, "--budget", 6, "--strategy", "evolution", "--score", f"{MINE}:few_edges"]
    unknown = call(*words, "--json")
    assert answer_of(unknown)["known_before"] is None
    assert "If the 40 scores in the run's data are what" in unknown.stderr
    assert "add: --known data" in unknown.stderr
    done = call(*words, "--study", "known", "--known", "data", "--json")
    answer, best = answer_of(done), max(item.score or 0.0 for item in load_jsonl(pipelines))
    assert answer["description"]["warm"] == 40
    assert answer["known_before"]["score"] == best
    assert answer["improved"] is False  # scores of the data are above 0, numbers of edges below
    text = call(*words, "--study", "known", "--known", "data")
    assert "known before" in text.stdout
    assert f"Nothing better was found than was known before: {best:.6f}" in text.stderr
    some = call(*words, "--study", "some", "--known", str(pipelines), "--warm", 10, "--json")
    assert "The search starts from 10 of 40 known scores" in some.stderr
    assert answer_of(some)["description"]["warm"] == 10
    assert answer_of(some)["known_before"]["score"] == best
    nothing = call(*words, "--study", "nothing", "--known", "none", "--json")
    assert answer_of(nothing)["description"]["warm"] == 0


def test_a_task_that_scores_is_searched_from_what_its_data_know(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "asia"
    call("train", "--task", "asia", "--size", 60, "--run", folder, "--epochs", 1, *TINY)
    words = ["search", folder, "--budget", 6, "--strategy", "evolution", "--json"]
    done = call(*words)
    answer = answer_of(done)
    assert answer["description"]["warm"] == 60
    assert answer["improved"] == (answer["best"]["score"] > answer["known_before"]["score"])
    cold = answer_of(call(*words, "--warm", 0, "--study", "cold"))
    assert (cold["description"]["warm"], cold["known_before"]) == (0, None)
    again = answer_of(call(*words, "--study", "cold", "--budget", 8))  # goes on as it was begun
    assert (again["evaluations"], again["description"]["warm"]) == (8, 0)


@pytest.mark.usefixtures("score_file")
def test_scores_take_arguments_and_strategies_come_from_anywhere(call: Call, run: Path, storage: str) -> None:
    words = ["search", run, "--budget", 6, "--batch", 3, "--score", f"{MINE}:Scaled?scale=2", "--storage", storage]
    done = call(*words, "--strategy", f"{MINE}:Nearest", "--json")
    assert done.exit_code == 0, done.stderr
    answer = answer_of(done)
    assert answer["best"]["score"] == 2 * len(answer["best"]["edges"])
    assert answer["description"]["strategy"] == f"{MINE}:Nearest"
    again = call(*words, "--strategy", f"{MINE}:Nearest", "--budget", 9, "--json")
    assert answer_of(again)["evaluations"] == 9


@pytest.mark.usefixtures("score_file")
def test_the_commands_printed_can_be_typed(call: Call, own: Path) -> None:
    done = call("search", own, *QUICK, "--score", f"{MINE}:few_edges")
    hint = next(line for line in done.stderr.splitlines() if "look at it with: " in line).partition("with: ")[2]
    program, command, folder, option, address = shlex.split(hint)
    assert (program, command, folder, option) == ("dvae", "explore", str(own), "--study")
    from dvae.explorer import open_studies

    (study,) = open_studies(address)
    assert len(study.trials) == 6


def test_a_dag_that_would_fill_the_screen_is_its_size_in_a_table() -> None:
    task = GenericTask("some", ("<start>", "<end>", "a", "b"), 80, virtual_start=True, virtual_end=True)
    small = Dag(("a", "b"), ((0, 1),))
    assert output.dag_cell(small, task) == task.format(small)
    large = Dag(("a",) * 70, tuple((node, node + 1) for node in range(69)))
    assert output.dag_cell(large, task) == "70 nodes, 69 edges"


def test_help_shows_defaults(call: Call) -> None:
    text = " ".join(call("search", "--help").stdout.split())
    for default in ("500", "trust-region", "50", "10"):
        assert f"[default: {default}]" in text
    assert "studies.db" in text


@pytest.mark.usefixtures("score_file")
def test_a_0_1_0_run_goes_on_with_its_own_study(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("optuna")
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    monkeypatch.syspath_prepend(tmp_path)  # mine.py, its score
    words = ["search", tmp_path / "generic", "--strategy", "evolution", "--batch", 4, "--initial", 5, "--json"]
    done = call(*words, "--budget", 14, "--score", "mine:score")
    assert done.exit_code == 0, done.stderr
    answer = answer_of(done)
    assert answer["study"] == "file:/tmp/fx/dags.jsonl-evolution-0"
    assert answer["evaluations"] == 14
    assert not (tmp_path / "generic" / "studies.db").exists()
    other = call(*words, "--budget", 5, "--score", f"{MINE}:few_edges")
    assert answer_of(other)["study"] == f"file:/tmp/fx/dags.jsonl-{MINE}:few_edges-evolution-0"


def test_ctrl_c_says_how_to_go_on(own: Path, score_file: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    words = ["search", str(own), "--strategy", "random", "--budget", "50", "--score", f"{MINE}:slow"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(score_file)]), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "dvae", *words],
        env=environment,
        preexec_fn=hear_ctrl_c,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (own / "studies.db").is_file() or not _finished(own):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(rf"Go on with: (\S+ -m )?dvae {re.escape(shlex.join(words))}", said)
    assert "Traceback" not in said
    study = Study.open(storage_of(own))
    assert "running" not in {trial.state for trial in study.trials}  # nobody has to wait for a dead worker
    study.close()


def _finished(run: Path) -> int:
    names = study_names(storage_of(run))
    return bool(names) and sum(trial.finished for trial in Study.open(storage_of(run), names[0]).trials)
