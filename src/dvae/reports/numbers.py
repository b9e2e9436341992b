"""Numbers as they stand in tables: a mean and its spread, a share and its interval."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MISSING = "–"


@dataclass(frozen=True)
class Spread:
    """Measured numbers, their mean and their deviation; one number has no deviation."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def words(self, digits: int) -> str:
        if self.deviation is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.deviation:.{digits}f}"


def share_words(estimates: Sequence[Mapping[str, Any] | None]) -> str:
    """One estimate a seed, in per cent: the mean and the deviation over seeds, or a single seed's 95% interval."""
    known = [estimate for estimate in estimates if estimate is not None]
    if not known:
        return MISSING
    if len(known) > 1:
        return Spread(tuple(100 * estimate["value"] for estimate in known)).words(2)
    (one,) = known
    value = f"{100 * one['value']:.2f}"
    if one["low"] is None:
        return value
    return f"{value} ({100 * one['low']:.2f}–{100 * one['high']:.2f})"


def estimate_words(estimate: Mapping[str, Any] | None, digits: int = 2) -> str:
    """A number and its 95% interval."""
    if estimate is None:
        return MISSING
    value = f"{estimate['value']:.{digits}f}"
    if estimate["low"] is None:
        return value
    return f"{value} ({estimate['low']:.{digits}f}–{estimate['high']:.{digits}f})"


def number_words(value: float | None, digits: int) -> str:
    return MISSING if value is None else f"{value:.{digits}f}"


def time_words(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"
