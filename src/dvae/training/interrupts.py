"""Ctrl-C and SIGTERM, heard at a moment that suits."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from dvae.processes import as_ctrl_c

Handler = Callable[[int, FrameType | None], Any] | int | None

PLAIN: dict[int, tuple[Handler, ...]] = {
    signal.SIGINT: (signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler),
    signal.SIGTERM: (signal.SIG_DFL, as_ctrl_c),
}


@contextlib.contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; a second one raises `KeyboardInterrupt` at once.

    Outside the main thread nothing is changed, nor is a signal that the program handles itself.
    """
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: signal.getsignal(number) for number, plain in PLAIN.items()}
        before = {number: handler for number, handler in before.items() if handler in PLAIN[number]}
    for number in before:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
