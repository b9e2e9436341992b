"""Data sets of DAGs, with scores where there are any, split into train, validation and test parts."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from dvae.dag.columns import NO_PROPERTIES
from dvae.dag.jsonl import SPLITS, ScoredDag, format_line
from dvae.dag.value import Dag
from dvae.errors import TaskError

TRAIN_SHARE = 0.9  # paper, section 4


@dataclass(frozen=True)
class DagSet:
    """DAGs in a fixed order; `scores` has one entry per DAG, None where there is no score."""

    dags: tuple[Dag, ...]
    scores: tuple[float | None, ...]
    origin: Dataset | None = field(default=None, compare=False, repr=False)  # the data set it is a part of

    def __post_init__(self) -> None:
        if len(self.dags) != len(self.scores):
            raise TaskError(f"{len(self.dags)} DAGs have {len(self.scores)} scores")

    @classmethod
    def of(cls, dags: Sequence[Dag], scores: Sequence[float | None] | None = None) -> DagSet:
        """These DAGs, with their scores where there are any."""
        return cls(tuple(dags), (None,) * len(dags) if scores is None else tuple(scores))

    @classmethod
    def of_items(cls, items: Sequence[ScoredDag]) -> DagSet:
        """The DAGs and scores of these items."""
        return cls(tuple(item.dag for item in items), tuple(item.score for item in items))

    def __len__(self) -> int:
        return len(self.dags)

    def __iter__(self) -> Iterator[ScoredDag]:
        return (ScoredDag(dag, score) for dag, score in zip(self.dags, self.scores, strict=True))

    @property
    def scored(self) -> bool:
        """Whether every DAG has a score."""
        return len(self) > 0 and all(score is not None for score in self.scores)

    @property
    def property_names(self) -> tuple[str, ...]:
        """The properties that DAGs of this set have, in the order in which they first come."""
        return tuple(dict.fromkeys(name for dag in self.dags for name in dag.properties))

    @cached_property
    def properties(self) -> dict[str, Tensor]:
        """Every property as a float64 tensor with one number per DAG, NaN where a DAG has none."""  # dag
        return {
            name: torch.tensor([dag.properties.get(name, math.nan) for dag in self.dags], dtype=torch.float64)
            for name in self.property_names
        }

    def with_scores_only(self) -> DagSet:
        """The DAGs that have a score."""
        return DagSet.of_items([item for item in self if item.score is not None])


@dataclass(frozen=True)
class DataSource:
    """How a data set can be had again: from a file, or from the task itself.

    `size` limits a file or says how many DAGs to sample with `seed`. `validation` is a share of the training DAGs to
    keep back, or a file.
    """

    file: str | None = None
    size: int | None = None
    seed: int = 0
    validation: float | str | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.size < 2:
            raise TaskError(f"a data set needs at least 2 DAGs to split, not {self.size}")
        if isinstance(self.validation, float) and not 0 < self.validation < 1:
            raise TaskError(f"the validation share must lie between 0 and 1, not {self.validation}")


@dataclass(frozen=True)
class Dataset:
    """A data set: first the training DAGs, then the validation DAGs, then the test DAGs."""

    name: str
    everything: DagSet
    train_size: int
    validation_size: int = 0
    source: DataSource | None = None

    @classmethod
    def of(
        cls,
        name: str,
        train: DagSet | Sequence[Dag],
        validation: DagSet | Sequence[Dag] = (),
        test: DagSet | Sequence[Dag] = (),
    ) -> Dataset:
        """The data set of these parts."""
        parts = [part if isinstance(part, DagSet) else DagSet.of(part) for part in (train, validation, test)]
        items = [item for part in parts for item in part]
        return cls(name, DagSet.of_items(items), len(parts[0]), len(parts[1]))

    @classmethod
    def split(cls, name: str, items: Sequence[ScoredDag], size: int | None = None) -> Dataset:
        """The parts that the items name themselves; else the original's split.

        The original shuffles by `random.Random(0)` and takes nine tenths for training. `size` takes the first items;
        where items name their part, it takes the first training items and all others.
        """
        if any(item.split is not None for item in items):
            return cls._as_named(name, items, size)
        chosen = list(items if size is None else items[:size])
        if len(chosen) < 2:
            dags = "1 DAG" if len(chosen) == 1 else f"{len(chosen)} DAGs"
            raise TaskError(f"{name} holds {dags}; a data set needs at least 2 to split")
        random.Random(0).shuffle(chosen)
        train_size = min(max(1, int(len(chosen) * TRAIN_SHARE)), len(chosen) - 1)
        return cls(name, DagSet.of_items(chosen), train_size)

    @classmethod
    def _as_named(cls, name: str, items: Sequence[ScoredDag], size: int | None) -> Dataset:
        unnamed = next((number for number, item in enumerate(items, start=1) if item.split is None), None)
        if unnamed is not None:
            raise TaskError(f'{name}: DAG {unnamed} has no "split", though others have; give it to all or to none')
        train, validation, test = ([item for item in items if item.split == part] for part in SPLITS)
        if not train:
            raise TaskError(f'{name} holds no DAG whose "split" is "train"')
        train = train[:size]
        return cls(name, DagSet.of_items([*train, *validation, *test]), len(train), len(validation))

    @cached_property
    def train(self) -> DagSet:
        """The training DAGs."""
        return self._part(0, self.train_size)

    @cached_property
    def validation(self) -> DagSet:
        """The validation DAGs; there may be none."""
        return self._part(self.train_size, self.train_size + self.validation_size)

    @cached_property
    def test(self) -> DagSet:
        """The test DAGs."""
        return self._part(self.train_size + self.validation_size, len(self))

    def __len__(self) -> int:
        return len(self.everything)

    def with_validation(self, share: float) -> Dataset:
        """The same DAGs with the last `share` of the training DAGs kept back for validation."""
        if self.validation_size:
            raise TaskError(f"{self.name} has a validation part already, of {self.validation_size:,} DAGs")
        count = min(max(1, round(share * self.train_size)), self.train_size - 1)
        if count < 1:
            raise TaskError(f"{self.name} has {self.train_size} training DAG; none can be kept back for validation")
        return replace(self, train_size=self.train_size - count, validation_size=count)

    def items(self) -> Iterator[ScoredDag]:
        """Every DAG with its score and the name of its part."""
        for part, name in zip((self.train, self.validation, self.test), SPLITS, strict=True):
            for item in part:
                yield replace(item, split=name)

    @cached_property
    def fingerprint(self) -> str:
        """Other DAGs, another order or other parts give another fingerprint; scores and properties do not count."""
        digest = hashlib.sha256(f"{self.train_size} {self.validation_size}".encode())
        for dag in self.everything.dags:
            digest.update(format_line(replace(dag, properties=NO_PROPERTIES) if dag.properties else dag).encode())
        return digest.hexdigest()[:16]

    def _part(self, first: int, last: int) -> DagSet:
        return DagSet(self.everything.dags[first:last], self.everything.scores[first:last], self)
