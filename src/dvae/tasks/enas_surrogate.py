"""The ENAS-6 space with a stand-in for its scores: a random forest fitted to the paper's scored architectures.

The weights that the paper's scores come from are not to hand. What this task tells of an architecture is a prediction,
not a measurement; `held_out` says how good predictions are on architectures the forest has not seen.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagSet
from dvae.errors import DagError, TaskError
from dvae.regression.features import one_hot_features
from dvae.regression.forest import Forest
from dvae.regression.metrics import pearson, rmse
from dvae.tasks.enas import EnasTask

log = logging.getLogger("dvae")

NAME = "enas6-surrogate"


@dataclass(frozen=True)
class HeldOut:
    """How predictions fit the scores of the test split: correlation and root mean squared error."""

    r: float
    rmse: float
    train: int
    test: int


class EnasSurrogateTask(EnasTask):
    """Six layers; scores are predicted weight-sharing accuracies."""

    examples = (NAME,)

    @property
    def can_score(self) -> bool:
        return True

    def __init__(self) -> None:
        super().__init__(6)
        self.name = NAME

    @classmethod
    def from_name(cls, name: str) -> EnasSurrogateTask | None:
        return cls() if name == NAME else None

    def spec(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> EnasSurrogateTask:
        return cls()

    def scores(self, dags: Sequence[Dag]) -> list[float]:
        """Predicted scores, of architectures of six layers: the forest has seen no others."""
        if not dags:
            return []
        for dag in dags:
            if len(dag) != self.max_nodes:
                raise DagError(f"the surrogate knows architectures of 6 layers, not of {len(dag) - 2}")
        predicted: list[float] = self._forest[0].predict(self._features(dags)).tolist()
        return predicted

    @property
    def held_out(self) -> HeldOut:
        """Of the forest on the tenth of the paper's architectures that it was not fitted to."""
        return self._forest[1]

    @cached_property
    def _forest(self) -> tuple[Forest, HeldOut]:
        data = self.dataset()
        forest = Forest.fit(self._features(data.train.dags), _targets(data.train))
        predicted, true = forest.predict(self._features(data.test.dags)), _targets(data.test)
        r = pearson(predicted, true)
        log.warning(
            "the scores of %s are predictions of a random forest, not measurements; on %d held-out DAGs r = %.3f",
            self.name, len(data.test), r,
        )  # fmt: skip
        return forest, HeldOut(r, rmse(predicted, true), len(data.train), len(data.test))

    def _features(self, dags: Sequence[Dag]) -> Tensor:
        return one_hot_features(self.batch(dags), self.num_types)  # dag feature


def _targets(data: DagSet) -> Tensor:
    if not data.scored:
        raise TaskError("the surrogate of enas6 needs architectures that all have scores")
    return torch.tensor(data.scores, dtype=torch.float64)
