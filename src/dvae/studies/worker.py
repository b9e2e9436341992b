"""A worker takes waiting candidates from a ledger, scores them and writes down what came out."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dvae.errors import DvaeError, PrunedError
from dvae.strategies.objectives import Objectives
from dvae.studies.isolated import ATTEMPTS, AbandonedError, IsolatedScore
from dvae.studies.ledger import Ledger, Outcome, Trial
from dvae.studies.scores import TaskScore
from dvae.studies.scoring import Score, goes_badly, outcome_of, outcomes_of
from dvae.studies.values import VALUES, judged

POLL_SECONDS = 0.5
HEARTBEAT_SECONDS = 10
MISSED_HEARTBEATS = 3  # before a worker counts as dead
MAX_LOST = 10  # workers that die with a candidate whose score cannot be why


@dataclass(frozen=True)
class Work:
    """How candidates are scored."""

    score: Score | IsolatedScore
    timeout: float | None = None  # seconds
    prune: bool = False  # leave candidates that report less than the median of the others
    higher_is_better: bool = True
    heartbeat: float = HEARTBEAT_SECONDS
    name: str = field(default_factory=lambda: f"{platform.node()}:{os.getpid()}")
    objectives: Objectives | None = None  # of a score that gives several values

    @property
    def scores_rounds(self) -> bool:
        """Whether the score takes many DAGs at once, and nothing is asked for that needs them one by one."""
        many = self.score.takes_rounds if isinstance(self.score, IsolatedScore) else hasattr(self.score, "many")
        return many and self.timeout is None and not self.prune

    @property
    def max_lost(self) -> int:
        """How many workers a candidate may cost: few where its score runs in them and may be what kills them."""
        return MAX_LOST if isinstance(self.score, IsolatedScore | TaskScore) else ATTEMPTS


def work_once(ledger: Ledger, work: Work) -> Trial | None:
    """Scores one waiting candidate; None where none waits."""
    trial = _taken(ledger, work)
    if trial is None:
        return None
    _score(ledger, [trial], work, lambda: [_single(ledger, trial, work)])
    return trial


def work_round(ledger: Ledger, work: Work) -> list[Trial]:
    """Scores all waiting candidates at once, by a score with a method `many`."""
    trials = list(iter(lambda: _taken(ledger, work), None))

    def outcomes() -> list[Outcome]:
        dags = [trial.dag for trial in trials]
        score = work.score
        together = score.outcomes(dags) if isinstance(score, IsolatedScore) else outcomes_of(score, dags)
        return [_single(ledger, trial, work) for trial in trials] if together is None else together

    if trials:
        _score(ledger, trials, work, outcomes)
    return trials


def _taken(ledger: Ledger, work: Work) -> Trial | None:
    """A waiting candidate; one that has cost too many workers is recorded as failed, and the next is taken."""
    while (trial := ledger.take(work.name)) is not None and trial.lost >= work.max_lost:
        error = f"{trial.lost} workers were not heard of again after they had begun with it"
        ledger.finish(trial.number, Outcome(error=error), {})
    return trial


def _score(ledger: Ledger, trials: Sequence[Trial], work: Work, outcomes: Callable[[], list[Outcome]]) -> None:
    """Writes down what `outcomes` finds for `trials`; interrupted (Ctrl-C, the end of the search), they wait again."""
    started = time.monotonic()
    try:
        with _heartbeats(ledger, [trial.number for trial in trials], work.heartbeat):
            found = outcomes()
    except (KeyboardInterrupt, AbandonedError):
        for trial in trials:
            ledger.release(trial.number)
        raise
    seconds = round((time.monotonic() - started) / len(trials), 6)
    for trial, outcome in zip(trials, found, strict=True):
        result = judged(outcome, work.objectives)
        values = {} if result.values is None else {VALUES: dict(result.values)}
        ledger.finish(trial.number, result, {"seconds": seconds, **values})


def _single(ledger: Ledger, trial: Trial, work: Work) -> Outcome:
    report = _report(ledger, trial.number, work)
    if isinstance(work.score, IsolatedScore):
        return work.score.outcome(trial.dag, report, work.timeout)
    return outcome_of(work.score, trial.dag, report, work.timeout)


def work_on(ledger: Ledger, work: Work, *, stop: Callable[[int, float], bool]) -> int:
    """Works until `stop(trials done, seconds idle)`; how many were scored."""
    done, idle_since = 0, time.monotonic()
    with released_if_interrupted(ledger, work):
        while not stop(done, time.monotonic() - idle_since):
            if work_once(ledger, work) is None:
                time.sleep(POLL_SECONDS)
            else:
                done, idle_since = done + 1, time.monotonic()
    return done


@contextlib.contextmanager
def released_if_interrupted(ledger: Ledger, work: Work) -> Iterator[None]:
    """After Ctrl-C, whatever this process has taken waits again, wherever the interrupt came."""
    try:
        yield
    except KeyboardInterrupt:
        for trial in ledger.trials():
            if trial.state == "running" and trial.attributes.get("worker") == work.name:
                ledger.release(trial.number)
        raise


def _report(ledger: Ledger, number: int, work: Work) -> Callable[[int, float], None]:
    own: dict[int, float] = {}

    def report(step: int, value: float) -> None:
        ledger.report(number, step, value)
        own[step] = value
        if work.prune and goes_badly(step, own, ledger.reports_of_finished(), work.higher_is_better):
            raise PrunedError(f"at step {step}, {value:g} is worse than the median of the others")

    return report


@contextlib.contextmanager
def _heartbeats(ledger: Ledger, numbers: Sequence[int], every: float) -> Iterator[None]:
    """Says from time to time, on a thread of its own, that the worker of these trials lives."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(every):
            for number in numbers:
                with contextlib.suppress(DvaeError):  # a storage that does not answer now may do so in time
                    ledger.alive(number)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
