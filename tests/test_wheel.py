"""The package as it is distributed; `.ci/matrix` installs and uses it in clean environments."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
import zipfile
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

import dvae
from dvae.extras import DISTRIBUTION

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture
def matrix() -> ModuleType:
    loader = SourceFileLoader("ci_matrix", str(ROOT / ".ci" / "matrix"))
    spec = importlib.util.spec_from_loader("ci_matrix", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_one_name_and_one_version() -> None:
    assert PROJECT["project"]["name"] == DISTRIBUTION
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "dvae.__version__"}
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {dvae.__version__}\n" in citation


def test_every_dependency_has_a_lower_bound() -> None:
    """So that `lowest` of `.ci/matrix` means something."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    every = [*PROJECT["project"]["dependencies"], *(each for extra in extras for each in extra)]
    assert [each for each in every if ">=" not in each] == []


def test_the_lowest_of_what_a_wheel_requires(matrix: ModuleType, tmp_path: Path) -> None:
    lines = ["Name: x", "Requires-Dist: torch>=2.11", "Requires-Dist: gpytorch<2,>=1.15"]
    lines += ['Requires-Dist: psycopg[binary]>=3.2.1; extra == "postgres"', 'Requires-Dist: ruff>=0.9; extra == "dev"']
    lines += ['Requires-Dist: lightning-fabric>=2.5; extra == "devices"', "", "A text about Requires-Dist: y>=1"]
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as archive:
        archive.writestr("x-1.dist-info/METADATA", "\n".join(lines))
    assert matrix.lowest(tmp_path / "x.whl") .splitlines() == [
        "gpytorch==1.15", "lightning-fabric==2.5", "psycopg==3.2.1", "torch==2.11",
    ]  # fmt: skip


def test_a_python_that_is_not_here_is_said(matrix: ModuleType) -> None:
    with pytest.raises(matrix.Absent, match=r"there is no Python 2\.0"):
        matrix.interpreter("2.0")


def test_another_installation_does_not_show_through(matrix: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "DVAE_DATA"):
        monkeypatch.setenv(name, "/somewhere")
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "DVAE_DATA"} & matrix.clean().keys()


def test_the_container_and_the_hooks_run_what_there_is() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    assert (ROOT / ".devcontainer" / container["build"]["dockerfile"]).is_file()
    assert re.search(r"^setup:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert container["postCreateCommand"] == "make setup"
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    named = re.findall(r"tests/[\w/]+\.py", hooks)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_documentation_names_every_extra_and_no_other() -> None:
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row)}
    assert named == set(PROJECT["project"]["optional-dependencies"]) - {"dev", "docs"}
