"""Studies: searches that survive crashes and are shared by many workers."""

from dvae.studies.driver import Search, SearchConfig, search
from dvae.studies.identity import model_fingerprint
from dvae.studies.known import KnownScores, known_scores
from dvae.studies.ledger import Ledger, MemoryLedger, Outcome, Trial
from dvae.studies.pareto import Front, front_of
from dvae.studies.retraining import Retraining
from dvae.studies.scores import SCORES, TaskScore, named_score
from dvae.studies.scoring import Report, Score
from dvae.studies.sqlite_ledger import SqliteLedger
from dvae.studies.storage import open_ledger, storage_of, study_names
from dvae.studies.study import Failure, Study, studies_of
from dvae.studies.worker import Work, work_on, work_once, work_round

__all__ = [
    "SCORES",
    "Failure",
    "Front",
    "KnownScores",
    "Ledger",
    "MemoryLedger",
    "Outcome",
    "Report",
    "Retraining",
    "Score",
    "Search",
    "SearchConfig",
    "SqliteLedger",
    "Study",
    "TaskScore",
    "Trial",
    "Work",
    "front_of",
    "known_scores",
    "model_fingerprint",
    "named_score",
    "open_ledger",
    "search",
    "storage_of",
    "studies_of",
    "study_names",
    "work_on",
    "work_once",
    "work_round",
]
