"""One writer at a time in a folder.

The system's own lock on a file keeps others out, on this machine and, where the file system passes it on, on all that
share it; a process that is killed loses it at once. Where locks are not passed on, what the file says counts: who the
owner is, and that it is alive, which its owner shows by touching the file. Locks of owners that have certainly ended,
or not been heard of for `SILENCE` seconds, are taken over.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from dvae.errors import InUseError, StorageError
from dvae.processes import Identity, host, is_dead, this_process

try:
    import fcntl
except ImportError:  # not a Unix system: what the file says must do
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("dvae")

FILE = ".lock"
TOUCHED_EVERY = 20.0  # seconds
SILENCE = 180.0  # seconds without a touch after which an owner on another machine is taken for dead

_held: ContextVar[frozenset[str]] = ContextVar("held", default=frozenset())


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps all others out of `folder` while the block runs, or raises `InUseError`; may be nested."""
    place = str(folder.absolute())
    if place in _held.get():
        yield
        return
    made = _make(folder)
    try:
        descriptor = _acquired(folder / FILE)
    except OSError as error:
        _remove_empty(made)
        raise StorageError(f"{folder / FILE}: cannot be written: {(error.strerror or str(error)).lower()}") from error
    token = _held.set(_held.get() | {place})
    done = threading.Event()
    toucher = threading.Thread(target=_touch, args=(descriptor, done), daemon=True, name="dvae-lock")
    toucher.start()
    try:
        yield
    finally:
        done.set()
        toucher.join()
        _held.reset(token)
        with contextlib.suppress(OSError):
            (folder / FILE).unlink(missing_ok=True)
        os.close(descriptor)
        _remove_empty(made)


def _remove_empty(folders: list[Path]) -> None:
    """Folders that were made and in which nothing came of it."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()


def _make(folder: Path) -> list[Path]:
    """Makes the folder, and gives those that were not there, the innermost first."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written: {(error.strerror or str(error)).lower()}") from error
    return new


def _acquired(path: Path) -> int:
    """An open file that is ours; its content says so."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
        try:
            is_free = _system_lock(descriptor)
            owner = _owner(descriptor)
            if not is_free or _is_alive(owner, path, descriptor):
                raise _in_use(path, owner)
            if _is_the_file(path, descriptor):
                _sign(descriptor, path, owner)
                return descriptor
        except BaseException as error:
            if not isinstance(error, InUseError):
                path.unlink(missing_ok=True)  # ours, but it could not be signed
            os.close(descriptor)
            raise
        os.close(descriptor)  # its last owner removed it before we had it


def _system_lock(descriptor: int) -> bool:
    """Whether no other process has the system's lock; True, too, where the file system has none."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _owner(descriptor: int) -> dict[str, Any]:
    """What the file says of its owner; nothing if it is new, or cut off."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(os.pread(descriptor, 4096, 0))
        if isinstance(found, dict):
            return found
    return {}


def _is_alive(owner: dict[str, Any], path: Path, descriptor: int) -> bool:
    """Whether an owner that does not have the system's lock must be believed to be at work all the same."""
    identity = _identity(owner)
    if identity is None or identity == this_process() or is_dead(identity):
        return False
    if identity.machine == this_process().machine:
        return fcntl is None  # it lives, but would have the system's lock if it still wrote here
    return _age(path, descriptor) < SILENCE


def _identity(owner: dict[str, Any]) -> Identity | None:
    machine, pid, started = owner.get("machine"), owner.get("pid"), owner.get("started")
    if isinstance(machine, str) and type(pid) is int and type(started) is int and 0 < pid < 2**31:
        return Identity(machine, pid, started)
    return None


def _age(path: Path, descriptor: int) -> float:
    """Seconds since the file was touched, by the clock of the file system, which may not be ours."""
    touched = os.fstat(descriptor).st_mtime
    probe = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        probe.touch()
        now = probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)
    return max(0.0, now - touched)


def _in_use(path: Path, owner: dict[str, Any]) -> InUseError:
    who = "another process"
    if _identity(owner) is not None:
        where = "" if owner.get("host") == host() else f" on {str(owner.get('host'))[:60]!r}"
        since = owner.get("since")
        ago = f", for {_words(time.time() - since)} now" if isinstance(since, int | float) else ""
        who = f"process {owner['pid']}{where}{ago}"
    return InUseError(
        f"{path.parent} is being written into by {who}: wait until it has ended, or choose another folder"
    )


def _words(seconds: float) -> str:
    if seconds < 120:
        return f"{max(0, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 7200 else f"{round(seconds / 3600)} hours"


def _is_the_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _sign(descriptor: int, path: Path, before: dict[str, Any]) -> None:
    if _identity(before) is not None:
        log.warning("%s: process %d left its lock behind when it ended; taken over", path.parent, before["pid"])
    own = this_process()
    facts = {"host": host(), "machine": own.machine, "pid": own.pid, "started": own.started, "since": time.time()}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(facts).encode(), 0)


def _touch(descriptor: int, done: threading.Event) -> None:
    while not done.wait(TOUCHED_EVERY):
        with contextlib.suppress(OSError):
            os.utime(descriptor)
