"""A worker takes waiting candidates from a ledger, scores them and writes down what came out."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dvae.errors import PrunedError
from dvae.studies.ledger import Ledger, Trial
from dvae.studies.scoring import Score, goes_badly, outcome_of

POLL_SECONDS = 0.5
HEARTBEAT_SECONDS = 10


@dataclass(frozen=True)
class Work:
    """How candidates are scored."""

    score: Score
    timeout: float | None = None  # seconds
    prune: bool = False  # leave candidates that report less than the median of the others
    higher_is_better: bool = True
    heartbeat: float = HEARTBEAT_SECONDS
    name: str = field(default_factory=lambda: f"{platform.node()}:{os.getpid()}")


def work_once(ledger: Ledger, work: Work) -> Trial | None:
    """Scores one waiting candidate; None where none waits."""
    trial = ledger.take(work.name)
    if trial is None:
        return None
    started = time.monotonic()
    with _heartbeats(ledger, trial.number, work.heartbeat):
        outcome = outcome_of(work.score, trial.dag, _report(ledger, trial.number, work), work.timeout)
    ledger.finish(trial.number, outcome, {"seconds": round(time.monotonic() - started, 6)})
    return trial


def work_on(ledger: Ledger, work: Work, *, stop: Callable[[int, float], bool]) -> int:
    """Works until `stop(trials done, seconds idle)`; how many were scored."""
    done, idle_since = 0, time.monotonic()
    while not stop(done, time.monotonic() - idle_since):
        if work_once(ledger, work) is None:
            time.sleep(POLL_SECONDS)
        else:
            done, idle_since = done + 1, time.monotonic()
    return done


def _report(ledger: Ledger, number: int, work: Work) -> Callable[[int, float], None]:
    own: dict[int, float] = {}

    def report(step: int, value: float) -> None:
        ledger.report(number, step, value)
        own[step] = value
        if work.prune and goes_badly(step, own, ledger.reports_of_finished(), work.higher_is_better):
            raise PrunedError(f"at step {step}, {value:g} is worse than the median of the others")

    return report


@contextlib.contextmanager
def _heartbeats(ledger: Ledger, number: int, every: float) -> Iterator[None]:
    """Says from time to time, on a thread of its own, that the worker lives."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(every):
            ledger.alive(number)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
