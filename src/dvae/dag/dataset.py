"""Collections of DAGs, with scores where there are any, split once and for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from dvae.dag.value import Dag
from dvae.errors import DagError


@dataclass(frozen=True)
class DagSet:
    """DAGs in a fixed order; `scores` has one number for each, or None where there is none."""

    dags: tuple[Dag, ...]
    scores: tuple[float | None, ...]

    def __post_init__(self) -> None:
        if len(self.dags) != len(self.scores):
            raise DagError(f"{len(self.dags)} DAGs have {len(self.scores)} scores")

    @classmethod
    def of(cls, dags: Sequence[Dag], scores: Sequence[float | None] | None = None) -> DagSet:
        return cls(tuple(dags), (None,) * len(dags) if scores is None else tuple(scores))

    def __len__(self) -> int:
        return len(self.dags)

    @property
    def scored(self) -> bool:
        """Whether every DAG has a score."""
        return len(self) > 0 and all(score is not None for score in self.scores)


@dataclass(frozen=True)
class ScoredDags:
    """A data set whose first `train_size` DAGs are for training and whose others are for testing."""

    name: str
    everything: DagSet
    train_size: int

    @cached_property
    def train(self) -> DagSet:
        return DagSet(self.everything.dags[: self.train_size], self.everything.scores[: self.train_size])

    @cached_property
    def test(self) -> DagSet:
        return DagSet(self.everything.dags[self.train_size :], self.everything.scores[self.train_size :])

    def __len__(self) -> int:
        return len(self.everything)
