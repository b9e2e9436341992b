"""Linear regression that finds its own ridge."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.regression import Report

RIDGES = tuple(10.0**power for power in range(-15, 3))  # of the largest eigenvalue


@dataclass(frozen=True)
class LinearModel:
    """Ridge regression whose ridge is the best by leave-one-out."""

    mean: Tensor  # feature
    weight: Tensor  # feature
    level: float
    left_out: Tensor  # the prediction for each point by the model fitted without it

    @classmethod
    def fit(cls, features: Tensor, targets: Tensor) -> LinearModel:
        """Fits one row of features per target."""
        mean, level = features.mean(0), float(targets.mean())
        centred, gaps = features - mean, targets - level
        values, vectors = torch.linalg.eigh(centred.mT @ centred)
        values = values.clamp(min=0)
        rotated = centred @ vectors  # point component
        projected = rotated.mT @ gaps
        squares = rotated.square()
        best: tuple[float, Tensor, Tensor] | None = None
        for share in RIDGES:
            ridge = share * float(values[-1]) + 1e-300
            coefficients = projected / (values + ridge)
            leverage = (squares @ (1 / (values + ridge)) + 1 / len(gaps)).clamp(max=1 - 1e-6)
            errors = (gaps - rotated @ coefficients) / (1 - leverage)
            size = float(errors.square().mean())
            if best is None or size < best[0]:
                best = size, coefficients, targets - errors
        assert best is not None
        return cls(mean, vectors @ best[1], level, best[2])

    def fits(self, width: int) -> bool:
        """Whether rows of `width` features are what it was fitted to."""
        return self.mean.shape == self.weight.shape == (width,)

    def predict(self, features: Tensor) -> Tensor:
        """One number per row of features."""  # row
        return self.level + (features - self.mean) @ self.weight


def predict(train: Tensor, targets: Tensor, test: Tensor, seed: int, report: Report) -> Tensor:
    """The linear model as a regressor, in double precision."""
    return LinearModel.fit(train.double(), targets.double()).predict(test.double())
