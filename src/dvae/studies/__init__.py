"""Studies: searches that survive crashes and are shared by many workers."""

from dvae.studies.driver import Search, SearchConfig, model_print, search
from dvae.studies.ledger import Ledger, MemoryLedger, Outcome, Trial
from dvae.studies.scoring import Report, Score, named_score
from dvae.studies.study import Study
from dvae.studies.worker import Work, work_on, work_once

__all__ = [
    "Ledger",
    "MemoryLedger",
    "Outcome",
    "Report",
    "Score",
    "Search",
    "SearchConfig",
    "Study",
    "Trial",
    "Work",
    "model_print",
    "named_score",
    "search",
    "work_on",
    "work_once",
]
