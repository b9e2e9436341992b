"""Scoring candidates: a failing or endless score is an outcome like any other, and the search goes on.

A score is a function of a `Dag`, or of a `Dag` and `report`: a long evaluation may call `report(step, value)` with how
well it goes so far, and is left (`PrunedError`) when it goes worse than most did. An object with a method `many` is
given whole rounds: `many(dags)` returns one number per DAG, or an exception in place of a number where one failed.
"""

from __future__ import annotations

import inspect
import math
import reprlib
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dvae.dag import Dag
from dvae.errors import PrunedError
from dvae.studies.ledger import Outcome

Report = Callable[[int, float], None]
Score = Callable[..., float]

MAX_SCORE = 1e50  # beyond, sums of squares and products of scores soon leave what a float can hold
MIN_RIVALS = 5  # finished candidates before any is left
TOO_EARLY = 1 / 3  # of the steps


def outcome_of(score: Score, dag: Dag, report: Report, timeout: float | None = None) -> Outcome:
    """What `score` says of `dag`; with a `timeout` (seconds) it is left alone after that, and counts as failed.

    This is for scores in this process. `IsolatedScore` ends those that take too long.
    """
    if timeout is None:
        return _scored(score, dag, report)
    found: list[Outcome] = []
    # Nothing can stop a thread: one that never ends costs a core until the process does.
    thread = threading.Thread(target=lambda: found.append(_scored(score, dag, report)), daemon=True)
    thread.start()
    thread.join(timeout)
    return found[0] if found else Outcome(error=f"timed out after {timeout:g} s")


def outcomes_of(score: Any, dags: Sequence[Dag]) -> list[Outcome] | None:
    """What `score.many` says of `dags`; None where it fails as a whole, and each must be asked for by itself."""
    try:
        values = list(score.many(dags))
    except (Exception, SystemExit):  # one bad DAG must not cost the others their scores
        return None
    return [outcome_from(value) for value in values] if len(values) == len(dags) else None


def outcome_from(value: Any) -> Outcome:
    """What a score returned, as an outcome: a finite number, or why it is none."""
    if isinstance(value, PrunedError):
        return Outcome(error=str(value) or "pruned", pruned=True)
    if isinstance(value, SystemExit):
        return Outcome(error=f"the score called sys.exit({'' if value.code is None else reprlib.repr(value.code)})")
    if isinstance(value, BaseException):
        return Outcome(error=f"{type(value).__name__}: {value}")
    if isinstance(value, Mapping):
        return _values(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return Outcome(error=f"the score is {reprlib.repr(value)}, a {type(value).__name__}; it must be a number")
    if not math.isfinite(number):
        return Outcome(error=f"the score is {number}")
    if abs(number) > MAX_SCORE:
        return Outcome(error=f"the score is {number:g}; scores are at most {MAX_SCORE:g} in size")
    return Outcome(score=number)


def _values(value: Mapping[Any, Any]) -> Outcome:
    """What a score that gives several values by name returned."""
    found = {str(name): outcome_from(number) for name, number in value.items()}
    for name, outcome in found.items():
        if outcome.score is None:
            return Outcome(error=f"of {name}: {outcome.error}")
    return Outcome(values={name: outcome.score for name, outcome in found.items() if outcome.score is not None})


def _scored(score: Score, dag: Dag, report: Report) -> Outcome:
    try:
        return outcome_from(score(dag, report) if takes_report(score) else score(dag))
    except (Exception, SystemExit) as error:  # whatever a user's function raises is the trial's fate, not the search's
        return outcome_from(error)


def takes_report(score: Score) -> bool:
    """Whether a score has a second argument for its reports."""
    try:
        parameters = inspect.signature(score).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(required) >= 2


def goes_badly(
    step: int, own: Mapping[int, float], others: Iterable[Mapping[int, float]], higher_is_better: bool = True
) -> bool:
    """Whether the best of `own` reports up to `step` is worse than the median of the best of `others` by then.

    Others are finished trials. In the first third of the longest of them it is too early to tell: what is measured
    there rises and falls.
    """
    best = max if higher_is_better else min
    known = [values for values in others if values]
    rivals = [best(values[at] for at in values if at <= step) for values in known if min(values) <= step]
    if len(rivals) < MIN_RIVALS or step < TOO_EARLY * max(max(values) for values in known):
        return False
    median, reached = statistics.median(rivals), best(value for at, value in own.items() if at <= step)
    return reached < median if higher_is_better else reached > median
