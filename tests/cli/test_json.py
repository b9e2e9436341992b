"""Every command answers programs: `--json` prints one JSON value and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from bayesnet.networks import SPRINKLER
from dvae.bayesnet import parse_bif
from dvae.cli import serving
from dvae.cli.main import app

from .conftest import Call


def commands(group: Any, name: str = "dvae") -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def test_every_command_takes_json() -> None:
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) > 30
    assert [name for name, command in found.items() if not any("--json" in each.opts for each in command.params)] == []


@pytest.fixture
def network(tmp_path: Path) -> Path:
    (tmp_path / "sprinkler.bif").write_text(SPRINKLER)
    return tmp_path / "sprinkler.bif"


def test_pictures_say_what_was_drawn(call: Call, pipelines: Path, network: Path, tmp_path: Path) -> None:
    answer = json.loads(call("draw", pipelines, tmp_path / "some.svg", "--limit", 3, "--json").stdout)
    assert answer == {"picture": str(tmp_path / "some.svg"), "dags": 3, "drawn": 3}
    edges = len(parse_bif(SPRINKLER).edges)
    answer = json.loads(call("bn", "draw", network, tmp_path / "network.svg", "--json").stdout)
    assert answer == {"picture": str(tmp_path / "network.svg"), "variables": 3, "edges": edges}


def test_rows_of_a_network_are_columns_or_a_file(call: Call, network: Path, tmp_path: Path) -> None:
    answer = json.loads(call("bn", "sample", network, "--count", 3, "--json").stdout)
    assert answer["rows"] == 3
    assert [len(column) for column in answer["columns"].values()] == [3] * 3
    out = tmp_path / "rows.csv"
    answer = json.loads(call("bn", "sample", network, "--count", 3, "--out", out, "--json").stdout)
    assert answer["file"] == str(out)
    assert len(out.read_text().splitlines()) == 4


def test_a_page_says_where_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        port = 8050

        def serve_forever(self) -> None:
            pass

        def server_close(self) -> None:
            pass

    monkeypatch.setattr(serving, "_server", lambda app, host, port: Server())
    serving.serve(None, "0.0.0.0", None, False, "20 DAGs", True)
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"address": "http://0.0.0.0:8050/", "shows": "20 DAGs"}
    assert "Anyone who can reach" in shown.err
