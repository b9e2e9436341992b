"""Every example is run as a stranger would run it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"
NEEDS = {
    "sklearn_regression.py": "sklearn",
    "optuna_study.py": "optuna",
    "botorch_function.py": "botorch",
    "poli_black_box.py": "poli",
    "import_networks.py": "torch",
}


def test_every_example_is_known() -> None:
    assert {path.name for path in FOLDER.glob("*.py")} == NEEDS.keys()


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    if find_spec(NEEDS[name]) is None:
        pytest.skip(f"{NEEDS[name]} is not installed")
    done = subprocess.run([sys.executable, FOLDER / name], capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.strip()
