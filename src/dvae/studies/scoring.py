"""Scoring candidates: a failing or endless score is an outcome like any other, and the search goes on.

A score is a function of a `Dag`, or of a `Dag` and `report`: a long evaluation may call `report(step, value)` with how
well it goes so far, and is left (`PrunedError`) when it goes worse than most did.
"""

from __future__ import annotations

import importlib
import inspect
import math
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dvae.dag import Dag
from dvae.errors import PrunedError, StudyError
from dvae.studies.ledger import Outcome

Report = Callable[[int, float], None]
Score = Callable[..., float]

LEAST_RIVALS = 5  # finished candidates before any is left
TOO_EARLY = 1 / 3  # of the steps


def outcome_of(score: Score, dag: Dag, report: Report, timeout: float | None = None) -> Outcome:
    """What `score` says of `dag`; with a `timeout` (seconds) it is left alone after that, and counts as failed."""
    if timeout is None:
        return _scored(score, dag, report)
    found: list[Outcome] = []
    # Nothing can stop a thread: one that never ends costs a core until the process does. Workers are processes.
    thread = threading.Thread(target=lambda: found.append(_scored(score, dag, report)), daemon=True)
    thread.start()
    thread.join(timeout)
    return found[0] if found else Outcome(error=f"timed out after {timeout:g} s")


def _scored(score: Score, dag: Dag, report: Report) -> Outcome:
    try:
        value = score(dag, report) if takes_report(score) else score(dag)
        number = float(value)
    except PrunedError as reason:
        return Outcome(error=str(reason) or "pruned", pruned=True)
    except Exception as error:  # whatever a user's function raises is the trial's fate, not the search's
        return Outcome(error=f"{type(error).__name__}: {error}")
    if not math.isfinite(number):
        return Outcome(error=f"the score is {number}")
    return Outcome(score=number)


def takes_report(score: Score) -> bool:
    """Whether a score has a second argument for its reports."""
    try:
        parameters = inspect.signature(score).parameters.values()
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [each for each in parameters if each.kind in places and each.default is inspect.Parameter.empty]
    return len(required) >= 2


def named_score(name: str) -> Score:
    """The function `package.module:name`. A class is made without arguments, and its instance called."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise StudyError(f"{name!r} names no score: give package.module:function")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise StudyError(f"the score {name!r} cannot be imported: {error}") from None
    if isinstance(found, type):
        found = found()
    if not callable(found):
        raise StudyError(f"the score {name!r} is no function")
    score: Score = found
    return score


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
    if len(rivals) < LEAST_RIVALS or step < TOO_EARLY * max(max(values) for values in known):
        return False
    median, reached = statistics.median(rivals), best(value for at, value in own.items() if at <= step)
    return reached < median if higher_is_better else reached > median
