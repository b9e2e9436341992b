"""A disk that fails, or on which the process dies, at the n-th thing that is written to it."""

from __future__ import annotations

import builtins
import contextlib
import errno
import io
import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import safetensors.torch

Fault = Literal["once", "full", "read-only", "kill"]
DATABASE_ERRORS = {
    "once": "disk I/O error",
    "full": "database or disk is full",
    "read-only": "attempt to write a readonly database",
}
CHANGES = ("BEGIN", "COMMIT", "INSERT", "UPDATE", "DELETE", "CREATE")  # how statements begin that may write
NUMBERS = {"once": errno.EIO, "full": errno.ENOSPC, "read-only": errno.EROFS}


class Disk:
    """Counts what is written under `root`; at number `at` it fails: once, from then on, or by killing the process.

    A write that fails has put half of its bytes there before, as a disk that fills up has.
    """

    def __init__(self, root: Path, at: int | None = None, fault: Fault = "full") -> None:
        self.root, self.at, self.fault = f"{root.resolve()}{os.sep}", at, fault
        self.count = 0

    def strikes(self) -> bool:
        """Whether the next thing that is written fails."""
        self.count += 1
        if self.at is None or self.count < self.at or (self.fault == "once" and self.count > self.at):
            return False
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        return True

    def check(self, path: object = None) -> None:
        """Counts one thing."""
        if self.strikes():
            raise self.error(path)

    def error(self, path: object = None) -> OSError:
        number = NUMBERS[self.fault]
        return OSError(number, os.strerror(number), None if path is None else str(path))

    def holds(self, path: object) -> bool:
        if not isinstance(path, str | os.PathLike):
            return False
        return os.path.abspath(os.fspath(path)).startswith(self.root)  # type: ignore[arg-type]  # noqa: PTH100

    @contextlib.contextmanager
    def inserted(self) -> Iterator[Disk]:
        """Puts the disk under everything that Python writes while the block runs."""
        real_open, real_os_open, real_pwrite = io.open, os.open, os.pwrite
        real_connect = sqlite3.connect
        watched: set[int] = set()

        def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            if not self.holds(file) or not set(mode) & set("wax+"):
                return real_open(file, mode, *rest, **options)
            self.check(file)
            raw = _Raw(file, mode.replace("b", "").replace("t", ""), self)
            if options.get("buffering") == 0 or rest[:1] == (0,):
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            if "b" in mode:
                return buffered
            keep = {key: value for key, value in options.items() if key in ("encoding", "errors", "newline")}
            return io.TextIOWrapper(buffered, **keep)

        def os_opened(path: Any, flags: int, *rest: Any, **options: Any) -> int:
            is_written = self.holds(path) and bool(flags & os.O_CREAT)
            if is_written:
                self.check(path)
            descriptor = real_os_open(path, flags, *rest, **options)
            if is_written:
                watched.add(descriptor)
            return descriptor

        def pwritten(descriptor: int, content: Any, offset: int) -> int:
            if descriptor in watched and self.strikes():
                real_pwrite(descriptor, bytes(content)[: len(content) // 2], offset)
                raise self.error()
            return real_pwrite(descriptor, content, offset)

        disk = self

        class Connection(sqlite3.Connection):
            def execute(self, statement: str, *rest: Any) -> sqlite3.Cursor:
                if statement.lstrip().upper().startswith(CHANGES) and disk.strikes():
                    raise sqlite3.OperationalError(DATABASE_ERRORS[disk.fault])
                return super().execute(statement, *rest)

        def connected(path: Any, *rest: Any, **options: Any) -> sqlite3.Connection:
            if not self.holds(path):
                return real_connect(path, *rest, **options)
            return real_connect(path, *rest, factory=Connection, **options)

        def saved(tensors: Any, path: Any, metadata: Any = None) -> None:
            with opened(path, "wb") as file:
                file.write(safetensors.torch.save(tensors, metadata))

        with contextlib.ExitStack() as stack:
            for owner, name, new in (
                (io, "open", opened),
                (builtins, "open", opened),
                (os, "open", os_opened),
                (os, "pwrite", pwritten),
                (sqlite3, "connect", connected),
                *((os, name, self._counted(getattr(os, name))) for name in ("replace", "mkdir", "chmod")),
                (os, "fsync", self._synced(os.fsync)),
            ):
                stack.enter_context(mock.patch.object(owner, name, new))
            stack.enter_context(mock.patch("dvae.models.tensor_file.save_file", saved))
            yield self

    def _counted(self, real: Any) -> Any:
        def call(path: Any, *rest: Any, **options: Any) -> Any:
            if self.holds(path):
                self.check(path)
            return real(path, *rest, **options)

        return call

    def _synced(self, real: Any) -> Any:
        def call(descriptor: Any) -> None:
            self.check()
            real(descriptor)

        return call


class _Raw(io.FileIO):
    def __init__(self, file: Any, mode: str, disk: Disk) -> None:
        self.disk = disk
        super().__init__(file, mode)

    def write(self, content: Any, /) -> int:
        if self.disk.strikes():
            super().write(bytes(content)[: len(content) // 2])
            raise self.disk.error(self.name)
        return super().write(content)
