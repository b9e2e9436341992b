"""A search as the page follows it: what its study holds now, in numbers ready to draw.

The page only reads. Whatever gives trials this way can be followed; `dvae.studies.Study` does.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.errors import DagError, DvaeError, StudyError, TaskError
from dvae.explorer.fronts import FrontView, front_view
from dvae.explorer.space import Space
from dvae.studies.storage import shown, study_names
from dvae.studies.study import HasScore, Study, running_best, top_distinct
from dvae.studies.values import objectives_of, values_of

MAX_TRIALS = 20_000  # the newest ones are shown
MEAN_OVER = 25  # trials
TOP = 20
MAX_REASONS = 3  # for failures that are shown
MAX_OPTIMUM_NODES = 14  # of a model's DAG, up to which a task finds its optimum at once
SECONDS_BETWEEN_READS = 1.0  # of a study, however many pages ask


class TrialLike(HasScore, Protocol):
    """One DAG of a study; `state` is waiting, running, complete, failed or pruned."""

    @property
    def state(self) -> str: ...
    @property
    def error(self) -> str | None: ...
    @property
    def attributes(self) -> Mapping[str, Any]: ...


class StudyLike(Protocol):
    """What the page reads of a study."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> Mapping[str, Any]: ...
    @property
    def ended(self) -> bool: ...
    @property
    def trials(self) -> Sequence[TrialLike]: ...


@dataclass(frozen=True)
class Scored:
    """A finished trial."""

    number: int
    dag: Dag
    score: float


@dataclass(frozen=True)
class Tried:
    """Any trial, whatever became of it; `values` are those that its score gave by name."""

    number: int
    dag: Dag
    state: str
    score: float | None
    error: str | None
    values: Mapping[str, float]


@dataclass(frozen=True)
class Snapshot:
    """What a study holds at one moment. `mean` is that of the last `MEAN_OVER` scores."""

    name: str
    strategy: str
    budget: int | None
    higher_is_better: bool
    ended: bool
    counts: tuple[tuple[str, int], ...]  # trials by state
    scored: tuple[Scored, ...]  # by number
    best: tuple[float, ...]  # so far, after each of `scored`
    mean: tuple[float, ...]
    top: tuple[Scored, ...]  # the best distinct DAGs, best first
    failures: tuple[tuple[str, int], ...] = ()  # reasons, and how many trials failed for each
    front: FrontView | None = None  # of a study with objectives; its DAGs then come first in `top`
    trials: tuple[Tried, ...] = ()  # all of them, by number

    @property
    def words(self) -> str:
        """How far the search is, in one line."""
        counts = dict(self.counts)
        done = f"{len(self.scored):,}" + (f" of {self.budget:,}" if self.budget else "")
        rest = [
            f"{counts[state]:,} {state}" for state in ("running", "waiting", "failed", "pruned") if counts.get(state)
        ]
        return ", ".join([f"{done} scored", *rest])

    @property
    def is_live(self) -> bool:
        """Whether more can come: a search whose budget is spent is over, even where nobody has said so."""
        counts = dict(self.counts)
        open_trials = counts.get("running", 0) + counts.get("waiting", 0)
        spent = self.budget is not None and sum(counts.values()) - open_trials >= self.budget
        return not self.ended and (open_trials > 0 or not spent)

    @property
    def stars(self) -> tuple[int, ...]:
        """The numbers of the best trial, or of all on the front."""
        return tuple(trial.number for trial in self.top[:1]) if self.front is None else self.front.front

    def is_comparable(self, other: Snapshot) -> bool:
        """Whether the scores of two studies mean the same: those of objectives only beside the same objectives."""
        mine, theirs = (each.front and each.front.objectives for each in (self, other))
        return mine == theirs

    @property
    def problem(self) -> str:
        """Why trials failed, the most frequent reasons first; empty where none did."""
        if not self.failures:
            return ""
        reasons = [f"{reason} ({count:,})" if count > 1 else reason for reason, count in self.failures[:MAX_REASONS]]
        more = len(self.failures) - len(reasons)
        rest = f"and {more:,} other reason{'s' if more > 1 else ''}"
        return "Failed: " + "; ".join([*reasons, rest] if more else reasons)


@dataclass(frozen=True)
class Baseline:
    """A score to compare a search with."""

    label: str
    score: float


def open_studies(address: str) -> list[StudyLike]:
    """All studies at `URL`, the newest first, or the one at `URL#NAME`."""
    url, _, name = address.partition("#")
    names = [name] if name else study_names(url)[::-1]
    if not names:
        raise StudyError(f"{shown(url)} holds no study; start one with: dvae search RUN --storage {shown(url)}")
    return [Study.open(url, each) for each in names]


