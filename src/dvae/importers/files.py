"""Files of other programs, read as a whole: bounded, and every problem told in one sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dvae.dag.lines import FilePath as FilePath
from dvae.errors import FormatError, MissingError
from dvae.files import strict_json

MAX_TEXT_BYTES = 64 * 2**20


def read_bytes(path: FilePath, limit: int) -> bytes:
    """All of a file that is at most `limit` bytes long."""
    with opened(path, limit) as file:
        return file.read()


@contextmanager
def opened(path: FilePath, limit: int) -> Iterator[BinaryIO]:
    """A file that is at most `limit` bytes long; what goes wrong with the file itself is said in our words."""
    if "\0" in str(path):
        raise FormatError(f"{str(path)!r} is no name of a file")
    try:
        size = Path(path).stat().st_size
        if size > limit:
            raise FormatError(f"{path}: the file has {size:,} bytes, and {limit:,} are allowed")
        with Path(path).open("rb") as file:
            yield file
    except FileNotFoundError:
        raise MissingError(f"the file {path} does not exist") from None
    except IsADirectoryError:
        raise FormatError(f"{path} is a folder where a file is expected") from None
    except OSError as error:
        raise FormatError(f"{path}: the file cannot be read ({error.strerror})") from None


def read_text(path: FilePath) -> str:
    """The text of a UTF-8 file."""
    try:
        return read_bytes(path, MAX_TEXT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8") from None


def read_json(path: FilePath) -> Any:
    """The value of a JSON file."""
    return parsed_json(read_text(path), path)


def parsed_json(text: str, path: FilePath) -> Any:
    """The value of a JSON text that stands in `path`."""
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        raise FormatError.at(path, error.lineno, f"not valid JSON ({error.msg}, column {error.colno})") from None
    except RecursionError:
        raise FormatError(f"{path}: not valid here (lists are nested too deeply)") from None
    except ValueError as error:  # repeated keys, constants, Python's limit on the digits of an integer
        raise FormatError(f"{path}: not valid JSON ({error})") from None
