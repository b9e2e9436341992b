"""The benchmark of drawings: beside Graphviz where it is installed, and saying so where it is not."""

from __future__ import annotations

import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parent.parent / "benchmarks" / "drawings.py"


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    def run() -> Any:
        monkeypatch.setattr(sys, "argv", [SCRIPT.name, "--sizes", "8x10", "--seeds", "2", "--json"])
        monkeypatch.setattr(sys, "path", list(sys.path))
        runpy.run_path(str(SCRIPT), run_name="__main__")
        return json.loads(capsys.readouterr().out)

    return run


def test_drawings_are_measured_beside_graphviz_or_say_that_it_is_not_there(
    measured: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = measured()
    assert {row["program"] for row in found["rows"]} == ({"dvae", "dot"} if shutil.which("dot") else {"dvae"})
    monkeypatch.setattr(shutil, "which", lambda name: None)
    alone = measured()
    assert [row["program"] for row in alone["rows"]] == ["dvae"]
    assert "not installed" in alone["note"]
    assert alone["rows"][0]["crossings"] == found["rows"][0]["crossings"]
