"""Ctrl-C, heard at a moment that suits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; a second one raises `KeyboardInterrupt` at once.

    Outside the main thread, and where the program handles Ctrl-C itself, nothing is changed.
    """
    asked = threading.Event()
    plain = (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) not in plain:
        yield asked
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
