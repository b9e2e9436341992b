"""A search as the page follows it: what its study holds now, in numbers ready to draw.

The page only reads. Whatever gives trials this way can be followed; `dvae.studies.Study` does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dvae.bayesnet.structure import exact_optimum
from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.explorer.space import Space
from dvae.studies.study import HasScore, Study, running_best, top_distinct
from dvae.tasks import BayesNetTask

MOST_TRIALS = 20_000  # the newest ones are shown
MEAN_OVER = 25  # trials
TOP = 20
MOST_VARIABLES = 12  # up to which the exact optimum is found in a moment


class TrialLike(HasScore, Protocol):
    """One DAG of a study; `state` is waiting, running, complete, failed or pruned."""

    @property
    def state(self) -> str: ...
    @property
    def error(self) -> str | None: ...


class StudyLike(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> Mapping[str, Any]: ...
    @property
    def trials(self) -> Sequence[TrialLike]: ...


@dataclass(frozen=True)
class Scored:
    """A finished trial."""

    number: int
    dag: Dag
    score: float


@dataclass(frozen=True)
class Snapshot:
    """What a study holds at one moment. `mean` is that of the last `MEAN_OVER` scores."""

    name: str
    strategy: str
    budget: int | None
    higher_is_better: bool
    counts: tuple[tuple[str, int], ...]  # trials by state
    scored: tuple[Scored, ...]  # by number
    best: tuple[float, ...]  # so far, after each of `scored`
    mean: tuple[float, ...]
    top: tuple[Scored, ...]  # the best distinct DAGs, best first
    problem: str | None = None  # of the newest failed trial

    @property
    def words(self) -> str:
        """How far the search is, in one line."""
        counts = dict(self.counts)
        done = f"{len(self.scored):,}" + (f" of {self.budget:,}" if self.budget else "")
        rest = [
            f"{counts[state]:,} {state}" for state in ("running", "waiting", "failed", "pruned") if counts.get(state)
        ]
        return ", ".join([f"{done} scored", *rest])


@dataclass(frozen=True)
class Baseline:
    """A score to compare a search with."""

    label: str
    score: float


def open_study(address: str) -> StudyLike:
    """The study at `URL` or `URL#NAME`; without a name, the only one there."""
    url, _, name = address.partition("#")
    return Study.open(url, name or None)


def snapshot(study: StudyLike) -> Snapshot:
    """The study as it is now."""
    description = study.description
    trials = sorted(study.trials, key=lambda trial: trial.number)[-MOST_TRIALS:]
    counts: dict[str, int] = {}
    for trial in trials:
        counts[trial.state] = counts.get(trial.state, 0) + 1
    scored = [
        Scored(trial.number, trial.dag, float(trial.score))
        for trial in trials
        if trial.state == "complete" and trial.score is not None
    ]
    failures = [trial.error for trial in trials if trial.state == "failed" and trial.error]
    budget = description.get("budget")
    higher = description.get("direction", "maximize") != "minimize"
    values = [trial.score for trial in scored]
    return Snapshot(
        name=study.name,
        strategy=str(description.get("strategy", "")),
        budget=budget if isinstance(budget, int) and budget > 0 else None,
        higher_is_better=higher,
        counts=tuple(counts.items()),
        scored=tuple(scored),
        best=tuple(running_best(values, higher)),
        mean=tuple(running_mean(values, MEAN_OVER)),
        top=tuple(top_distinct(scored, TOP, higher)),
        problem=failures[-1] if failures else None,
    )


def running_mean(values: Sequence[float], over: int) -> list[float]:
    """The mean of the last `over` values, of fewer at the start."""
    return [
        sum(window) / len(window) for end in range(len(values)) if (window := values[max(0, end + 1 - over) : end + 1])
    ]


def baselines(space: Space) -> tuple[Baseline, ...]:
    """The best of the known DAGs, and the best there can be where that is quickly known."""
    lines = []
    if len(space.sorted_scores):
        lines.append(Baseline("best of the map's DAGs", float(space.sorted_scores[-1])))
    task = space.task
    if isinstance(task, BayesNetTask) and task.can_score and len(task.variables) <= MOST_VARIABLES:
        with contextlib.suppress(DvaeError):  # the table is gone: there is one line less
            lines.append(Baseline("exact optimum", exact_optimum(task.network_scores, name=task.score_name).score))
    return tuple(lines)
