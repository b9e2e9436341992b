"""The package of docs/extending.md, installed as a stranger would, and used through commands and Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .blocks import Block, blocks_of

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
SOURCE = Path(__file__).parents[2] / "src"
RUNNER = """
import shlex, sys
from typer.testing import CliRunner
from dvae.cli.main import app
for command in sys.stdin.read().splitlines():
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    if result.exit_code:
        sys.exit(f"{command}: {result.output} {result.exception!r}")
"""


def file_of(block: Block) -> str | None:
    """The file that a block is, if its first line says so."""
    first = block.text.partition("\n")[0]
    return first.removeprefix("# ") if first.startswith("# ") and "." in first else None


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the page's package was installed into, entry points and all."""
    folder = tmp_path_factory.mktemp("outside")
    source = folder / "source"
    (source / "my_dags").mkdir(parents=True)
    (source / "my_dags" / "__init__.py").touch()
    for block in blocks_of(PAGE):
        name = file_of(block)
        if name is not None:
            (source / name).write_text(block.text)
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder / "site"), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "site"


def run_python(text: str, site: Path | None, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    paths = [str(SOURCE)] if site is None else [str(SOURCE), str(site)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", text], cwd=folder, env=environment, input=stdin, capture_output=True, text=True
    )  # fmt: skip


def test_an_outside_package_works_wherever_built_in_things_do(installed: Path, tmp_path: Path) -> None:
    used = [block for block in blocks_of(PAGE) if file_of(block) is None]
    for block in used:
        if block.is_shell:
            done = run_python(RUNNER, installed, tmp_path, "\n".join(block.commands()))
        elif block.language == "python":
            done = run_python(block.text, installed, tmp_path)
        else:
            continue
        assert done.returncode == 0, done.stderr[-3000:]
    # Without the package, what it made names it.
    for run, missing in (("pipelines", "my_dags"), ("bag", "my_dags"), ("mine", "my_dags")):
        text = f"import dvae\ntry:\n    dvae.load('runs/{run}')\nexcept dvae.DvaeError as error:\n    print(error)"
        done = run_python(text, None, tmp_path)
        assert missing in done.stdout, done.stdout + done.stderr
        assert "not installed" in done.stdout


def test_an_outside_task_enters_the_contract_suite_by_itself(installed: Path, tmp_path: Path) -> None:
    suite = Path(__file__).parents[1] / "contracts" / "test_tasks.py"
    text = f"import pytest, sys; sys.exit(pytest.main([{str(suite)!r}, '-k', 'pipelines', '-p', 'no:cacheprovider']))"
    done = run_python(text, installed, tmp_path)
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.match(r"\.{10,}\s+\[100%\]", done.stdout), done.stdout  # all passed, none was skipped
