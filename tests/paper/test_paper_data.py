"""The paper's data: found, fetched if they are what they should be, or made."""

from __future__ import annotations

import dataclasses
import hashlib
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dvae.dag import load_jsonl
from dvae.data.downloads import Download
from dvae.nas import NetworkConfig
from dvae.paper.sources import FALLBACK_SUPERNET, architecture_source, bayesnet_source, make_architectures

CONTENT = b"scored architectures"
NOWHERE = Download("http://127.0.0.1:1/", 1, "")


@pytest.fixture
def server() -> Iterator[str]:
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/file" else 404)
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Answer) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture(autouse=True)
def empty_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def expected(address: str, content: bytes = CONTENT) -> Download:
    return Download(address, len(content), hashlib.sha256(content).hexdigest())


def test_the_file_is_fetched_to_where_the_task_looks_for_it(
    server: str, tmp_path: Path, empty_data_folder: Path
) -> None:
    source = architecture_source(tmp_path / "run", _never, expected(f"{server}/file"))
    assert source.file is None
    assert (empty_data_folder / "enas" / "final_structures6.txt").read_bytes() == CONTENT
    assert architecture_source(tmp_path / "run", _never, NOWHERE) == source


def test_any_other_file_is_no_substitute(server: str, tmp_path: Path, empty_data_folder: Path) -> None:
    for address, content in ((f"{server}/file", b"Scored architectures"), (f"{server}/none", CONTENT)):
        source = architecture_source(tmp_path / "run", _write, expected(address, content))
        assert source.file is not None
        assert not (empty_data_folder / "enas" / "final_structures6.txt").exists()


def test_offline_a_data_set_is_made_once_and_named(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        _write(path)

    sources = {architecture_source(tmp_path / "run", make, NOWHERE) for _ in range(2)}
    assert len(made) == 1
    (source,) = sources
    assert source.file == "data/architectures.jsonl.gz"
    assert source.sha256 == hashlib.sha256(CONTENT).hexdigest()


def test_networks_are_scored_on_the_papers_rows_where_they_are(empty_data_folder: Path) -> None:
    assert bayesnet_source().task == "asia"
    (empty_data_folder / "asia").mkdir(parents=True)
    (empty_data_folder / "asia" / "asia.csv").write_text("A\nyes\n")
    assert bayesnet_source().task == "asia-bnlearn"


def test_made_architectures_are_scored_by_a_supernet(tmp_path: Path) -> None:
    config = dataclasses.replace(FALLBACK_SUPERNET, epochs=1, batch=256, network=NetworkConfig(width=2, channels=1))
    path = tmp_path / "data" / "made.jsonl.gz"
    make_architectures(path, size=6, config=config, progress=False)
    items = load_jsonl(path)
    assert len(items) == 6
    assert all(item.score is not None and 0 <= item.score <= 1 for item in items)
    make_architectures(path, size=6, config=config, progress=False)  # the supernet is there already
    assert load_jsonl(path) == items


def _never(path: Path) -> None:
    raise AssertionError(path)


def _write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CONTENT)
