"""The numbers of several runs, row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dvae.evaluation import PredictivityRow
from dvae.evaluation.predictivity import LATENT, STATE
from dvae.reports.numbers import MISSING, score_words, time_words
from dvae.runs.summary import RunSummary, StudySummary, TrainingSummary

Kind = Literal["share", "number", "count", "seconds"]
LOWER_IS_BETTER = ("edit distance", "negative log-likelihood")
PLAIN_NUMBERS = (*LOWER_IS_BETTER, "KL divergence")  # the other numbers of an evaluation are shares


@dataclass(frozen=True)
class Number:
    """A number and, where there is an honest one, its 95% interval."""

    value: float
    low: float | None = None
    high: float | None = None

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class NumberRow:
    """A number of every run, None where it was not measured."""

    name: str
    kind: Kind
    higher_is_better: bool | None  # None: neither is
    numbers: tuple[Number | None, ...]

    @property
    def best(self) -> int | None:
        """The place of the run that is clearly best: no other is as good, no other's interval reaches its own."""
        known = [(place, number) for place, number in enumerate(self.numbers) if number is not None]
        if self.higher_is_better is None or len(known) < 2:
            return None
        sign = 1 if self.higher_is_better else -1
        first, *others = sorted(known, key=lambda item: -sign * item[1].value)
        return first[0] if all(_apart(first[1], other, sign) for _, other in others) else None

    def words(self, place: int) -> str:
        """The number of the run at `place`, with its interval, as it stands in a table."""
        number = self.numbers[place]
        if number is None:
            return MISSING
        ends = [] if number.low is None or number.high is None else [number.low, number.high]
        value, *interval = (_words(self.kind, each) for each in (number.value, *ends))
        return f"{value} ({'–'.join(interval)})" if interval else value

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        numbers = [None if number is None else number.to_mapping() for number in self.numbers]
        direction = {"higher_is_better": self.higher_is_better, "best": self.best}
        return {"name": self.name, "kind": self.kind, **direction, "numbers": numbers}


def number_rows(runs: Sequence[RunSummary]) -> list[NumberRow]:
    """All numbers that any of the runs has."""
    rows = [*_evaluation_rows(runs), *_predictivity_rows(runs), *_study_rows(runs), *_training_rows(runs)]
    return [row for row in rows if any(number is not None for number in row.numbers)]


def _words(kind: Kind, value: float) -> str:
    if kind == "seconds":
        return time_words(value)
    if kind == "share":
        return f"{100 * value:.2f}%"
    return f"{value:,.0f}" if kind == "count" else score_words(value)


def _apart(first: Number, other: Number, sign: int) -> bool:
    if first.low is None or first.high is None or other.low is None or other.high is None:
        return first.value != other.value
    return first.low > other.high if sign > 0 else first.high < other.low


def _plain(value: float | None) -> Number | None:
    return None if value is None else Number(value)


def _evaluation_rows(runs: Sequence[RunSummary]) -> list[NumberRow]:
    measured = [{} if run.evaluation is None else dict(run.evaluation.rows()) for run in runs]
    fullest = max(measured, key=len)  # files of older versions have fewer numbers
    rows = []
    for name in dict.fromkeys([*fullest, *(name for found in measured for name in found)]):
        estimates = [found.get(name) for found in measured]
        numbers = tuple(None if one is None else Number(one.value, one.low, one.high) for one in estimates)
        better = None if name.startswith("KL") else not name.startswith(LOWER_IS_BETTER)
        rows.append(NumberRow(name, "number" if name.startswith(PLAIN_NUMBERS) else "share", better, numbers))
    return rows


def _predictivity_rows(runs: Sequence[RunSummary]) -> list[NumberRow]:
    """What depends on the model; regressors on one-hot features do not."""
    measured = [() if run.predictivity is None else run.predictivity.rows for run in runs]
    rows = []
    for key in dict.fromkeys(_regressor(row) for found in measured for row in found):
        if key[1] in (LATENT, STATE):
            chosen = [next((row for row in found if _regressor(row) == key), None) for found in measured]
            words = "of scores, {} on {}".format(*key)
            errors = tuple(None if row is None else Number(row.rmse_mean) for row in chosen)
            correlations = tuple(None if row is None else Number(row.r_mean) for row in chosen)
            rows.append(NumberRow(f"RMSE {words}", "number", False, errors))
            rows.append(NumberRow(f"correlation {words}", "number", True, correlations))
    return rows


def _regressor(row: PredictivityRow) -> tuple[str, str]:
    return row.regressor, row.features


def _study_rows(runs: Sequence[RunSummary]) -> list[NumberRow]:
    """The best score of each thing that was searched for, and how many evaluations that took in all."""
    firsts: dict[str, StudySummary] = {}
    for run in runs:
        for study in run.studies:
            firsts.setdefault(_goal(study), study)
    rows = []
    for goal, first in firsts.items():
        better = max if first.higher_is_better else min
        studies = [[study for study in run.studies if _goal(study) == goal] for run in runs]
        scores = [[study.best for study in found if study.best is not None] for found in studies]
        best = tuple(Number(better(found)) if found else None for found in scores)
        counts = tuple(Number(sum(study.evaluations for study in found)) if found else None for found in studies)
        direction = "highest" if first.higher_is_better else "lowest"
        rows.append(NumberRow(f"search: {direction} {first.score}", "number", first.higher_is_better, best))
        rows.append(NumberRow(f"search: evaluations of {first.score}", "count", None, counts))
    return rows


def _goal(study: StudySummary) -> str:
    """What two studies must share for their best scores to mean the same."""
    return json.dumps([study.score, study.higher_is_better, study.objectives], sort_keys=True)


def _training_rows(runs: Sequence[RunSummary]) -> list[NumberRow]:
    found = [run.training or TrainingSummary(0) for run in runs]
    return [
        NumberRow("training: time", "seconds", None, tuple(_plain(each.seconds) for each in found)),
        NumberRow("training: epochs", "count", None, tuple(_plain(each.epochs or None) for each in found)),
        NumberRow("training: DAGs per second", "count", None, tuple(_plain(each.graphs_per_second) for each in found)),
        NumberRow("training: loss of the last epoch", "number", None, tuple(_plain(each.loss) for each in found)),
    ]
