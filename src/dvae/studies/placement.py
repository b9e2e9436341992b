"""Where a score runs: in this process, or in processes of its own that may be killed.

A score that is named (`package.module:name`, `--score`) and every score with a timeout gets processes of its own, and
so does a task's own score that several workers share. A task's own score otherwise runs here, as fast as it can. So
does a function that Python passes without a timeout: what it changes is then seen by its caller. With a timeout it
runs in a fork of this process, where systems have forks, and what it changes stays there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dvae import tasks
from dvae.errors import ConfigError
from dvae.studies.isolated import ATTEMPTS, IsolatedScore
from dvae.studies.keepers import CAN_FORK, shared_keeper
from dvae.studies.scores import SCORES, ResolvedScore, TaskScore, resolve_score
from dvae.tasks import Task
from dvae.tasks.registry import BUILT_IN


def place_score(
    score: Any,
    task: Task | None,
    *,
    isolate: bool | None = None,
    timeout: float | None = None,
    workers: int = 1,
    attempts: int = ATTEMPTS,
) -> ResolvedScore:
    """The score, ready to be asked; `isolate` decides where it runs, None by the rule above.

    A score with a method `many` is given whole rounds by one worker, and single DAGs by several.
    """
    if isinstance(score, ResolvedScore) and isinstance(score.function, IsolatedScore):
        return score
    if isolate and not CAN_FORK:
        raise ConfigError("this system cannot run scores in processes of their own: leave out --isolate")
    if _is_importable(score) and CAN_FORK and isolate is not False and workers:
        return ResolvedScore(score, IsolatedScore({"score": score}, attempts=attempts, rounds=workers == 1).start())
    resolved = resolve_score(score, task)
    own = isinstance(resolved.function, TaskScore)
    wanted = timeout is not None or (own and workers > 1) if isolate is None else isolate
    if not wanted or not CAN_FORK or not workers:  # without workers, others score
        return resolved
    order = _order(resolved)
    isolated = IsolatedScore(order or resolved.function, attempts=attempts, rounds=workers == 1)
    return ResolvedScore(resolved.name, isolated.start())


@contextmanager
def placed_score(score: Any, task: Task | None, **options: Any) -> Iterator[ResolvedScore]:
    """`place_score`, for as long as the `with` statement lasts."""
    resolved = place_score(score, task, **options)
    try:
        yield resolved
    finally:
        if isinstance(resolved.function, IsolatedScore):
            resolved.function.close()


def prepare(score: str | None) -> None:
    """Begins to start what a named score will need, while its search reads its model."""
    if _is_importable(score) and CAN_FORK:
        shared_keeper()


def _is_importable(score: Any) -> bool:
    """Whether another process finds it by its name; what was registered in this one is known here only."""
    return isinstance(score, str) and not SCORES.is_local(score.partition("?")[0])


def _order(resolved: ResolvedScore) -> dict[str, Any] | None:
    """How another process makes the score anew; None where it must inherit it."""
    if not isinstance(resolved.function, TaskScore):
        return None
    spec = tasks.to_spec(resolved.function.task)
    return {"task": spec} if spec["kind"] in BUILT_IN else None
