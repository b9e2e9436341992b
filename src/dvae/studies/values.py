"""Scores that give several values by name: what becomes of them in a trial, and what a strategy is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from dvae.dag import ScoredDag
from dvae.strategies.objectives import Objectives, Values
from dvae.studies.ledger import Outcome, Trial

OBJECTIVES = "objectives"  # in the description of a study
VALUES = "values"  # among the attributes of a trial
SCORE = "score"


class HasAttributes(Protocol):
    """A trial, as far as its values are asked for."""

    @property
    def attributes(self) -> Mapping[str, Any]: ...


def objectives_of(description: Mapping[str, Any]) -> Objectives | None:
    """The objectives that a study's description names; None for a study of one score."""
    return Objectives.from_mapping(description[OBJECTIVES]) if description.get(OBJECTIVES) else None


def values_of(trial: HasAttributes) -> Mapping[str, float]:
    """All values that the score gave of a trial."""
    found: Mapping[str, float] = trial.attributes.get(VALUES, {})
    return found


def judged(outcome: Outcome, objectives: Objectives | None) -> Outcome:
    """The outcome with the score of its values; without objectives, a score that gives several values has failed."""
    if objectives is None:
        if outcome.values is None:
            return outcome
        return Outcome(error="the score gives several values; say which to search for, e.g. with --maximize NAME")
    values: Values | None = outcome.values
    if values is None and outcome.score is not None:
        values = {SCORE: outcome.score}
    if values is None:
        return outcome
    lacking = next((name for name in objectives.needed if name not in values), None)
    if lacking is not None:
        return Outcome(error=f"the score gives no {lacking!r}; it gives {', '.join(values) or 'nothing'}")
    return Outcome(score=objectives.score(values), values=values)


def evaluation(trial: Trial) -> ScoredDag:
    """A trial as a strategy is told of it: its values are properties of its DAG."""
    values = values_of(trial)
    return ScoredDag(replace(trial.dag, properties=dict(values)) if values else trial.dag, trial.score)


def known_items(items: Sequence[ScoredDag], objectives: Objectives) -> list[ScoredDag]:
    """The DAGs that have all properties that are searched for, scored by them."""
    found = (objectives.scored(item.dag) for item in items)
    return [item for item in found if item is not None]
