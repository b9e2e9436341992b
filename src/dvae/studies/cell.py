"""A cell: the process in which a score runs, so that whatever kills it kills nothing else.

It is told how to make its score, then given DAGs, one or a round at a time, and answers with outcomes. It ends with the
process that keeps it, and takes the processes that its score has started with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dvae.dag.jsonl import parse_line
from dvae.errors import DvaeError, PrunedError
from dvae.studies.channel import Channel
from dvae.studies.ledger import Outcome
from dvae.studies.scoring import Score, outcome_from, outcome_of, outcomes_of

MAX_REASON = 2_000  # characters of an error that are kept
PARENT_DEATH = 1  # PR_SET_PDEATHSIG of Linux's prctl
FIRST_TO_GO = "300"  # where memory runs out, the system should end a score before the search

Make = Callable[[Mapping[str, Any]], Score]


def live(work: Channel, keeper: int, make: Make) -> None:
    """All that a cell does, from its first breath; `keeper` is the process that started it."""
    os.setsid()  # whatever its score starts is in its group, and ends with it
    _end_with(keeper)
    os.dup2(2, 1)  # standard output is the search's own
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(FIRST_TO_GO)
    order = work.receive()
    if order is None:
        return
    try:
        score = make(order)
    except Exception as error:  # said to whoever asked for this score
        work.send({"refused": _short(str(error)), "kind": type(error).__name__})
        return
    work.send({"ready": True, "rounds": hasattr(score, "many")})
    while (asked := work.receive()) is not None:
        work.send(_answer(score, asked, work))


def settled(order: Mapping[str, Any]) -> Mapping[str, Any]:
    """Takes over the surroundings of the process that asks: its folder, its environment and where it imports from."""
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[:] = order["path"]
    return order


def _answer(score: Score, asked: Mapping[str, Any], work: Channel) -> dict[str, Any]:
    if "dags" in asked:
        together = outcomes_of(score, [parse_line(text, "a candidate").dag for text in asked["dags"]])
        return {"outcomes": None if together is None else [_plain(each) for each in together]}
    dag = parse_line(asked["dag"], "a candidate").dag

    def report(step: int, value: float) -> None:
        work.send({"report": [int(step), float(value)]})
        heard = work.receive()
        if heard is None:
            os._exit(1)  # nobody waits for the score any more
        if "leave" in heard:
            raise PrunedError(heard["leave"])

    try:
        return {"outcome": _plain(outcome_of(score, dag, report))}
    except BaseException as error:  # a cell has no other purpose: even this is its candidate's fate
        return {"outcome": _plain(outcome_from(error))}


def _plain(outcome: Outcome) -> list[Any]:
    return [outcome.score, None if outcome.error is None else _short(outcome.error), outcome.pruned, outcome.values]


def _short(text: str) -> str:
    return text if len(text) <= MAX_REASON else text[:MAX_REASON] + " ..."


def _end_with(keeper: int) -> None:
    """Lets the system end this process when its keeper does; where it cannot, a thread watches."""
    try:
        bound = ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL) == 0
    except (AttributeError, OSError, TypeError):
        bound = False
    if os.getppid() != keeper:
        os._exit(1)
    if not bound:
        threading.Thread(target=_watch, args=(keeper,), daemon=True).start()


def _watch(keeper: int) -> None:
    pause = threading.Event()
    while os.getppid() == keeper:
        pause.wait(1.0)
    os.killpg(0, signal.SIGKILL)


def refusal(heard: Mapping[str, Any]) -> DvaeError:
    """The error that kept a cell from making its score, as it was raised there."""
    from dvae import errors

    kind = getattr(errors, str(heard.get("kind")), errors.StudyError)
    usual = isinstance(kind, type) and issubclass(kind, DvaeError) and kind is not errors.MisfitError
    return kind(heard["refused"]) if usual else errors.StudyError(heard["refused"])
