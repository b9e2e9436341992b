"""How far a loop is: a bar on a terminal, a line now and then in a log file, nothing elsewhere.

All of it goes to standard error, so that standard output stays the program's answer.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

T = TypeVar("T")

SECONDS_BETWEEN_REDRAWS = 0.1
SECONDS_BETWEEN_LINES = 10.0


class Display(Protocol):
    """Where progress is shown; `Progress` calls `show` at most once in `interval` seconds."""

    interval: float

    def start(self) -> None: ...
    def show(self, progress: Progress) -> None: ...
    def stop(self, progress: Progress) -> None: ...


class Progress:
    """Counts the steps of one loop and shows them, together with named values such as the loss."""

    def __init__(
        self,
        description: str,
        display: Display | None,
        total: float | None = None,
        unit: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.description, self.total, self.unit = description, total, unit
        self.done: float = 0
        self.skipped: float = 0  # done before this loop began
        self.fields: dict[str, object] = {}
        self._display, self._clock = display, clock
        self._started = self._shown = clock()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    @property
    def remaining(self) -> float | None:
        """Seconds that the rest will take at the pace so far; None where that cannot be known."""
        here = self.done - self.skipped
        if self.total is None or here <= 0:
            return None
        return max(self.total - self.done, 0) * self.elapsed / here

    def skip(self, steps: float) -> None:
        """Counts steps that an earlier run took: they are done, but say nothing of this one's pace."""
        self.skipped += steps
        self.done += steps

    def update(self, advance: float = 1, **fields: object) -> None:
        """Counts `advance` further steps; `fields` replace the values shown under the same names."""
        self.done += advance
        if self._display is None:
            return
        self.fields.update(fields)
        now = self._clock()
        if now - self._shown >= self._display.interval:
            self._shown = now
            self._display.show(self)

    def text(self) -> str:
        """The rate, if there is a unit, and the named values, as words."""
        parts = [_field_text(name, value) for name, value in self.fields.items()]
        here = self.done - self.skipped
        if self.unit is not None and here > 0 and self.elapsed > 0:
            parts.insert(0, f"{_number(here / self.elapsed)} {self.unit}/s")
        return ", ".join(parts)

    def __enter__(self) -> Self:
        self._started = self._shown = self._clock()
        if self._display is not None:
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop(self)


class LineDisplay:
    """One plain line every few seconds and one at the end, for logs."""

    interval = SECONDS_BETWEEN_LINES

    def start(self) -> None:
        pass

    def show(self, progress: Progress) -> None:
        remaining = progress.remaining
        self._print(progress, "" if remaining is None else f", {_duration(remaining)} left")

    def stop(self, progress: Progress) -> None:
        finished = progress.total is None or progress.done >= progress.total
        self._print(progress, "" if finished else ", stopped")

    def _print(self, progress: Progress, note: str) -> None:
        total = "" if progress.total is None else f"/{_number(progress.total)}"
        text = progress.text()
        print(
            f"{progress.description}: {_number(progress.done)}{total} in {_duration(progress.elapsed)}{note}"
            + (f"; {text}" if text else ""),
            file=sys.stderr,
            flush=True,
        )


class BarDisplay:
    """A bar drawn by rich, which also ticks the clock while a step takes long."""

    interval = SECONDS_BETWEEN_REDRAWS

    def __init__(self, description: str, total: float | None) -> None:
        from rich import progress

        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TextColumn("ETA"),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[text]}", markup=False),
            console=stderr_console(),
            refresh_per_second=4,
            # A bar on the terminal must not pull a redirected standard output to the terminal too.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._bar.add_task(description, total=total, text="")

    def start(self) -> None:
        self._bar.start()

    def show(self, progress: Progress) -> None:
        self._bar.update(self._task, completed=progress.done, text=progress.text())

    def stop(self, progress: Progress) -> None:
        self.show(progress)
        self._bar.stop()


def progress_bar(
    description: str, total: float | None = None, unit: str | None = None, enabled: bool | None = None
) -> Progress:
    """A `Progress` to be used in a `with` statement.

    `enabled=None` shows a bar if standard error is a terminal; `True` shows plain lines where it is not;
    `False` shows nothing.
    """
    terminal = sys.stderr.isatty()
    display: Display | None = None
    if terminal and enabled is not False:
        display = BarDisplay(description, total)
    elif enabled:
        display = LineDisplay()
    return Progress(description, display, total, unit)


def track(
    iterable: Iterable[T],
    description: str,
    total: float | None = None,
    unit: str = "it",
    enabled: bool | None = None,
) -> Iterator[T]:
    """The items of `iterable`, counted on a progress bar."""
    if total is None and isinstance(iterable, Sized):
        total = len(iterable)
    with progress_bar(description, total, unit, enabled) as bar:
        for item in iterable:
            yield item
            bar.update()


@functools.cache
def stderr_console() -> Console:
    """The one console on standard error: what is logged through it appears above a running bar."""
    from rich.console import Console

    return Console(stderr=True)


def _field_text(name: str, value: object) -> str:
    if name.endswith("_per_second") and isinstance(value, int | float):
        return f"{_number(value)} {name.removesuffix('_per_second').replace('_', ' ')}/s"
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{name.replace('_', ' ')} {shown}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"
