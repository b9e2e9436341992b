"""The paper's search: its posterior is GPyTorch's, given the points that are believed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("botorch")
pytest.importorskip("gpytorch")

from dvae.regression.sparse_gp import PaperFit
from dvae.strategies.paper import _Believer

WIDTH, INDUCING = 5, 30


@pytest.fixture(scope="module")
def process() -> Any:
    """A sparse GP that has learned something."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(300, WIDTH, generator=generator)
    targets = points[:, 0].sin() + 0.1 * torch.randn(300, generator=generator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = PaperFit(epochs=20, batch_size=100, learning_rate=1e-2)
        return fit.fit(points, targets, INDUCING, generator, lambda share: None)


def slow_posterior(process: Any, points: Tensor, jitter: float = 1e-4) -> tuple[Tensor, Tensor]:
    """Mean and covariance with GPyTorch's own kernel, by the formulas of Hensman et al. (2015), whitened."""
    kernel = process.covar_module
    inducing = process.variational_strategy.inducing_points.detach()
    distribution = process.variational_strategy._variational_distribution
    with torch.no_grad():
        every = kernel(torch.cat([inducing.double(), points])).to_dense().double()
        root = distribution.chol_variational_covar.double().tril()
        mean = distribution.variational_mean.double()
    known, cross, own = every[:INDUCING, :INDUCING], every[:INDUCING, INDUCING:], every[INDUCING:, INDUCING:]
    factor = torch.linalg.cholesky(known + jitter * torch.eye(INDUCING, dtype=torch.float64))
    features = torch.linalg.solve_triangular(factor, cross, upper=False).mT
    unit = torch.eye(INDUCING, dtype=torch.float64)
    return features @ mean, own - features @ (unit - root @ root.mT) @ features.mT


def test_the_posterior_is_that_of_the_sparse_gp_and_of_what_is_believed(process: Any) -> None:
    points = torch.randn(9, WIDTH, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    shift = torch.full((WIDTH,), 0.3, dtype=torch.float64)
    believer = _Believer(process, shift, best=0.0)
    mean, covariance = slow_posterior(process, points - shift)
    for believed in range(3):
        found_mean, found_variance = believer.moments(points[3:])
        torch.testing.assert_close(found_mean, mean[3:], rtol=1e-6, atol=1e-6)
        seen, rest = covariance[:believed, :believed], covariance[3:, :believed]
        noise = 1e-5 * torch.eye(believed, dtype=torch.float64)
        told = (rest @ torch.linalg.inv(seen + noise) * rest).sum(1) if believed else 0.0
        expected = (covariance.diagonal()[3:] - told).clamp(min=1e-6)
        torch.testing.assert_close(found_variance, expected, rtol=1e-4, atol=1e-6)
        believer.believe(points[believed])
    assert believer.best == pytest.approx(max(0.0, *mean[:3].tolist()), rel=1e-5)


def test_the_gp_itself_agrees(process: Any) -> None:
    points = torch.randn(7, WIDTH, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    believer = _Believer(process, torch.zeros(WIDTH, dtype=torch.float64), best=0.0)
    process.eval()
    with torch.no_grad():
        theirs = process(points.float())
    mean, variance = believer.moments(points)
    torch.testing.assert_close(mean, theirs.mean.double(), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(variance, theirs.variance.double(), rtol=1e-2, atol=1e-3)
