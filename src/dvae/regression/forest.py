"""Random forests, by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.extras import missing
from dvae.regression import Regressor, Report

TREES = 100
SEED_LIMIT = 2**32  # scikit-learn takes no larger seeds


@dataclass(frozen=True)
class Forest:
    """A fitted forest; the same features, targets and seed give the same one."""

    trees: Any  # scikit-learn's, without types

    @classmethod
    def fit(cls, features: Tensor, targets: Tensor, *, seed: int = 0) -> Forest:
        """Fits `TREES` regression trees to one row of features per target."""
        forest = _regressor_class()(TREES, random_state=seed % SEED_LIMIT, n_jobs=torch.get_num_threads())
        forest.fit(features.cpu().numpy(), targets.cpu().numpy())
        forest.set_params(n_jobs=1)  # threads would add up the trees in any order
        return cls(forest)

    def predict(self, features: Tensor) -> Tensor:
        """One number per row of features."""  # row, float64
        return torch.from_numpy(self.trees.predict(features.cpu().numpy()))


def regressor() -> Regressor:
    """A forest as a regressor; says at once if scikit-learn is missing."""
    _regressor_class()

    def predict(train: Tensor, targets: Tensor, test: Tensor, seed: int, report: Report) -> Tensor:
        return Forest.fit(train, targets, seed=seed).predict(test).to(targets)

    return predict


def _regressor_class() -> Any:
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        raise missing("scikit-learn", "search", "a random forest") from None
    return RandomForestRegressor
