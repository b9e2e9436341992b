"""A value that takes long to make: made once, in a thread of its own, while others go on."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Made(Generic[T]):
    """What `make` returns; whoever needs it at once waits, whoever does not can ask whether it is there."""

    def __init__(self, make: Callable[[], T], clock: Callable[[], float] = time.monotonic) -> None:
        self._make, self._clock = make, clock
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._began: float | None = None
        self._value: T | None = None
        self._error: Exception | None = None

    @property
    def is_done(self) -> bool:
        """Whether it is there, or will never be."""
        return self._done.is_set()

    @property
    def seconds(self) -> float:
        """How long it has been in the making; 0 before it was begun."""
        return 0.0 if self._began is None else self._clock() - self._began

    def start(self) -> None:
        """Begins to make it, unless somebody has."""
        if self._claim():
            threading.Thread(target=self._work, daemon=True).start()

    def get(self) -> T:
        """The value, once it is made; an error in the making is raised here."""
        if self._claim():
            self._work()
        self._done.wait()
        if self._error is not None:
            raise self._error
        assert self._value is not None
        return self._value

    def _claim(self) -> bool:
        with self._lock:
            first = self._began is None
            if first:
                self._began = self._clock()
        return first

    def _work(self) -> None:
        try:
            self._value = self._make()
        except Exception as error:  # for whoever asks for the value
            self._error = error
        finally:
            self._done.set()
