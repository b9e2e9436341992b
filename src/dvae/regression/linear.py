"""Linear regression that finds its own ridge."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

RIDGES = tuple(10.0**power for power in range(-15, 3))  # of the largest eigenvalue


@dataclass(frozen=True)
class LinearModel:
    """Ridge regression whose ridge is the best by leaving each point out in turn."""

    mean: Tensor  # feature
    weight: Tensor  # feature
    level: float
    left_out: Tensor  # what the model without a point says of it, for every point

    @classmethod
    def fit(cls, features: Tensor, targets: Tensor) -> LinearModel:
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

    def predict(self, features: Tensor) -> Tensor:
        return self.level + (features - self.mean) @ self.weight
