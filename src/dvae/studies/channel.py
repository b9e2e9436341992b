"""Messages between a search and the processes that score for it: one JSON object a line, over a local socket."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from typing import Any

CHUNK = 1 << 16


class Channel:
    """One end of a conversation; it is no longer than the process at either end lives."""

    def __init__(self, end: socket.socket) -> None:
        self.end = end
        self._read = bytearray()

    def send(self, message: dict[str, Any]) -> None:
        """Says something; `OSError` where nobody listens any more."""
        self.end.settimeout(None)
        self.end.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next message; None where the other end is gone, `TimeoutError` where it says nothing in time."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (end := self._read.find(b"\n")) < 0:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise TimeoutError
            self.end.settimeout(left)
            try:
                chunk = self.end.recv(CHUNK)
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._read += chunk
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        """Ends the conversation."""
        with contextlib.suppress(OSError):
            self.end.shutdown(socket.SHUT_RDWR)  # wakes a thread that listens here
        self.end.close()
