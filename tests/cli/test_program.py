"""The program as a process: quick help, pure output, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dvae import __version__
from dvae.cli import output
from dvae.cli.main import app

from .conftest import TINY, Call

PROGRAM = [sys.executable, "-c", "from dvae.cli.main import main; main()"]


COMMANDS = (
    "data", "train", "evaluate", "predictivity", "encode", "decode", "sample", "score", "import-checkpoint", "models",
    "draw", "demo", "search", "worker", "explore", "reproduce", "report", "nas",
)  # fmt: skip


@pytest.mark.parametrize("words", [["--help"], ["train", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    code = (
        "import sys\n"
        "from dvae.cli.main import main\n"
        f"sys.argv = ['dvae', *{words}]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'torch', 'matplotlib', 'numpy', 'scipy', 'igraph', 'networkx'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in COMMANDS if words == ["--help"] else ("Usage",):
        assert command in done.stdout


def test_the_version_is_told(call: Call) -> None:
    assert call("--version").stdout == f"dvae {__version__}\n"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("CPUAllocator: not enough memory: you tried to allocate 9 bytes"),
        RuntimeError("CUDA error: out of memory"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    ],
)
def test_memory_that_runs_out_is_one_sentence(call: Call, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("dvae.tasks.load_dataset", full)
    result = call("data", "asia")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: there is not enough memory; end what else uses it")
    assert len(result.stderr.splitlines()) == 1


def test_other_errors_of_ours_show(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("dvae.tasks.load_dataset", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        call("data", "asia")


def test_every_command_has_help(call: Call) -> None:
    for command in COMMANDS:
        result = call(command, "--help")
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def test_ctrl_c_keeps_a_run_that_can_be_resumed(tmp_path: Path, pipelines: Path, call: Call) -> None:
    run = tmp_path / "run"
    words = ["train", "--data", str(pipelines), "--run", str(run), "--epochs", "1000000", *TINY]
    with subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_one_thread()
    ) as process:
        deadline = time.monotonic() + 60
        while not (run / "metrics.csv").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, remarks = process.communicate(timeout=60)
    assert process.returncode == 130, remarks
    assert "Traceback" not in remarks
    assert "--resume" in remarks
    epochs = len((run / "metrics.csv").read_text().splitlines())
    result = call("train", "--run", run, "--resume", "--epochs", epochs + 1, "--json")
    assert json.loads(result.stdout)["epochs"] == epochs + 1


def test_an_error_is_one_sentence_of_the_whole_process(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "sample", str(tmp_path)], capture_output=True, text=True, check=False, env=_one_thread()
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


def _one_thread() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.mark.parametrize(
    ("called", "found", "name"),
    [
        (".venv/bin/dvae", None, ".venv/bin/dvae"),
        ("/usr/bin/pytest", None, "dvae"),
        ("/x/dvae/__main__.py", None, "python3.11 -m dvae"),
        ("/x/dvae/__main__.py", "/usr/bin/dvae", "dvae"),
    ],
)
def test_commands_are_printed_as_they_can_be_typed(
    called: str, found: str | None, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", [called])
    monkeypatch.setattr("sys.executable", "/usr/bin/python3.11")
    monkeypatch.setattr("shutil.which", lambda program: found)
    output.note("  dvae explore runs/demo    # in a browser; runs of dvae are folders")
    assert capsys.readouterr().err == f"  {name} explore runs/demo    # in a browser; runs of dvae are folders\n"


def test_a_python_that_the_shell_does_not_find_is_printed_in_full(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["/x/dvae/__main__.py"])
    monkeypatch.setattr("sys.executable", "/some/venv/bin/python")
    monkeypatch.setattr("shutil.which", lambda program: None)
    output.note("dvae demo")
    assert capsys.readouterr().err == "/some/venv/bin/python -m dvae demo\n"


def test_python_m_dvae_is_the_program() -> None:
    script = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True)
    module = subprocess.run([sys.executable, "-m", "dvae", "--help"], capture_output=True, text=True, check=True)
    assert module.stdout == script.stdout
    assert "Usage: dvae " in module.stdout


def test_shells_complete_commands_and_options() -> None:
    """What the script that `dvae --install-completion bash` installs asks for."""
    for words, expected in (("dvae comp", "compare"), ("dvae sample --see", "--seed")):
        asked = {"_DVAE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(PROGRAM, env={**os.environ, **asked}, capture_output=True, text=True, check=False)
        assert done.stdout.split() == [expected], done.stderr


def test_all_commands_are_known_to_what_prints_them() -> None:
    groups = {str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance}
    assert groups | {command.name for command in app.registered_commands} == set(output.COMMANDS)
