"""What the README and the documentation tell people to type is typed here, with small settings."""

from __future__ import annotations

import contextlib
import json
import random
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dvae.cli.main import app

from .blocks import Block, blocks_of

ROOT = Path(__file__).parents[2]
OUTSIDE = "extending.md"  # its package is installed and used by test_outside.py
RESULTS = ROOT / "docs/results/straight-axes.md"
FOLDERS = ("docs", "docs/tutorials", "docs/howto", "docs/reference")
IN_DOCS = [page for folder in FOLDERS for page in sorted((ROOT / folder).glob("*.md")) if page.name != OUTSIDE]
RUN_TOGETHER = {str(page.relative_to(ROOT)): blocks_of(page) for page in (ROOT / "README.md", RESULTS, *IN_DOCS)}
BLOCKS = [block for blocks in RUN_TOGETHER.values() for block in blocks]


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file of DAGs and a score, as the README speaks of them."""
    chance = random.Random(0)
    lines = []
    for _ in range(80):
        types = ["input", *(chance.choice(["conv3", "conv5", "pool"]) for _ in range(chance.randint(1, 4))), "output"]
        edges = [[node, node + 1] for node in range(len(types) - 1)]
        edges += [[u, v] for v in range(2, len(types) - 1) for u in range(v - 1) if chance.random() < 0.4]
        lines.append(json.dumps({"types": types, "edges": edges, "score": types.count("conv3") - 0.1 * len(edges)}))
    (tmp_path / "my.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "mine.py").write_text("def score(dag):\n    return float(dag.types.count('conv3'))\n")
    (tmp_path / "my.csv").write_text("rain,sprinkler,wet\n" + "yes,no,yes\nno,yes,yes\nno,no,no\nyes,yes,yes\n" * 20)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def run_block(block: Block, names: dict[str, object], behind: contextlib.ExitStack) -> None:
    """Runs a block; what it starts in the background (`&`) must have ended well when `behind` is closed."""
    if block.language == "python":
        exec(compile(block.text, f"{block.file}:{block.line}", "exec"), names)  # the page's own code
        return
    for command in block.commands():
        if command.endswith("&"):
            behind.enter_context(in_background(shlex.split(command.removesuffix("&"))[1:]))
            continue
        result = CliRunner().invoke(app, shlex.split(command)[1:])
        assert result.exit_code == 0, f"{block.file}:{block.line}: {command}\n{result.output}\n{result.exception!r}"


@contextlib.contextmanager
def in_background(words: list[str]) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-m", "dvae", *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield
            _, remarks = process.communicate(timeout=300)
            assert process.returncode == 0, remarks
        finally:
            process.kill()


@pytest.mark.parametrize("page", [name for name, blocks in RUN_TOGETHER.items() if blocks])
def test_the_blocks_of_a_page_run_from_top_to_bottom(page: str, workplace: Path) -> None:
    names: dict[str, object] = {}
    with contextlib.ExitStack() as behind:
        for block in RUN_TOGETHER[page]:
            if block.skipped is None and (block.language == "python" or block.is_shell):
                run_block(block, names, behind)


def test_a_block_that_is_not_run_says_why() -> None:
    assert all(block.skipped is None or len(block.skipped) > 10 for block in BLOCKS)
