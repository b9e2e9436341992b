"""A command in a folder, and what must hold of the folder whatever happens to the command."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import math
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from safetensors.torch import load_file
from typer.testing import CliRunner, Result

from dvae.cli.main import app
from dvae.config import load_toml
from dvae.dag import ScoredDag, load_dags
from dvae.files import read_json
from dvae.models.tensor_file import read_noted


@dataclass(frozen=True)
class Scenario:
    """`words` run in a copy of the folder `before`; `again` are the words that end what they began.

    `prepare` fills `before` when it is first needed, and `around` makes what the command cannot be told small enough.
    """

    name: str
    before: Path
    words: Callable[[Path], tuple[object, ...]]
    again: Callable[[Path], tuple[object, ...]] | None = None  # None: the same words
    result: str | None = None  # a file that is the same however often the command was killed
    prepare: Callable[[Path], None] | None = None
    around: Callable[[Path], AbstractContextManager[object]] = contextlib.nullcontext

    def run(self, at: Path) -> Result:
        """The command, in a copy of `before`."""
        with self.around(at):
            return called(self.words(at))

    def run_again(self, at: Path) -> Result:
        """What ends the command where it has failed or was killed."""
        with self.around(at):
            return called((self.again or self.words)(at))


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
    if scenario.prepare is not None and not scenario.before.is_dir():
        scenario.prepare(scenario.before)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(scenario.before, folder)
    return folder


def check_whole(folder: Path, before: dict[Path, bytes], *, killed: bool = False) -> None:
    """Every file has its old content or is whole, and nothing half-written has the name of a file."""
    for name, content in contents(folder).items():
        if name.name.startswith((".tmp-", ".lock")):
            # The lock of `reproduce` is the system's alone: its empty file stays.
            assert killed or not content, f"{name} was left behind"
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
    elif name.endswith(".replicates.jsonl"):
        return  # grows line by line; one that was cut off is dropped when the bootstrap goes on
    elif name.endswith((".jsonl", ".jsonl.gz")) and b'"mean"' not in content and b'"low"' not in content:
        load_dags(path)
    elif name.endswith((".db", ".db-journal")):
        _check_database(path.with_name(name.removesuffix("-journal")))
    elif name.endswith((".jsonl", ".csv", ".md")):
        assert content.endswith(b"\n"), f"{name} is cut off"
    elif name.endswith((".npz", ".pt2")):
        assert content[-22:-18] == b"PK\x05\x06", f"{name} is cut off"
    elif name.endswith(".part"):
        return  # a download that goes on where it was; it is checked when it is whole
    elif name.endswith(".gz"):
        assert gzip.decompress(content), f"{name} is empty"  # one that is cut off, or has other bytes, is an error
    elif name.endswith(".onnx"):
        from onnx import checker

        checker.check_model(content)
    elif name.endswith(".bin"):
        assert content == name.encode(), f"{name} is cut off"  # as `later` serves it
    else:
        ends = {".svg": b"</svg>", ".html": b"</html>", ".png": b"IEND\xaeB`\x82", ".bif": b"}"}[path.suffix]
        assert content.rstrip().endswith(ends), f"{name} is cut off"


def _check_database(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), f"{path.name} is damaged"


def same_result(one: Path, other: Path) -> bool:
    """Whether two files hold the same tensors, the same DAGs with the same properties, or are the same."""
    if one.read_bytes() == other.read_bytes():
        return True
    if one.suffix == ".jsonl":
        return _same_dags(load_dags(one), load_dags(other))
    if one.suffix != ".safetensors":
        return False
    first, second = load_file(one), load_file(other)
    return first.keys() == second.keys() and all(first[name].equal(second[name]) for name in first)


def _same_dags(one: list[ScoredDag], other: list[ScoredDag]) -> bool:
    """Properties that a model predicts depend in their last digits on how many DAGs are predicted at once."""
    return len(one) == len(other) and all(
        (a.dag.types, a.dag.edges, a.score, a.dag.properties.keys())
        == (b.dag.types, b.dag.edges, b.score, b.dag.properties.keys())
        and all(math.isclose(a.dag.properties[name], b.dag.properties[name], rel_tol=1e-6) for name in a.dag.properties)
        for a, b in zip(one, other, strict=True)
    )
