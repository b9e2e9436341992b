"""What a worker believes of a study: its DAGs, not its word on which code to run.

Whoever can write to a study's database can write any name into it, and to import a module is to run it. So a worker
imports a score or a task only if its own command line names it, or an installed package has declared it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dvae import tasks
from dvae.errors import StudyError
from dvae.studies.identity import LOCAL
from dvae.studies.scores import SCORES
from dvae.tasks import Task

ANY_ARGUMENTS = "?*"


class Trusted(NamedTuple):
    """A score by its name, or the task whose own it is."""

    score: str | None
    task: Task | None


def trusted_score(
    study: str, description: Mapping[str, Any], *, given: str | None = None, allowed: Sequence[str] = ()
) -> Trusted:
    """The score of a study's worker: the one it was `given`, else the study's own if that may be run here."""
    name, task = description.get("score"), description.get("task")
    if (name is not None and not isinstance(name, str)) or not isinstance(task, str):
        raise StudyError(f"the study {study!r} does not say what it scores: name it with --score MODULE:FUNCTION")
    if given is not None:
        return Trusted(given, None)
    if name is None:
        if _is_path(task) and not _is_allowed(task, allowed):
            raise StudyError(
                f"the study {study!r} names the task {task!r}, which is imported only if you trust it: add "
                f"--allow {task!r}"
            )
        return Trusted(None, tasks.get(task))
    if name.endswith(LOCAL):
        raise StudyError(f"the score {name!r} cannot be imported: name one that can be with --score MODULE:FUNCTION")
    if name not in SCORES.names() and not _is_allowed(name, allowed):
        raise StudyError(
            f"the study {study!r} names the score {name!r}, which is imported only if you trust it: add "
            f"--score {name!r} or --allow {name!r}"
        )
    return Trusted(name, None)


def _is_allowed(name: str, allowed: Sequence[str]) -> bool:
    return any(
        name == each or (each.endswith(ANY_ARGUMENTS) and name.partition("?")[0] == each.removesuffix(ANY_ARGUMENTS))
        for each in allowed
    )


def _is_path(task: str) -> bool:
    """Whether a task is named by the module it is in, rather than known by its name."""
    head, colon, _ = task.partition(":")
    return bool(colon) and "." in head and head not in tasks.TASKS.names()
