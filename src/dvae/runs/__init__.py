"""Runs: folders that hold a model and all that was done with it."""

from dvae.runs.comparison import Comparison, SettingRow, compare
from dvae.runs.config import RunConfig
from dvae.runs.listing import summaries, summary
from dvae.runs.number_rows import Number, NumberRow
from dvae.runs.run import Run
from dvae.runs.sampling import sample
from dvae.runs.summary import RunSummary, StudySummary, TrainingSummary, Unreadable
from dvae.runs.training import fit

__all__ = [
    "Comparison",
    "Number",
    "NumberRow",
    "Run",
    "RunConfig",
    "RunSummary",
    "SettingRow",
    "StudySummary",
    "TrainingSummary",
    "Unreadable",
    "compare",
    "fit",
    "sample",
    "summaries",
    "summary",
]
