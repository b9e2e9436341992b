"""Who proposes: one process at a time may search with a study, since two would undo each other's rounds."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from dvae.errors import DvaeError, StudyError
from dvae.studies.ledger import Ledger

PROPOSER = "dvae:proposer"  # who asks, and when it last said so
SIGN_SECONDS = 5.0  # between signs of life
GONE_SECONDS = 30.0  # without one, a process on another machine counts as gone


class Presence:
    """Signs in the ledger as the only proposer, as long as the `with` statement lasts."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.me = {
            "host": platform.node(),
            "pid": os.getpid(),
            "started": process_start(os.getpid()),
            "token": secrets.token_hex(8),
        }
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Presence:
        other = self._sign(lambda there: there is None or not self._lives(there))
        if other is not None and self._lives(other):
            raise StudyError(
                f"process {other['pid']} on {other['host']} is searching with the study {self.ledger.name!r} already"
            )
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        with contextlib.suppress(DvaeError):  # the storage is gone: whatever ended the search is the news
            self.ledger.claim(PROPOSER, None, self._is_me)

    def check(self) -> None:
        """Raises `StudyError` where another has taken over, as after this process was suspended for long."""
        other = self.ledger.description().get(PROPOSER)
        if not self._is_me(other):
            whose = "another process" if other is None else f"process {other['pid']} on {other['host']}"
            raise StudyError(f"{whose} has taken over the study {self.ledger.name!r} from this one")

    def _sign(self, free: Any) -> Any:
        return self.ledger.claim(PROPOSER, {**self.me, "seen": time.time()}, free)

    def _beat(self) -> None:
        while not self.ended.wait(SIGN_SECONDS):
            with contextlib.suppress(DvaeError):  # a storage that does not answer now may do so in time
                self._sign(self._is_me)

    def _is_me(self, there: Any) -> bool:
        return there is not None and there.get("token") == self.me["token"]

    def _lives(self, other: dict[str, Any]) -> bool:
        if other["host"] == self.me["host"]:
            started = process_start(int(other["pid"]))
            same = "started" not in other or other["started"] == started  # else the number belongs to another now
            return other["pid"] != self.me["pid"] and started is not None and same
        return abs(time.time() - float(other["seen"])) < GONE_SECONDS  # a clock ahead of ours must not block for ever


def process_start(pid: int) -> str | None:
    """When a process began, in a form to be compared only; None where it does not run."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        except OSError:
            return None
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None
