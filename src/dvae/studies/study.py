"""A search as its user sees it: what was tried, what is best so far."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dvae.dag import Dag
from dvae.errors import StudyError
from dvae.studies.ledger import Ledger, Trial

DATABASE = "search.db"  # of a run, where no other storage is named
ABOUT = "dvae"  # what a study searches, in its ledger
STATE = "dvae:state"  # where its strategy stood when the newest round was asked for
ENDED = "dvae:ended"  # whether nothing more will be proposed
PROPOSER = "dvae:proposer"  # who asks, and when it last said so


class HasScore(Protocol):
    """A DAG of a search, and its score if it has one."""

    @property
    def number(self) -> int: ...
    @property
    def dag(self) -> Dag: ...
    @property
    def score(self) -> float | None: ...


S = TypeVar("S", bound=HasScore)


class Study:
    """A finished, interrupted or running search."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @classmethod
    def open(cls, storage: str, name: str | None = None) -> Study:
        """A study of `storage` (sqlite:///FILE.db, postgresql://...); None: the only one there."""
        from dvae.studies.optuna_ledger import OptunaLedger, shown, study_names

        if name is None:
            names = study_names(storage)
            if len(names) != 1:
                found = "no study" if not names else "several studies: " + ", ".join(names)
                raise StudyError(f"{shown(storage)} holds {found}; name one")
            (name,) = names
        return cls(OptunaLedger(storage, name))

    def close(self) -> None:
        """Lets go of the storage."""
        self.ledger.close()

    @property
    def name(self) -> str:
        return self.ledger.name

    @property
    def description(self) -> dict[str, Any]:
        """What is searched, and how: task, strategy, seed, budget, ..."""
        about: dict[str, Any] = self.ledger.description().get(ABOUT, {})
        return about

    @property
    def higher_is_better(self) -> bool:
        return bool(self.description.get("direction", "maximize") == "maximize")

    @property
    def ended(self) -> bool:
        """Whether its search is over, and all that it proposed is finished."""
        return bool(self.ledger.description().get(ENDED, False))

    @property
    def trials(self) -> list[Trial]:
        """In the order they were proposed."""
        return sorted(self.ledger.trials(), key=lambda trial: trial.number)

    def best(self) -> Trial | None:
        """Of the complete ones; the first of equals."""
        return best_of(self.trials, self.higher_is_better)

    @property
    def best_dag(self) -> Dag:
        return self._best().dag

    @property
    def best_score(self) -> float:
        score = self._best().score
        assert score is not None
        return score

    def _best(self) -> Trial:
        best = self.best()
        if best is None:
            raise StudyError(f"no candidate of the study {self.name!r} has a score yet")
        return best


def storage_of(run: Path) -> str:
    """The address of a run's own studies."""
    return f"sqlite:///{(run / DATABASE).absolute()}"


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
