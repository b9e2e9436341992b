"""Colours of the page's charts, and scores in few characters."""

from __future__ import annotations

from itertools import pairwise

from dvae.figures.style import mixed

SCALE = ((0.0, "#5b6b86"), (0.3, "#4477b5"), (0.62, "#2fa79b"), (0.85, "#c9b845"), (1.0, "#f59e2c"))
INK = "#7b8798"  # where the style sheet does not reach
ACCENT = "#e11d67"
PATH = "#8b5cf6"
SERIES = ("#3b82c4", "#ee9a3a", "#3fa984", "#cc79a7", "#7c6fd6", "#94a3b8")


def short_number(value: float) -> str:
    """A score in few characters."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def colour_at(rank: float | None) -> str:
    """The colour of a score's rank on the map; empty without one."""
    if rank is None:
        return ""
    for (low, before), (high, after) in pairwise(SCALE):
        if rank <= high:
            return mixed(before, after, (rank - low) / (high - low))
    return SCALE[-1][1]


def series_colour(number: int) -> str:
    """The colour of a study, wherever it is shown."""
    return SERIES[number % len(SERIES)]
