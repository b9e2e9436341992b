"""A search as its user sees it: what was tried, what is best so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dvae.dag import Dag, ScoredDag, from_plain, to_plain
from dvae.errors import StudyError
from dvae.studies import storage
from dvae.studies.identity import current
from dvae.studies.ledger import Ledger, Trial
from dvae.studies.reading import about_from
from dvae.studies.worker import HEARTBEAT_SECONDS

ABOUT = "dvae"  # what a study searches, in its ledger
STATE = "dvae:state"  # where its strategy stood when the newest round was asked for
ENDED = "dvae:ended"  # whether nothing more will be proposed


class HasScore(Protocol):
    """A DAG of a search, and its score if it has one."""

    @property
    def number(self) -> int: ...
    @property
    def dag(self) -> Dag: ...
    @property
    def score(self) -> float | None: ...


S = TypeVar("S", bound=HasScore)


@dataclass(frozen=True)
class Failure:
    """Why candidates failed, and how many."""

    reason: str
    count: int


class Study:
    """A finished, interrupted or running search."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @classmethod
    def open(cls, address: str, name: str | None = None, *, heartbeat: int = HEARTBEAT_SECONDS) -> Study:
        """A study kept at an address (dvae:///FILE.db, sqlite:///FILE.db, postgresql://...); None: the only one.

        A worker that takes trials is heard of every `heartbeat` seconds.
        """
        if name is None:
            names = storage.study_names(address)
            if len(names) != 1:
                found = "no study" if not names else "several studies: " + ", ".join(names)
                raise StudyError(f"{storage.shown(address)} holds {found}; name one")
            (name,) = names
        return cls(storage.open_ledger(address, name, heartbeat=heartbeat))

    def close(self) -> None:
        """Lets go of the storage."""
        self.ledger.close()

    @property
    def name(self) -> str:
        """The name it has in its storage."""
        return self.ledger.name

    @property
    def description(self) -> dict[str, Any]:
        """What is searched, and how: task, strategy, seed, budget, ..."""
        return current(about_from(self.ledger.description().get(ABOUT, {}), self.name))

    @property
    def higher_is_better(self) -> bool:
        """Whether the study maximises its score."""
        return bool(self.description.get("direction", "maximize") == "maximize")

    @property
    def ended(self) -> bool:
        """Whether its search is over, and all that it proposed is finished."""
        return bool(self.ledger.description().get(ENDED, False))

    @property
    def trials(self) -> list[Trial]:
        """In the order they were proposed."""
        return sorted(self.ledger.trials(), key=lambda trial: trial.number)

    @property
    def scored(self) -> list[ScoredDag]:
        """The candidates that have a score, in the order they were proposed."""
        return [ScoredDag(trial.dag, trial.score) for trial in self.trials if trial.score is not None]

    def best(self) -> Trial | None:
        """Of the complete ones; the first of equals."""
        return best_of(self.trials, self.higher_is_better)

    @property
    def known_before(self) -> ScoredDag | None:
        """The best DAG whose score was known before the search."""
        known = self.description.get("known_before")
        try:
            return None if known is None else as_scored(known)
        except (KeyError, TypeError, ValueError) as error:
            raise StudyError(f"the study {self.name!r} is damaged: the best known before is no DAG ({error})") from None

    @property
    def improved(self) -> bool | None:
        """Whether the search found a better DAG than was known before; None where nothing was known."""
        known, best = self.known_before, self.best()
        if known is None or known.score is None:
            return None
        if best is None or best.score is None:
            return False
        return best.score > known.score if self.higher_is_better else best.score < known.score

    @property
    def failures(self) -> list[Failure]:
        """Why candidates failed, in the order in which each reason came up first."""
        reasons = Counter(trial.error or "no reason given" for trial in self.trials if trial.state == "failed")
        return [Failure(reason, count) for reason, count in reasons.items()]

    @property
    def best_dag(self) -> Dag:
        """The best DAG scored in this study."""
        return self._best().dag

    @property
    def best_score(self) -> float:
        """Its score."""
        score = self._best().score
        assert score is not None
        return score

    def _best(self) -> Trial:
        best = self.best()
        if best is None:
            raise StudyError(f"no candidate of the study {self.name!r} has a score yet")
        return best


def studies_of(run: Path) -> list[Study]:
    """The studies in a run's own storage."""
    if not storage.has_studies(run):
        return []
    address = storage.storage_of(run)
    return [Study.open(address, name) for name in storage.study_names(address)]


def as_plain(item: ScoredDag) -> dict[str, Any]:
    """A scored DAG as plain values."""
    return {"score": item.score, **to_plain(item.dag)}


def as_scored(value: dict[str, Any]) -> ScoredDag:
    """The scored DAG that `as_plain` wrote."""
    return ScoredDag(from_plain(value), value["score"])


def running_best(values: Iterable[float], higher_is_better: bool = True) -> list[float]:
    """The best so far, after each value."""
    return list(accumulate(values, max if higher_is_better else min))


def top_distinct(trials: Iterable[S], count: int, higher_is_better: bool = True) -> list[S]:
    """The best DAGs, each once; of equal scores the earlier comes first."""
    sign = -1 if higher_is_better else 1
    found: dict[Dag, S] = {}
    for trial in sorted(trials, key=lambda trial: (sign * (trial.score or 0.0), trial.number)):
        found.setdefault(trial.dag, trial)
        if len(found) == count:
            break
    return list(found.values())


def best_of(trials: list[Trial], higher_is_better: bool = True) -> Trial | None:
    sign = 1 if higher_is_better else -1
    complete = [trial for trial in trials if trial.score is not None]
    return max(complete, key=lambda trial: (sign * (trial.score or 0.0), -trial.number), default=None)
