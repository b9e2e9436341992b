"""Numbers as they stand in tables: a mean and its spread, a share and its interval."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dvae.evaluation import Estimate

MISSING = "–"


@dataclass(frozen=True)
class Spread:
    """Measured numbers, their mean and their deviation; one number has no deviation."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the numbers."""
        return statistics.fmean(self.values)

    @property
    def deviation(self) -> float | None:
        """The sample's standard deviation."""
        return statistics.stdev(self.values) if len(self.values) > 1 else None

    def words(self, digits: int) -> str:
        """The mean ± the deviation."""
        if self.deviation is None:
            return f"{self.mean:.{digits}f}"
        return f"{self.mean:.{digits}f} ± {self.deviation:.{digits}f}"


def share_words(estimates: Sequence[Estimate | None]) -> str:
    """One estimate per seed, in per cent: the mean and the deviation over seeds, or a single seed's 95% interval."""
    known = [estimate for estimate in estimates if estimate is not None]
    if not known:
        return MISSING
    if len(known) > 1:
        return Spread(tuple(100 * estimate.value for estimate in known)).words(2)
    return _with_interval(known[0], 2, 100)


def estimate_words(estimate: Estimate | None, digits: int = 2) -> str:
    """A number and its 95% interval."""
    return MISSING if estimate is None else _with_interval(estimate, digits, 1)


def number_words(value: float | None, digits: int) -> str:
    """A number, or a dash where there is none."""
    return MISSING if value is None else f"{value:.{digits}f}"


def score_words(value: float | None) -> str:
    """A score of unknown size: three decimals, or three significant digits where it is small."""
    if value is None:
        return MISSING
    return f"{value:.3f}" if value == 0 or abs(value) >= 0.1 else f"{value:.3g}"


def time_words(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def local_time(moment: str | datetime) -> str:
    """A moment as the clock on the wall here shows it; a text that is no moment stays as it is."""
    try:
        here = (datetime.fromisoformat(moment) if isinstance(moment, str) else moment).astimezone()
    except (ValueError, OverflowError):  # also of the years 1 and 9999
        return str(moment)
    return f"{here.day} {here:%B %Y, %H:%M}"


def _with_interval(estimate: Estimate, digits: int, scale: float) -> str:
    value = f"{scale * estimate.value:.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} ({scale * estimate.low:.{digits}f}–{scale * estimate.high:.{digits}f})"
