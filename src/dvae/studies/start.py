"""What a search begins with: scores that are known, or DAGs to score first."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dvae.dag import Dag, Dataset, ScoredDag
from dvae.errors import DvaeError
from dvae.studies.known import KnownScores, known_scores, scored_by
from dvae.tasks import Task

DATA, NONE = "data", "none"


@dataclass(frozen=True)
class Start:
    """What a search is told, the DAGs it scores first, and both in words."""

    known: KnownScores
    dags: Sequence[Dag]
    words: str


def start_of(
    data: Callable[[], Dataset],
    task: Task,
    score: str | None,
    *,
    source: str | None = None,
    count: int | None = None,
    seed: int = 0,
    minimize: bool = False,
) -> Start:
    """What a search for `score` (None: the task's own) begins with, by default.

    `source` says where known scores of the same quantity are: in the run's `data`, nowhere, or in a file. Without it
    they are those of the data where the task scores. `count` of them are told; where none are known, as many training
    DAGs are scored first.
    """
    own = score is None and not task.data_is_complete and count != 0
    try:
        items = _known_items(data, task, score, source or (DATA if own else NONE))
    except DvaeError as error:
        if source is not None or count is not None:
            raise
        words = f"The run's data cannot be read, so that no scores are known from the start: {error}."
        return Start(known_scores([]), (), words)
    known = known_scores(items, count, seed=seed, higher_is_better=not minimize)
    if known.best is not None:
        words = f"The search starts from {known.words}; the best of all is {known.best.score:.7g}."
        return Start(known, (), words)
    if count:
        training = data().train.dags
        dags = random.Random(seed).sample(training, min(count, len(training)))
        return Start(known, dags, f"No scores are known; the first candidates are {len(dags):,} training DAGs.")
    hint = "" if score is None or source is not None or count is not None else _hint(data, task, score)
    return Start(known, (), f"No scores are known from the start.{hint}")


def _known_items(data: Callable[[], Dataset], task: Task, score: str | None, source: str) -> list[ScoredDag]:
    """Scored DAGs of the quantity that is searched: a task scores its data itself, whatever scores they have."""
    if source == NONE:
        return []
    if source != DATA:
        return task.read(source)
    everything = data().everything
    return scored_by(task, everything) if score is None else list(everything.with_scores_only())


def _hint(data: Callable[[], Dataset], task: Task, score: str) -> str:
    """That the data have scores which may be the same quantity."""
    if task.can_score:
        return ""  # the data's scores are the task's own: another quantity
    try:
        number = len(data().everything.with_scores_only())
    except DvaeError:  # the file is gone: there is nothing to hint at
        return ""
    return f" If the {number:,} scores in the run's data are what {score} gives, add: --known data" if number else ""
