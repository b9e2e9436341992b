"""Small statistics: standardised targets, and how close predictions are to the truth."""

from __future__ import annotations

from torch import Tensor


def standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """Both by the mean and the deviation of `train`, column by column."""
    mean, deviation = train.mean(0), train.std(0, correction=0)
    return (train - mean) / deviation, (test - mean) / deviation


def pearson(predictions: Tensor, truth: Tensor) -> float:
    """Pearson's correlation coefficient; 0 where either does not vary at all."""
    a, b = predictions - predictions.mean(), truth - truth.mean()
    norm = float(a.norm() * b.norm())
    return float(a @ b) / norm if norm > 0 else 0.0


def spearman(predictions: Tensor, truth: Tensor) -> float:
    """Spearman's correlation coefficient, that of the ranks; equal values share their mean rank."""
    return pearson(_ranks(predictions), _ranks(truth))


def _ranks(values: Tensor) -> Tensor:
    _, which, counts = values.unique(return_inverse=True, return_counts=True)
    ranks: Tensor = (counts.cumsum(0) - (counts - 1) / 2)[which]
    return ranks.double()


def rmse(predictions: Tensor, truth: Tensor) -> float:
    """The root mean squared error."""
    return float((predictions - truth).square().mean().sqrt())
