"""A command in a folder, and what must hold of the folder whatever happens to the command."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from dvae.cli.main import app
from dvae.config import load_toml
from dvae.dag import load_dags
from dvae.files import read_json
from dvae.models.tensor_file import read_noted


@dataclass(frozen=True)
class Scenario:
    """`words` run in a copy of the folder `before`; `again` are the words that end what they began."""

    name: str
    before: Path
    words: Callable[[Path], tuple[object, ...]]
    again: Callable[[Path], tuple[object, ...]] | None = None  # None: the same words
    result: str | None = None  # a file of tensors that is the same however often the command was killed


def all_scenarios(folder: Path) -> list[Scenario]:
    """Those of every module in `scenarios`; each has `scenarios(folder)`, whose folder is for what they begin with."""
    found: list[Scenario] = []
    for path in sorted((Path(__file__).parent / "scenarios").glob("*.py")):
        module = importlib.import_module(f"faults.scenarios.{path.stem}")
        if hasattr(module, "scenarios"):
            found += module.scenarios(folder)
    return found


def called(words: tuple[object, ...]) -> Result:
    """The program, run in this process; a traceback is a failure."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def contents(folder: Path) -> dict[Path, bytes]:
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fresh(scenario: Scenario, folder: Path) -> Path:
    """A copy of what the scenario begins with."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(scenario.before, folder)
    return folder


def check_whole(folder: Path, before: dict[Path, bytes], *, killed: bool = False) -> None:
    """Every file has its old content or is whole, and nothing half-written has the name of a file."""
    for name, content in contents(folder).items():
        if name.name.startswith((".tmp-", ".lock")):
            assert killed, f"{name} was left behind"
        elif before.get(name) != content:
            _check_file(folder / name, content)
    missing = [
        name for name in before if not (folder / name).is_file() and not name.name.startswith((".tmp-", ".lock"))
    ]
    assert not missing, f"{missing} disappeared"


def _check_file(path: Path, content: bytes) -> None:
    name = path.name
    if name.endswith(".safetensors"):
        read_noted(path, ("state",))
    elif name.endswith(".json"):
        read_json(path)
    elif name.endswith(".toml"):
        load_toml(path)
    elif name.endswith((".jsonl", ".jsonl.gz")) and b'"mean"' not in content:
        load_dags(path)
    elif name.endswith((".jsonl", ".csv")):
        assert content.endswith(b"\n"), f"{name} is cut off"
    elif name.endswith(".npz"):
        assert content[-22:-18] == b"PK\x05\x06", f"{name} is cut off"
    else:
        ends = {".svg": b"</svg>", ".html": b"</html>", ".png": b"IEND\xaeB`\x82"}[path.suffix]
        assert content.rstrip().endswith(ends), f"{name} is cut off"


def tensors_equal(one: Path, other: Path) -> bool:
    first, second = load_file(one), load_file(other)
    return first.keys() == second.keys() and all(first[name].equal(second[name]) for name in first)
