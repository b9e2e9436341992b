"""Downloads from a small server of our own."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from dvae.data.downloads import Download, fetch, fetch_cifar10
from dvae.data.images import CIFAR_TEST, CIFAR_TRAIN
from dvae.errors import FormatError, MissingError

CONTENT = bytes(range(256)) * 2000


class Handler(BaseHTTPRequestHandler):
    content: ClassVar[bytes] = CONTENT
    breaks_after: ClassVar[int | None] = None
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.asked.append(wanted)
        first = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        part = self.content[first:]
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part if self.breaks_after is None else part[: self.breaks_after])
        self.close_connection = True

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Handler.breaks_after, Handler.content = None, CONTENT
    Handler.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/some.tar.gz"
    server.shutdown()
    server.server_close()
    thread.join()


def source(address: str, content: bytes = CONTENT) -> Download:
    return Download(address, len(content), hashlib.sha256(content).hexdigest())


def test_a_file_is_fetched_once(address: str, tmp_path: Path) -> None:
    fetch(source(address), tmp_path / "some.tar.gz")
    assert (tmp_path / "some.tar.gz").read_bytes() == CONTENT
    fetch(source(address), tmp_path / "some.tar.gz")
    assert Handler.asked == [None]


def test_a_broken_download_goes_on_where_it_was(address: str, tmp_path: Path) -> None:
    Handler.breaks_after = 100_000
    with pytest.raises((FormatError, MissingError), match="start again"):
        fetch(source(address), tmp_path / "some.tar.gz")
    assert not (tmp_path / "some.tar.gz").exists()
    there = (tmp_path / "some.tar.gz.part").stat().st_size
    assert 0 < there <= 100_000
    Handler.breaks_after = None
    fetch(source(address), tmp_path / "some.tar.gz")
    assert Handler.asked[-1] == f"bytes={there}-"
    assert (tmp_path / "some.tar.gz").read_bytes() == CONTENT


def test_other_content_is_not_kept(address: str, tmp_path: Path) -> None:
    wrong = Download(address, len(CONTENT), "0" * 64)
    with pytest.raises(FormatError, match="checksum differs"):
        fetch(wrong, tmp_path / "some.tar.gz")
    assert list(tmp_path.iterdir()) == []


def test_no_server_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="cannot be fetched"):
        fetch(source("http://127.0.0.1:9/some.tar.gz"), tmp_path / "some.tar.gz")


def archive(names: tuple[str, ...]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 4
            tar.addfile(member, io.BytesIO(b"abcd"))
    return stream.getvalue()


def test_only_the_named_files_are_unpacked(address: str, tmp_path: Path) -> None:
    names = (*CIFAR_TRAIN, CIFAR_TEST)
    Handler.content = archive((*(f"cifar-10-batches-bin/{name}" for name in names), "../evil.txt", "other.txt"))
    place = fetch_cifar10(tmp_path / "data", source=source(address, Handler.content))
    assert sorted(path.name for path in place.iterdir()) == sorted(names)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == set(names)
    assert fetch_cifar10(tmp_path / "data", source=source(address)) == place
    assert len(Handler.asked) == 1


def test_an_archive_that_lacks_a_file_is_refused(address: str, tmp_path: Path) -> None:
    Handler.content = archive(("cifar-10-batches-bin/data_batch_1.bin",))
    with pytest.raises(FormatError, match=r"does not hold data_batch_2\.bin"):
        fetch_cifar10(tmp_path, source=source(address, Handler.content))