def snapshot(study: StudyLike) -> Snapshot:
    """The study as it is now."""
    description = study.description
    trials = sorted(study.trials, key=lambda trial: trial.number)[-MAX_TRIALS:]
    scored = [
        Scored(trial.number, trial.dag, float(trial.score))
        for trial in trials
        if trial.state == "complete" and trial.score is not None
    ]
    failures = Counter(trial.error for trial in trials if trial.state == "failed" and trial.error)
    budget = description.get("budget")
    higher = description.get("direction", "maximize") != "minimize"
    values = [trial.score for trial in scored]
    front = _front(description, trials)
    return Snapshot(
        name=study.name,
        strategy=str(description.get("strategy", "")),
        budget=budget if isinstance(budget, int) and budget > 0 else None,
        higher_is_better=higher,
        ended=study.ended,
        counts=tuple(Counter(trial.state for trial in trials).items()),
        scored=tuple(scored),
        best=tuple(running_best(values, higher)),
        mean=tuple(running_mean(values, MEAN_OVER)),
        top=tuple(top_distinct(scored, TOP, higher) if front is None else _front_first(scored, front)),
        failures=tuple(failures.most_common()),
        front=front,
        trials=tuple(
            Tried(trial.number, trial.dag, trial.state, trial.score, trial.error, values_of(trial)) for trial in trials
        ),
    )


def _front(description: Mapping[str, Any], trials: Sequence[TrialLike]) -> FrontView | None:
    objectives = objectives_of(description)
    if objectives is None:
        return None
    found = {trial.number: values_of(trial) for trial in trials if trial.state == "complete"}
    return front_view(objectives, {number: values for number, values in found.items() if values})


def _front_first(scored: Sequence[Scored], front: FrontView) -> list[Scored]:
    """The distinct DAGs of the front in its order, then the others with the best scores."""
    by_number = {trial.number: trial for trial in scored}
    ahead = [by_number[number] for number in front.front]
    found = {trial.dag: trial for trial in reversed(ahead)}
    first = [trial for trial in ahead if found[trial.dag] is trial][:TOP]
    others = [trial for trial in scored if trial.dag not in found]
    return first + (top_distinct(others, TOP - len(first)) if len(first) < TOP else [])


def running_mean(values: Sequence[float], over: int) -> list[float]:
    """The mean of the last `over` values, of fewer at the start."""
    return [
        sum(window) / len(window) for end in range(len(values)) if (window := values[max(0, end + 1 - over) : end + 1])
    ]


def baselines(space: Space) -> tuple[Baseline, ...]:
    """The best score of the known DAGs, and the best possible one where the task finds it at once."""
    lines = []
    if len(space.sorted_scores):
        lines.append(Baseline("best on the map", float(space.sorted_scores[-1])))
    if space.task.max_nodes <= MAX_OPTIMUM_NODES:
        with contextlib.suppress(DvaeError):  # its data are gone: there is one line less
            optimum = space.task.known_optimum()
            lines += [] if optimum is None else [Baseline("exact optimum", optimum)]
    return tuple(lines)


class WatchedStudy:
    """A study that is read at most once a second, and the latents of what it scored, each encoded once."""

    def __init__(self, study: StudyLike, clock: Callable[[], float]) -> None:
        self.study, self._clock = study, clock
        self._lock = threading.Lock()
        self._seen: Snapshot | None = None
        self._when = -math.inf
        self._latents: dict[int, Tensor | None] = {}

    def read(self) -> Snapshot:
        """The study as it was at most a second ago."""
        with self._lock:
            if self._seen is None or self._clock() - self._when >= SECONDS_BETWEEN_READS:
                try:
                    self._seen = snapshot(self.study)
                except DvaeError:
                    raise
                except Exception as error:  # whatever a storage may raise: it is busy, gone or not a storage
                    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
                    raise StudyError(f"the study {self.study.name!r} cannot be read now: {reason}") from error
                self._when = self._clock()
            return self._seen

    def latents(self, space: Space) -> Tensor:
        """The latents of the scored DAGs; those that the model cannot hold are left out."""  # trial latent
        return self.placed(space)[1]

    def placed(self, space: Space) -> tuple[list[int], Tensor]:
        """The numbers of the scored trials whose DAGs the model can hold, and their latents."""  # trial latent
        scored = self.read().scored
        with self._lock:
            new = [trial for trial in scored if trial.number not in self._latents]
            for trial, latent in zip(new, _encoded(space, [trial.dag for trial in new]), strict=True):
                self._latents[trial.number] = latent
            found = {trial.number: latent for trial in scored if (latent := self._latents[trial.number]) is not None}
        latents = torch.stack(list(found.values())) if found else torch.empty(0, space.latent_size)
        return list(found), latents


def _encoded(space: Space, dags: Sequence[Dag]) -> list[Tensor | None]:
    """The latents of DAGs, all at once; one by one where the model cannot hold some of them, which get None."""
    try:
        return list(space.encode(dags))
    except (TaskError, DagError):
        return [None] if len(dags) == 1 else [latent for dag in dags for latent in _encoded(space, [dag])]
