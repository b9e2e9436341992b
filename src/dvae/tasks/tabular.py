"""Tasks whose every DAG was scored by others, once and for all: true scores at no cost."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import cached_property

import torch

from dvae.dag import Dag, DagBatch, Dataset, DataSource, ScoredDag
from dvae.errors import TaskError
from dvae.tasks.base import ModelHints, Task

# Operations side by side know nothing of each other, so the newest one's state does not tell how far a decoder is: it
# looks at the sum of all states. Position matters, as it says which operation is meant.
HINTS = ModelHints(
    aggregation="gated-sum-position", bidirectional=True, readout="sum", graph_state="sum", edge_context=True
)


class TabularTask(Task):
    """All DAGs of the task with their scores.

    A model may draw edges that mean nothing here; they are dropped when its DAG is unwrapped, while a user's DAG must
    be right as it is.
    """

    preset = "paper"
    varies_in_size = False
    data_is_complete = True

    @property
    def can_score(self) -> bool:
        return True

    @abstractmethod
    def read_entries(self) -> list[ScoredDag]:
        """Every DAG of the benchmark, each once, with its score."""

    @cached_property
    def entries(self) -> tuple[ScoredDag, ...]:
        """Every DAG with its score, in an order that says nothing about either."""
        found = self.read_entries()
        random.Random(0).shuffle(found)
        return tuple(found)

    @cached_property
    def _score_of(self) -> dict[Hashable, float]:
        keys = self.keys_of([entry.dag for entry in self.entries])
        return {key: entry.score for key, entry in zip(keys, self.entries, strict=True) if entry.score is not None}

    def scores(self, dags: Sequence[Dag]) -> list[float]:
        """The scores of the benchmark."""
        found = []
        for number, key in enumerate(self.keys_of(dags)):
            if key not in self._score_of:
                raise TaskError(f"DAG {number} is not in the tables of {self.name}")
            found.append(self._score_of[key])
        return found

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        found = Dataset.split(self.name, self.entries, size)
        return replace(found, source=DataSource(size=size, seed=seed))

    def best(self, share: float) -> float:
        """The score that `share` of all DAGs reach."""
        scores = sorted(self._score_of.values(), reverse=True)
        return scores[max(1, int(share * len(scores))) - 1]

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        """DAGs of the tables, each as likely as any other."""
        generator = torch.Generator().manual_seed(seed)
        places = torch.randint(len(self.entries), (count,), generator=generator).tolist()
        return self.batch([self.entries[place].dag for place in places])
