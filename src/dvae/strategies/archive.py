"""What a search knows: every DAG that was scored, once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from dvae.dag import Dag, ScoredDag
from dvae.tasks import Task


class Archive:
    """Scored DAGs by key, and the keys of all that were proposed or failed: none is proposed twice."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.dags: list[Dag] = []
        self.scores: list[float] = []
        self._scored: set[Hashable] = set()
        self._taken: set[Hashable] = set()

    def __len__(self) -> int:
        return len(self.dags)

    def add(self, evaluations: Iterable[ScoredDag]) -> list[ScoredDag]:
        """Remembers the evaluations of DAGs that had no score yet, and returns those that have one now."""
        evaluations = list(evaluations)
        new = []
        for key, evaluation in zip(self.task.keys_of([item.dag for item in evaluations]), evaluations, strict=True):
            self._taken.add(key)
            if evaluation.score is None or key in self._scored:
                continue
            self._scored.add(key)
            self.dags.append(evaluation.dag)
            self.scores.append(float(evaluation.score))
            new.append(evaluation)
        return new

    def take(self, dags: Sequence[Dag], count: int) -> list[Dag]:
        """The first `count` of `dags` that nobody has proposed or scored; they count as proposed from now on."""
        chosen = self.unknown(dags)[:count]
        self._taken.update(self.task.keys_of(chosen))
        return chosen

    def unknown(self, dags: Sequence[Dag]) -> list[Dag]:
        """The distinct ones of `dags` that nobody has proposed or scored, in order."""
        seen: set[Hashable] = set()
        fresh = []
        for key, dag in zip(self.task.keys_of(dags), dags, strict=True):
            if key not in self._taken and key not in seen:
                seen.add(key)
                fresh.append(dag)
        return fresh

    def best(self) -> ScoredDag | None:
        """The DAG with the highest score; the first of equals."""
        if not self.dags:
            return None
        place = max(range(len(self.scores)), key=self.scores.__getitem__)
        return ScoredDag(self.dags[place], self.scores[place])
