"""Who proposes: one process at a time may search with a study, since two would undo each other's rounds.

A process signs with its number, its start time and the machine whose numbers these are, so that a number which the
system has given to another process blocks nobody. Of a process on another machine only its signs of life are seen, by
a clock that need not agree with ours: where it seems gone, we watch for another sign before we believe it.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from dvae.errors import DvaeError, StudyError
from dvae.processes import process_space, process_start
from dvae.studies.ledger import Ledger

PROPOSER = "dvae:proposer"  # who asks, and when it last said so
SIGN_SECONDS = 5.0  # between signs of life
GONE_SECONDS = 30.0  # without one, a process on another machine counts as gone
WATCH_SECONDS = 12.0  # for a sign of one that seems gone: more than two of them

_here: set[str] = set()  # the tokens of searches that run in this process


class Presence:
    """Signs in the ledger as the only proposer, as long as the `with` statement lasts.

    With `take_over` it signs whoever else has; that one ends at its next step, and says so.
    """

    def __init__(self, ledger: Ledger, *, take_over: bool = False) -> None:
        self.ledger, self.take_over, self.token = ledger, take_over, secrets.token_hex(8)
        self.me = {
            "host": platform.node(),
            "space": process_space(),
            "pid": os.getpid(),
            "started": process_start(os.getpid()),
            "token": self.token,
        }
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Presence:
        silent = None if self.take_over else self._silent()
        found: list[bool] = []  # whether the study was free, by the transaction that signed

        def free(there: Any) -> bool:
            near = isinstance(there, dict) and self._is_near(there)
            found[:] = [self.take_over or there in (None, silent) or (near and not self._lives(there))]
            return found[0]

        other = self._sign(free)  # reading and signing are one transaction: of two that try, one finds it free
        if not found[0]:
            raise StudyError(
                f"{_named(other)} is searching with the study {self.ledger.name!r} already; if it is not, add "
                "--take-over (in Python: take_over=True)"
            )
        _here.add(self.token)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        _here.discard(self.token)
        with contextlib.suppress(DvaeError):  # the storage is gone: whatever ended the search is the news
            self.ledger.claim(PROPOSER, None, self._is_me)

    def check(self) -> None:
        """Raises `StudyError` where another has taken over, as after this process was suspended for long."""
        other = self.ledger.description().get(PROPOSER)
        if not self._is_me(other):
            whose = "another process" if other is None else _named(other)
            raise StudyError(f"{whose} has taken over the study {self.ledger.name!r} from this one")

    def _sign(self, free: Callable[[Any], bool]) -> Any:
        return self.ledger.claim(PROPOSER, {**self.me, "seen": time.time()}, free)

    def _beat(self) -> None:
        while not self.ended.wait(SIGN_SECONDS):
            with contextlib.suppress(DvaeError):  # a storage that does not answer now may do so in time
                self._sign(self._is_me)

    def _is_me(self, there: Any) -> bool:
        return isinstance(there, dict) and there.get("token") == self.token

    def _silent(self) -> Any:
        """The sign of a process elsewhere that seems gone, if no other followed while we watched."""
        there = self.ledger.description().get(PROPOSER)
        if there is None or (isinstance(there, dict) and self._is_near(there)) or self._lives(there):
            return None
        deadline = time.monotonic() + WATCH_SECONDS
        while time.monotonic() < deadline:
            time.sleep(min(0.5, WATCH_SECONDS / 4))
            if self.ledger.description().get(PROPOSER) != there:
                return None
        return there

    def _is_near(self, other: dict[str, Any]) -> bool:
        """Whether its process number is one of ours: containers of one name have their own, and every boot has."""
        return other.get("host") == self.me["host"] and other.get("space", self.me["space"]) == self.me["space"]

    def _lives(self, other: Any) -> bool:
        try:
            if self._is_near(other):
                if other["pid"] == self.me["pid"]:
                    return other.get("token") in _here
                started = process_start(int(other["pid"]))
                # Another start: the number belongs to another process now.
                return started is not None and other.get("started", started) == started
            # A clock ahead of ours must not block for ever.
            return abs(time.time() - float(other["seen"])) < GONE_SECONDS
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return False  # nobody can have signed so


def _named(other: Any) -> str:
    known = other if isinstance(other, dict) else {}
    return f"process {known.get('pid', '?')} on {known.get('host', '?')}"
