"""What a ledger holds, checked where it enters: a database may be damaged, or written by somebody else."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from dvae.dag import Dag
from dvae.dag.jsonl import parse_line
from dvae.errors import DvaeError, StudyError
from dvae.studies.ledger import FINISHED, LOST, Trial

COUNTS = ("round", "place", LOST)  # attributes that are whole numbers
MAX_COUNT = 10**12
NUMBERS = ("budget", "batch", "initial", "seed", "warm")  # in the description of a study
TEXTS = ("task", "strategy", "model", "run")
DIRECTIONS = ("maximize", "minimize")


def plain_value(text: Any, where: str) -> Any:
    """A value that was written down as JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        problem = "it is nested too deeply"
    except (TypeError, ValueError) as error:
        problem = str(error)
    raise StudyError(f"{where} is not valid JSON ({problem})") from None


def dag_from(text: Any, where: str) -> Dag:
    """The DAG of a trial."""
    if not isinstance(text, str):
        raise StudyError(f"{where}: its DAG is {type(text).__name__}, not text")
    return parse_line(text, where).dag


def trial_from(number: Any, dag: Dag, score: Any, state: Any, error: Any, attributes: Any, where: str) -> Trial:
    """A trial out of the fields of a database."""
    if not isinstance(number, int) or not 0 <= number < MAX_COUNT:
        raise StudyError(f"{where}: a trial's number is {number!r:.40}")
    if not isinstance(attributes, Mapping) or not all(isinstance(key, str) for key in attributes):
        raise StudyError(f"{where}: its attributes are not a table")
    for key in COUNTS:
        value = attributes.get(key, 0)
        if not isinstance(value, int) or not 0 <= value < MAX_COUNT:
            raise StudyError(f"{where}: its {key} is {value!r:.40}, not a whole number")
    if error is not None and not isinstance(error, str):
        raise StudyError(f"{where}: its error is {type(error).__name__}, not text")
    if not isinstance(state, str):
        raise StudyError(f"{where}: its state is {type(state).__name__}, not text")
    try:
        return Trial(number, dag, _score(score, where) if state in FINISHED else None, state, error, dict(attributes))  # type: ignore[arg-type]
    except StudyError:
        raise
    except DvaeError as problem:
        raise StudyError(f"{where}: {problem}") from None


def _score(score: Any, where: str) -> float | None:
    if score is None:
        return None
    if not isinstance(score, int | float) or not math.isfinite(score):
        raise StudyError(f"{where}: its score is {score!r:.40}, not a finite number")
    return float(score)


def about_from(about: Any, name: str) -> dict[str, Any]:
    """The description of a study, as its search wrote it."""
    if not isinstance(about, dict):
        raise StudyError(f"the study {name!r} is damaged: its description is no table")
    for kinds, keys, noun in ((int, NUMBERS, "a whole number"), (str, (*TEXTS, "score"), "text")):
        for key in keys:
            if about.get(key) is not None and not isinstance(about[key], kinds):
                raise StudyError(f"the study {name!r} is damaged: its {key} is {about[key]!r:.40}, not {noun}")
    if about.get("direction", "maximize") not in DIRECTIONS:
        raise StudyError(f"the study {name!r} is damaged: its direction is {about['direction']!r:.40}")
    known = about.get("known_before")
    if known is not None and not (isinstance(known, dict) and {"types", "edges", "score"} <= known.keys()):
        raise StudyError(f"the study {name!r} is damaged: the best score known before is no scored DAG")
    return about


def round_from(state: Any, trials: int, name: str) -> int:
    """The round that a search stands at; there cannot be more of them than trials."""
    number = state.get("round") if isinstance(state, dict) and "strategy" in state else None
    if not isinstance(number, int) or not 0 <= number <= trials:
        raise StudyError(f"the study {name!r} is damaged: where its strategy stood cannot be read")
    return number
