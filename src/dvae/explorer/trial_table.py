"""Every trial of a study as rows that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dvae.dag import Dag
from dvae.explorer import filters, places
from dvae.explorer.quantities import EDGES, NODES, SCORE, Quantities
from dvae.explorer.studies import Snapshot, Tried

TRIAL, STATE, STANDING, ATTRIBUTES = "trial", "state", "standing", "attributes"
MAX_VALUES = 6  # columns for values that the score gave by name
MAX_WORDS = 400  # characters of what the columns of a DAG say


@dataclass(frozen=True, eq=False)
class TrialTable:
    """The trials of a study, and what they can be sorted and filtered by."""

    trials: tuple[Tried, ...]
    quantities: Quantities
    broken: Mapping[int, str]  # constraints that trials break, in words, by their numbers

    @classmethod
    def of(cls, study: Snapshot) -> TrialTable:
        names = list(dict.fromkeys(name for trial in study.trials for name in trial.values))
        given: dict[str, Sequence[float | None]] = {
            TRIAL: [trial.number for trial in study.trials],
            SCORE: [trial.score for trial in study.trials],
            **{name: [trial.values.get(name) for trial in study.trials] for name in names if name != SCORE},
        }
        named = {STATE: [trial.state for trial in study.trials]}
        broken: dict[int, str] = {}
        if study.front is not None:
            numbers = [trial.number for trial in study.trials]
            named[STANDING] = [study.front.standing(number) for number in numbers]
            broken = {number: words for number in numbers if (words := study.front.broken_constraints(number))}
        return cls(study.trials, Quantities([trial.dag for trial in study.trials], given, named), broken)

    @property
    def columns(self) -> list[str]:
        """The quantities that the table shows."""
        values = list(dict.fromkeys(name for trial in self.trials for name in trial.values if name != SCORE))
        standing = [STANDING] if STANDING in self.quantities.names else []
        means = self.quantities.means[:MAX_VALUES]
        return [TRIAL, STATE, SCORE, *values[:MAX_VALUES], *standing, NODES, EDGES, *means]

    @cached_property
    def has_attributes(self) -> bool:
        """Whether nodes or edges of these DAGs have columns."""
        return any(trial.dag.node or trial.dag.edge for trial in self.trials)

    def rows(self, text: object, order: object) -> list[int]:
        """The places of the trials that pass a filter, in an order: a column and whether it rises."""
        found = np.flatnonzero(filters.matches(text, self.quantities))
        asked = order if isinstance(order, Mapping) else {}
        name = places.choice(asked.get("by", TRIAL), tuple(self.quantities.names), "the order")
        values = self.quantities.get(name).values[found]
        keys = np.where(np.isnan(values), np.inf, values if asked.get("rising", True) else -values)
        rows: list[int] = found[np.argsort(keys, kind="stable")].tolist()
        return rows


def attribute_words(dag: Dag) -> str:
    """What the columns of a DAG say, node by node and edge by edge."""
    parts = []
    for name, column in (*dag.node.items(), *dag.edge.items()):
        values = ["–" if value is None else value if isinstance(value, str) else f"{value:.6g}" for value in column]
        parts.append(f"{name}: {', '.join(values)}")
    words = "; ".join(parts)
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1] + "…"
