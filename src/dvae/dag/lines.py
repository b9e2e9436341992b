"""Text files, one line at a time: what all formats with one DAG per line share."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from dvae.errors import FormatError, MissingError
from dvae.files import atomic_path

MAX_LINE_BYTES = 16 * 2**20
"""A longer line is refused as soon as this much of it has been read."""

MAX_GROWTH = 300
"""How many times its size a gzip file may unpack to; DAGs reach 30."""

_GZIP_MAGIC = b"\x1f\x8b"

FilePath = str | os.PathLike[str]


def numbered_lines(path: FilePath) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file and their numbers from 1, blank ones left out; gzip is known by content."""
    with contextlib.ExitStack() as stack:
        stream = _opened(path, stack)
        number, room = 0, MAX_GROWTH * Path(path).stat().st_size + MAX_LINE_BYTES
        while True:
            number += 1
            raw = _line(stream, path, number)
            if not raw:
                return
            room -= len(raw)
            if room < 0:
                raise FormatError.at(path, number, f"the file unpacks to more than {MAX_GROWTH} times its size")
            if not raw.strip():
                continue
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError as error:
                problem = f"byte {error.start + 1} of the line is not UTF-8"
                raise FormatError.at(path, number, problem) from None
            yield number, text


def line_of(path: FilePath, place: int) -> int:
    """The number of the line that holds the item at a place of the file, blank lines left out."""
    number, _ = next(islice(numbered_lines(path), place, None))
    return number


def write_lines(path: FilePath, lines: Iterable[str]) -> int:
    """Writes all lines or, when anything fails, nothing; gzip if the name ends in .gz. Returns how many."""
    if Path(path).is_dir():
        raise FormatError.at(path, 1, "this is a folder where a file is to be written")
    count = 0
    with atomic_path(path) as temporary, temporary.open("wb") as raw, contextlib.ExitStack() as stack:
        stream: BinaryIO | gzip.GzipFile = raw
        if os.fspath(path).endswith(".gz"):
            # No name and no time in the header: equal DAGs make equal files.
            stream = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
        for line in lines:
            stream.write(line.encode("utf-8") + b"\n")
            count += 1
    return count


def _opened(path: FilePath, stack: contextlib.ExitStack) -> BinaryIO | gzip.GzipFile:
    try:
        raw = stack.enter_context(Path(path).open("rb"))  # noqa: SIM115 - the stack closes it
        magic = raw.peek(len(_GZIP_MAGIC))[: len(_GZIP_MAGIC)]
    except FileNotFoundError:
        raise MissingError(f"the file {os.fspath(path)} does not exist") from None
    except IsADirectoryError:
        raise FormatError.at(path, 1, "this is a folder where a file is expected") from None
    except OSError as error:
        raise FormatError.at(path, 1, f"the file cannot be read ({error.strerror})") from None
    except ValueError:
        raise FormatError(f"{os.fspath(path)!r} is no name of a file") from None
    if magic != _GZIP_MAGIC:
        return raw
    return stack.enter_context(gzip.GzipFile(fileobj=raw, mode="rb"))


def _line(stream: BinaryIO | gzip.GzipFile, path: FilePath, number: int) -> bytes:
    try:
        raw = stream.readline(MAX_LINE_BYTES + 1)
    except EOFError:
        raise FormatError.at(path, number, "the gzip file is cut off here") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FormatError.at(path, number, f"the gzip file is damaged here ({error})") from None
    except OSError as error:
        raise FormatError.at(path, number, f"the file cannot be read ({error.strerror})") from None
    if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
        raise FormatError.at(path, number, f"the line is longer than {MAX_LINE_BYTES:,} bytes")
    return raw
