"""Keepers of cells, as a search reaches them: in a new interpreter for scores with names, a fork for others."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import warnings
import weakref
from typing import Any

from dvae.studies import keeper
from dvae.studies.channel import Channel
from dvae.studies.scoring import Score

# A new interpreter, not multiprocessing's: that one runs the user's own program a second time.
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[2]); "
    "from dvae.studies.keeper import main; main(int(sys.argv[1]))"
)
CAN_FORK = hasattr(os, "fork") and hasattr(socket, "send_fds")
END_SECONDS = 5.0  # for a keeper to end

_open: weakref.WeakSet[Keeper] = weakref.WeakSet()
_shared: Keeper | None = None
_lock = threading.Lock()


class Keeper:
    """A process that starts cells for this one, and ends with it."""

    def __init__(self, score: Score | None = None) -> None:
        self.owner = os.getpid()
        self._control, theirs = socket.socketpair()
        try:
            self._process = _interpreter(theirs) if score is None else None
            self._number = _forked(theirs, self._control, score) if score is not None else None
        finally:
            theirs.close()
        _open.add(self)

    def start(self) -> tuple[Channel, Channel]:
        """A new cell: the conversation for its work, and the one that ends it and tells how it died."""
        pairs = [socket.socketpair() for _ in range(keeper.ENDS)]
        try:
            socket.send_fds(self._control, [b"c"], [theirs.fileno() for _, theirs in pairs])
        except OSError:
            for ours, _ in pairs:
                ours.close()
            raise
        finally:
            for _, theirs in pairs:
                theirs.close()
        work, fate = (Channel(ours) for ours, _ in pairs)
        return work, fate

    def forget(self) -> None:
        """Lets go of another process's keeper, after a fork."""
        self._control.close()

    def close(self) -> None:
        """Ends the keeper, and every cell with it."""
        self._control.close()
        if os.getpid() != self.owner:
            return
        if self._process is not None:
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        elif self._number is not None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._number, 0)
        self._number = self._process = None


def shared_keeper() -> Keeper:
    """The keeper of all scores with names; it begins with the first of them, and at once: it has much to import."""
    global _shared
    with _lock:
        if _shared is None or _shared.owner != os.getpid():
            _shared = Keeper()
            atexit.register(_shared.close)
        return _shared


def replace_shared(dead: Keeper) -> Keeper:
    """Another shared keeper in place of one that has died."""
    global _shared
    with _lock:
        if _shared is dead:
            dead.close()
            _shared = None
    return shared_keeper()


def _interpreter(theirs: socket.socket) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, str(theirs.fileno()), json.dumps(sys.path)]
    return subprocess.Popen(
        command, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL, stdout=_error_output()
    )


def _error_output() -> Any:
    """Where the keeper's standard output goes: nothing but our own answers belongs on ours."""
    try:
        return os.fstat(2) and 2
    except OSError:
        return subprocess.DEVNULL


def _forked(theirs: socket.socket, ours: socket.socket, score: Score) -> int:
    """A keeper that has the score from this process, whatever it refers to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child takes up none of this process's threads
        number = os.fork()
    if number:
        return number
    try:
        ours.close()
        for each in list(_open):
            each.forget()
        if "torch" in sys.modules:  # threads of the parent's are not here: waiting for them would last for ever
            sys.modules["torch"].set_num_threads(1)
        os.setsid()
        keeper.keep(theirs, lambda _: score)
    finally:
        os._exit(0)
