"""Files that are either wholly written or not there, and JSON read strictly."""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dvae.errors import FormatError, MissingError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, for the caller to write; it becomes `path` if the block succeeds.

    The temporary name ends like the final one, since many writers choose a format by the ending. Whatever
    happens, a reader of `path` sees the old content or the new, never a part, and nothing is left behind.
    """
    final = Path(path)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = final.with_name(f".tmp-{secrets.token_hex(6)}-{final.name}")
    try:
        yield temporary
        # Some writers make files for their owner alone; ours are as open as the folder they lie in.
        temporary.chmod(final.parent.stat().st_mode & 0o666)
        _sync(temporary)
        temporary.replace(final)
        _sync(final.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Removes what a killed process left of its attempts to write `path`; for the only process that writes it."""
    final = Path(path)
    for leftover in final.parent.glob(f".tmp-*-{final.name}"):
        leftover.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes `text` as UTF-8 with its line ends as they are."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_json(path: str | os.PathLike[str], value: object) -> None:
    """Writes `value` as indented JSON, keys in their order. NaN and infinity are not JSON: an error."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{path}: the value cannot be written as JSON: {error}") from error
    write_text(path, text + "\n")


def sha256_of(path: str | os.PathLike[str]) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def finite(value: object) -> Any:
    """The value with None for numbers that JSON does not have, such as the loss of a run that diverged."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def read_json(path: str | os.PathLike[str]) -> object:
    """The JSON value in `path`. Repeated keys, NaN and infinity are errors, as is text after it."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingError(f"{path}: there is no such file") from None
    except OSError as error:
        raise MissingError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 text (byte {error.start})") from None
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        raise FormatError.at(path, error.lineno, f"not JSON: {error.msg} (column {error.colno})") from None
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: {error}") from None


def strict_json(text: str) -> Any:
    """`json.loads`, without its tolerance for repeated keys, NaN and infinity, which are `ValueError`s."""
    return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant)


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"the key {key!r} is given twice in one object")
        members[key] = value
    return members


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a finite number")


def _sync(path: Path) -> None:
    """Makes the system put a file's content, or a folder's names, on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
