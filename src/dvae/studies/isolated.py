"""A score in processes of its own: it may crash, exit, hang or eat all memory, and costs its candidate alone."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dvae.dag import Dag
from dvae.dag.jsonl import format_line
from dvae.errors import PrunedError, StudyError
from dvae.studies.cell import refusal
from dvae.studies.channel import Channel
from dvae.studies.keepers import Keeper, replace_shared, shared_keeper
from dvae.studies.ledger import Outcome
from dvae.studies.scoring import Report, Score

ATTEMPTS = 3  # at a candidate whose process dies
FATE_SECONDS = 5.0  # to be told how a cell died

T = TypeVar("T")


class AbandonedError(Exception):
    """A score that nobody waits for any more: its search has ended."""


class IsolatedScore:
    """A score by an order (`{"score": NAME}`, `{"task": SPEC}`), or one of this process that its keeper inherits.

    Several threads may ask: each gets a cell, which is kept for the next candidate.
    """

    def __init__(self, score: dict[str, Any] | Score, *, attempts: int = ATTEMPTS, rounds: bool = True) -> None:
        self.attempts, self.closed = attempts, False
        self._order = score if isinstance(score, dict) else {}
        self._local = None if isinstance(score, dict) else score
        self._keeper = shared_keeper() if self._local is None else Keeper(self._local)
        self._lock = threading.Lock()
        self._idle: list[_Cell] = []
        self._all: set[_Cell] = set()
        self._rounds, self._known = rounds, False

    def start(self) -> IsolatedScore:
        """Makes the score once; whatever keeps it from being made is raised."""
        try:
            self._give_back(self._take())
        except _DiedError as death:
            self.close()
            raise StudyError(f"the score cannot be made: {death}") from None
        except BaseException:
            self.close()
            raise
        return self

    @property
    def takes_rounds(self) -> bool:
        """Whether the score takes many DAGs at once, and is to be given them."""
        return self._rounds and self._known

    def __call__(self, dag: Dag) -> float:
        outcome = self.outcome(dag, lambda step, value: None)
        if outcome.score is None:
            raise StudyError(outcome.error or "no score")
        return outcome.score

    def outcome(self, dag: Dag, report: Report, timeout: float | None = None) -> Outcome:
        """What the score says of `dag`; where its process dies, it is asked again, but not for ever."""
        reason = ""
        for _ in range(self.attempts):
            try:
                return self._ask(lambda cell: cell.single(dag, report, timeout))
            except _DiedError as death:
                reason = str(death)
        times = f", in each of {self.attempts} attempts" if self.attempts > 1 else ""
        return Outcome(error=f"{reason}{times}")

    def outcomes(self, dags: Sequence[Dag]) -> list[Outcome] | None:
        """What the score says of a whole round; None where each must be asked for by itself."""
        try:
            return self._ask(lambda cell: cell.together(dags))
        except _DiedError:
            return None

    def close(self) -> None:
        """Ends all cells; threads that wait for one get `AbandonedError`."""
        with self._lock:
            self.closed = True
            cells = list(self._all)
        for cell in cells:
            cell.end()
        if self._local is not None:
            self._keeper.close()

    def _ask(self, work: Callable[[_Cell], T]) -> T:
        cell = self._take()
        try:
            answer = work(cell)
        except BaseException as error:
            self._drop(cell)
            if self.closed and isinstance(error, _DiedError | OSError | ValueError):
                raise AbandonedError from None
            raise
        if cell.over:
            self._drop(cell)
        else:
            self._give_back(cell)
        return answer

    def _take(self) -> _Cell:
        with self._lock:
            if self.closed:
                raise AbandonedError
            if self._idle:
                return self._idle.pop()
        try:
            channels = self._keeper.start()
        except OSError:  # the keeper has died, as a process may
            self._keeper = replace_shared(self._keeper) if self._local is None else Keeper(self._local)
            channels = self._keeper.start()
        cell = _Cell(*channels)
        with self._lock:
            self._all.add(cell)
        try:
            self._known = cell.begin(self._surroundings())
        except BaseException:
            self._drop(cell)
            raise
        return cell

    def _surroundings(self) -> dict[str, Any]:
        return {**self._order, "folder": str(Path.cwd()), "environment": dict(os.environ), "path": sys.path}

    def _give_back(self, cell: _Cell) -> None:
        with self._lock:
            self._idle.append(cell)

    def _drop(self, cell: _Cell) -> None:
        with self._lock:
            self._all.discard(cell)
        cell.end()


class _DiedError(Exception):
    """A cell's process is dead; the message says of what."""


class _Cell:
    """One process that scores, as its search sees it."""

    def __init__(self, work: Channel, fate: Channel) -> None:
        self.work, self.fate, self.over = work, fate, False

    def begin(self, order: dict[str, Any]) -> bool:
        """Has the score made; whether it takes rounds."""
        heard = self._said(order)
        if "refused" in heard:
            raise refusal(heard)
        return bool(heard["rounds"])

    def single(self, dag: Dag, report: Report, timeout: float | None) -> Outcome:
        deadline = None if timeout is None else time.monotonic() + timeout
        message: dict[str, Any] = {"dag": format_line(dag)}
        while True:
            try:
                heard = self._said(message, None if deadline is None else deadline - time.monotonic())
            except TimeoutError:
                self.over = True
                return Outcome(error=f"timed out after {timeout:g} s")
            if "outcome" in heard:
                return Outcome(*heard["outcome"])
            message = _reply(report, *heard["report"])

    def together(self, dags: Sequence[Dag]) -> list[Outcome] | None:
        heard = self._said({"dags": [format_line(dag) for dag in dags]})
        plain = heard["outcomes"]
        return None if plain is None else [Outcome(*each) for each in plain]

    def end(self) -> None:
        """Kills the process; its keeper does."""
        self.work.close()
        self.fate.close()

    def _said(self, message: dict[str, Any], timeout: float | None = None) -> dict[str, Any]:
        try:
            self.work.send(message)
            heard = self.work.receive(timeout)
        except TimeoutError:
            raise
        except OSError:
            heard = None
        if heard is None:
            raise _DiedError(self._reason())
        return heard

    def _reason(self) -> str:
        try:
            told = self.fate.receive(FATE_SECONDS)
        except (OSError, TimeoutError):
            told = None
        if told is None:
            return "the score's process has died"
        status = int(told["status"])
        if status >= 0:
            return f"the score's process ended itself with exit code {status}"
        if status == -signal.SIGKILL:
            return "the score's process was killed (SIGKILL: by the system where memory runs out, or by somebody)"
        return f"the score's process died of {signal.Signals(-status).name}"


def _reply(report: Report, step: int, value: float) -> dict[str, Any]:
    """What the search says to a report: to go on, or why not."""
    try:
        report(step, value)
    except PrunedError as pruned:
        return {"leave": str(pruned)}
    return {"go on": True}
