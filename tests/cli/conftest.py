"""Tiny data and one tiny trained run, shared by the tests of the commands."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dvae.cli.main import app
from pipelines import pipeline_lines

TINY = ("--set", "model.hidden=10", "--set", "model.latent=4")


def hear_ctrl_c() -> None:
    """For a process that is to be interrupted: shells let what they run in the background ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


Call = Callable[..., Result]
Refused = Callable[..., str]


@pytest.fixture(scope="session")
def call() -> Call:
    """Runs the program in this process."""

    def run(*words: object) -> Result:
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture(scope="session")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A user's own DAGs: two to five nodes, several sources and sinks, scored."""
    path = tmp_path_factory.mktemp("own") / "pipelines.jsonl"
    path.write_text(pipeline_lines(40, 5, scored=True))
    return path


@pytest.fixture(scope="session")
def run(call: Call, pipelines: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run trained for two epochs on `pipelines`; tests must not change it."""
    folder = tmp_path_factory.mktemp("runs") / "pipelines"
    result = call("train", "--task", f"file:{pipelines}", "--run", folder, "--epochs", 2, *TINY)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def refused(call: Call, tmp_path: Path) -> Refused:
    """Runs what must be refused and gives the sentence that says why; nothing may be left in `tmp_path`."""

    def check(*words: object) -> str:
        before = sorted(tmp_path.rglob("*"))
        result = call(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1, result.stderr
        assert sorted(tmp_path.rglob("*")) == before
        return result.stderr.removeprefix("Error: ").strip()

    return check
