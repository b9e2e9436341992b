"""What a worker believes of a study: which DAGs, never which code; and the same from the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae.errors import StudyError
from dvae.studies import SCORES, open_ledger
from dvae.studies.study import ABOUT
from dvae.studies.trust import trusted_score

HERE = Path(__file__).parent


def trusted(description: dict[str, Any], **options: Any) -> str | None:
    return trusted_score("one", {"task": "asia", **description}, **options).score


@pytest.mark.parametrize(
    ("score", "allowed"),
    [
        ("os:system", ()),
        ("dvae.files:os.system", ()),
        ("dvae.nas:TrainedAccuracy?recipe=os:system", ()),
        ("mine:score", ("mine:other", "mine", "mine:*", "mine:score?limit=3")),
        ("mine:Score?limit=4", ("mine:Score?limit=3", "mine:Score")),
        ("mine:scored", ("mine:score", "mine:score?*")),
    ],
)
def test_a_score_that_only_the_database_names_is_refused(score: str, allowed: tuple[str, ...]) -> None:
    with pytest.raises(StudyError, match=r"imported only if you trust it: add --score .* or --allow"):
        trusted({"score": score}, allowed=allowed)


def test_a_score_of_the_command_line_or_of_its_list_is_taken() -> None:
    assert trusted({"score": "mine:score"}, given="mine:other") == "mine:other"
    assert trusted({"score": "mine:score"}, allowed=["mine:score"]) == "mine:score"
    assert trusted({"score": "mine:Score?limit=4"}, allowed=["a:b", "mine:Score?*"]) == "mine:Score?limit=4"
    assert trusted({"score": "mine:Score"}, allowed=["mine:Score?*"]) == "mine:Score"


def test_a_score_that_an_installed_package_declares_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SCORES, "_points", lambda: {"cost": None})
    assert trusted({"score": "cost"}) == "cost"
    with pytest.raises(StudyError, match="only if you trust it"):
        trusted({"score": "cost?file=/etc/passwd"})


def test_a_task_is_imported_only_if_it_is_allowed() -> None:
    assert trusted({"score": None}) is None
    assert trusted_score("one", {"task": "asia", "score": None}).task is not None
    with pytest.raises(StudyError, match=r"names the task 'os\.path:sep', which is imported only if you trust it"):
        trusted({"score": None, "task": "os.path:sep"})
    with pytest.raises(dvae.errors.DvaeError, match="is no task"):
        trusted({"score": None, "task": "os.path:sep"}, allowed=["os.path:sep"])


@pytest.mark.parametrize("damage", [{"score": 3}, {"task": None}, {"task": ["asia"]}, {"score": {"a": 1}}])
def test_a_description_that_is_none_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="does not say what it scores"):
        trusted({"score": None, **damage})


def test_a_worker_imports_nothing_that_the_database_names(tmp_path: Path) -> None:
    (tmp_path / "trap.py").write_text("open('sprung', 'w').close()\ndef score(dag): return 0.0\n")
    address = f"dvae:///{tmp_path / 'study.db'}"
    ledger = open_ledger(address, "one", create="maximize")
    ledger.describe(ABOUT, {"task": "asia", "score": "trap:score", "direction": "maximize"})
    ledger.propose(dvae.tasks.get("asia").sample(1, seed=0)[0], {"round": 0, "place": 0})

    def worker(*more: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src"), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "dvae", "worker", "--storage", address, "--count", "1", "--idle", "60", *more]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    refused = worker()
    assert refused.returncode == 2
    assert "Error: the study 'one' names the score 'trap:score'" in refused.stderr
    assert not (tmp_path / "sprung").exists()
    assert [trial.state for trial in ledger.trials()] == ["waiting"]
    allowed = worker("--allow", "trap:score")
    assert allowed.returncode == 0, allowed.stderr
    assert [trial.score for trial in ledger.trials()] == [0.0]
    ledger.close()
