"""Searching a space of DAGs: ask for DAGs, tell their scores; or let a study do both.

The module is also the function: `dvae.search(vae, task, budget=500)` runs a whole search.
"""

import sys
from types import ModuleType
from typing import Any

from dvae.search.archive import Archive, Evaluation
from dvae.search.driver import Search, SearchConfig, model_print, search
from dvae.search.gradient import GradientAscent, GradientConfig
from dvae.search.ledger import Ledger, MemoryLedger, Outcome, Trial
from dvae.search.names import STRATEGIES, make_strategy
from dvae.search.paper import PaperSearch, PaperSearchConfig
from dvae.search.scoring import Report, Score, named_score
from dvae.search.strategies import Evolution, RandomSearch, Strategy
from dvae.search.study import Study
from dvae.search.trust_region import TrustRegion, TrustRegionConfig
from dvae.search.worker import Work, work_on, work_once

__all__ = [
    "STRATEGIES",
    "Archive",
    "Evaluation",
    "Evolution",
    "GradientAscent",
    "GradientConfig",
    "Ledger",
    "MemoryLedger",
    "Outcome",
    "PaperSearch",
    "PaperSearchConfig",
    "RandomSearch",
    "Report",
    "Score",
    "Search",
    "SearchConfig",
    "Strategy",
    "Study",
    "Trial",
    "TrustRegion",
    "TrustRegionConfig",
    "Work",
    "make_strategy",
    "model_print",
    "named_score",
    "search",
    "work_on",
    "work_once",
]


class _CallableModule(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Study:
        return search(*arguments, **options)


sys.modules[__name__].__class__ = _CallableModule
