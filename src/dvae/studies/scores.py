"""Scores by name: `package.module:name`, those of installed packages (entry points `dvae.scores`), or a task's own.

`module:Class?key=value&other=2` makes an instance with these arguments; numbers, `true` and `false` are read as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from dvae.dag import Dag
from dvae.errors import ConfigError, DvaeError, MissingError, StudyError
from dvae.registry import Registry
from dvae.studies.identity import score_name
from dvae.studies.isolated import IsolatedScore
from dvae.studies.scoring import Score
from dvae.tasks import Task


def _score(name: str, thing: Any) -> Any:
    if not callable(thing):
        raise ConfigError(f"the score {name!r} is {type(thing).__name__}, not a function of a Dag or a class of such")
    return thing


SCORES: Registry[Any] = Registry("score", "dvae.scores", _score)


class TaskScore:
    """A task's own score, of one DAG or of many at once."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __call__(self, dag: Dag) -> float:
        return self.task.score(dag)

    def many(self, dags: Sequence[Dag]) -> list[float]:
        """The scores of many DAGs at once."""
        return self.task.scores(dags)


class ResolvedScore(NamedTuple):
    """A score and the name that is part of a study's identity; None is the task's own."""

    name: str | None
    function: Score | IsolatedScore


def resolve_score(score: Any, task: Task | None) -> ResolvedScore:
    """A score from None (the task's own), from a name, or from a function or an object."""
    if isinstance(score, ResolvedScore):
        return score
    if isinstance(score, str):
        return ResolvedScore(score, named_score(score))
    if task is not None and (score is None or score == task.score):
        task.scores([])  # a task without scores says so before anything begins
        return ResolvedScore(None, TaskScore(task))
    return ResolvedScore(score_name(score), _score(score_name(score), score))


def named_score(name: str) -> Score:
    """The score called `name`; a class is made with the arguments that follow a question mark."""
    path, _, text = name.partition("?")
    arguments = _arguments(name, text)
    try:
        found = SCORES.get(path)
    except MissingError as error:
        raise StudyError(f"{error} and cannot be imported from the current folder") from None
    except ConfigError as error:
        raise StudyError(str(error)) from None
    if not isinstance(found, type):
        function: Score = partial(found, **arguments) if arguments else found
        return function
    try:
        made: Score = found(**arguments)
    except DvaeError:
        raise
    except Exception as error:  # whatever a foreign class raises while it is made
        raise StudyError(f"the score {name!r} cannot be made: {type(error).__name__}: {error}") from None
    if not callable(made):
        raise StudyError(f"the score {name!r} makes a {type(made).__name__}, which cannot be called with a Dag")
    return made


def _arguments(name: str, text: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for part in filter(None, text.split("&")):
        key, equals, value = part.partition("=")
        if not equals or not key.isidentifier():
            raise StudyError(f"the score {name!r} has {part!r} where key=value is expected")
        arguments[key] = _value(value)
    return arguments


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
