"""Files that are either wholly written or not there, and JSON read strictly."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dvae.errors import DvaeError, FormatError, MissingError, StorageError
from dvae.processes import Identity, is_dead, this_process

MAX_JSON_BYTES = 256 * 2**20
MAX_NAME = 120  # characters of a file's name that its temporary name repeats: its end
_TEMPORARY = re.compile(r"\.tmp-([0-9a-f]{8})-(\d+)-(\d+)-[0-9a-f]{6}-.*", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_tidied: set[str] = set()  # folders in which this process has looked for what dead ones left


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, for the caller to write; it becomes `path` if the block succeeds.

    The temporary name ends like the final one, since many writers choose a format by the ending. Whatever
    happens, a reader of `path` sees the old content or the new, never a part, and nothing is left behind; what killed
    processes left is removed. A disk that is full or may not be written to is a `StorageError`.
    """
    final = Path(path)
    owner = this_process()
    name = f".tmp-{owner.machine}-{owner.pid}-{owner.started}-{secrets.token_hex(3)}-{final.name[-MAX_NAME:]}"
    temporary = final.with_name(name)
    written = False
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _tidy(final.parent)
        yield temporary
        written = True
        # Some writers make files for their owner alone; ours are as open as the folder they lie in.
        temporary.chmod(final.parent.stat().st_mode & 0o666)
        _sync(temporary)
        temporary.replace(final)
        _sync(final.parent)
    except OSError as error:
        if isinstance(error, DvaeError) or error.strerror is None:
            raise
        if isinstance(error, FileNotFoundError) and (written or str(error.filename) != str(temporary)):
            raise  # the block wrote nothing, or read what is not there
        raise StorageError(f"{final}: cannot be written: {error.strerror.lower()}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Removes what a killed process left of its attempts to write `path`; for the only process that writes it."""
    final = Path(path)
    for leftover in _temporaries(final.parent):
        if leftover.name.endswith(f"-{final.name[-MAX_NAME:]}"):
            leftover.unlink(missing_ok=True)


def _tidy(folder: Path) -> None:
    """Removes the temporary files of processes that have certainly ended; looked for once by each process."""
    place = str(folder.absolute())
    if place in _tidied:
        return
    _tidied.add(place)
    for path in _temporaries(folder):
        owner = _TEMPORARY.fullmatch(path.name)
        if owner is not None and is_dead(Identity(owner[1], int(owner[2]), int(owner[3]))):
            with contextlib.suppress(OSError):
                path.unlink()


def _temporaries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.name.startswith(".tmp-")]
    except OSError:
        return []


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Writes `text` as UTF-8 with its line ends as they are."""
    with atomic_path(path) as temporary:
        try:
            temporary.write_text(text, encoding="utf-8", newline="")
        except UnicodeEncodeError as error:
            odd = error.object[error.start : error.end]
            raise FormatError(f"{path}: {odd[:20]!r} is no character, so it cannot be written as text") from None


def write_json(path: str | os.PathLike[str], value: object) -> None:
    """Writes `value` as indented JSON, keys in their order. NaN and infinity are not JSON: an error."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError(f"{path}: the value cannot be written as JSON: {error}") from error
    # Half a surrogate pair is no character, but JSON has an escape for it.
    write_text(path, _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def as_characters(text: str) -> str:
    """The text with a mark in place of halves of surrogate pairs, which no file of text can hold."""
    return _SURROGATE.sub("\ufffd", text)


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
        if Path(path).stat().st_size > MAX_JSON_BYTES:
            raise FormatError(f"{path}: the file is longer than {MAX_JSON_BYTES:,} bytes")
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
    except RecursionError:
        raise FormatError(f"{path}: not JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
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
