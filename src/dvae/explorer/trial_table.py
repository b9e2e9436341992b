"""Every trial of a study as rows that can be sorted and filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dvae.explorer import filters, places
from dvae.explorer.quantities import EDGES, NODES, SCORE, Quantities
from dvae.explorer.studies import Snapshot, Tried

TRIAL, STATE = "trial", "state"
MAX_VALUES = 6  # columns for values that the score gave by name


@dataclass(frozen=True, eq=False)
class TrialTable:
    """The trials of a study, and what they can be sorted and filtered by."""

    trials: tuple[Tried, ...]
    quantities: Quantities

    @classmethod
    def of(cls, study: Snapshot) -> TrialTable:
        names = list(dict.fromkeys(name for trial in study.trials for name in trial.values))
        given: dict[str, Sequence[float | None]] = {
            TRIAL: [trial.number for trial in study.trials],
            SCORE: [trial.score for trial in study.trials],
            **{name: [trial.values.get(name) for trial in study.trials] for name in names if name != SCORE},
        }
        named = {STATE: [trial.state for trial in study.trials]}
        return cls(study.trials, Quantities([trial.dag for trial in study.trials], given, named))

    @property
    def columns(self) -> list[str]:
        """The quantities that the table shows."""
        values = list(dict.fromkeys(name for trial in self.trials for name in trial.values if name != SCORE))
        return [TRIAL, STATE, SCORE, *values[:MAX_VALUES], NODES, EDGES]

    def rows(self, text: object, order: object) -> list[int]:
        """The places of the trials that pass a filter, in an order: a column and whether it rises."""
        found = np.flatnonzero(filters.matches(text, self.quantities))
        asked = order if isinstance(order, Mapping) else {}
        name = places.choice(asked.get("by", TRIAL), tuple(self.quantities.names), "the order")
        values = self.quantities.get(name).values[found]
        keys = np.where(np.isnan(values), np.inf, values if asked.get("rising", True) else -values)
        rows: list[int] = found[np.argsort(keys, kind="stable")].tolist()
        return rows
