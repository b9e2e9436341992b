"""A result can say where it comes from."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from dvae import provenance


def test_the_record_holds_versions_machine_seed_and_date() -> None:
    record = provenance.record(7, {"training": {"epochs": 3}})
    assert json.loads(json.dumps(record)) == record
    assert record["seed"] == 7
    assert record["config"] == {"training": {"epochs": 3}}
    versions = record["versions"]
    assert isinstance(versions, dict)
    assert versions["torch"] == torch.__version__
    assert versions["python"] == ".".join(map(str, sys.version_info[:3]))
    date = datetime.fromisoformat(str(record["date"]))
    assert date.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - date) < timedelta(minutes=5)
    assert record["gpu_count"] == torch.cuda.device_count()
    assert set(record) == {
        *("date", "command", "seed", "config", "versions", "platform", "cpu", "gpu", "gpu_count", "git")
    }


def test_passwords_and_the_environment_stay_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", "hunter2")
    monkeypatch.setattr(sys, "argv", ["dvae", "--storage=postgresql://me:hunter2@host/db", "a:b@c"])
    record = provenance.record(None, {"search": {"storage": ["mysql://me:hunter2@host"]}})
    assert "hunter2" not in json.dumps(record)
    assert record["command"] == ["dvae", "--storage=postgresql://me:***@host/db", "a:b@c"]
    assert record["config"] == {"search": {"storage": ["mysql://me:***@host"]}}


def test_a_checkout_tells_its_commit_and_whether_it_is_modified(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        command = ["git", *identity, "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    assert provenance.git_commit(tmp_path) is None
    git("init", "-q")
    assert provenance.git_commit(tmp_path) is None, "a repository without a commit has none to tell"
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert provenance.git_commit(tmp_path) == {"commit": git("rev-parse", "HEAD"), "modified": False}
    (tmp_path / "new.py").write_text("")
    assert provenance.git_commit(tmp_path) == {"commit": git("rev-parse", "HEAD"), "modified": True}


def test_a_machine_without_git_has_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", "")
    assert provenance.git_commit(tmp_path) is None
