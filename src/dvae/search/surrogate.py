"""What a search believes of DAGs it has not scored: a linear model of graph states, and a Gaussian process on latents.

A graph state is what an encoder knows of a DAG before the bottleneck. Where it is a sum over nodes, as D-VAE's of
Bayesian networks is, a sum over families of variables, and where the score is such a sum too, as BIC is, the score is
nearly linear in the state, far more than anything on the latents can tell (`dvae predict` shows both). Where it is not,
the linear model says little, and the process, which learns from its errors, says the rest.

What matters is how far a DAG is from the best: both are joined in log(1 + gap / unit).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from dvae.evaluation.linear import LinearModel

UNIT_QUANTILE = 0.1
FIT_ITERATIONS = 60


class Surrogate:
    """Learns from the states, latents and scores of known DAGs; the process from some of them, `chosen`."""

    def __init__(self, states: Tensor, latents: Tensor, scores: Tensor, chosen: Tensor) -> None:
        self.best = float(scores.max())
        gaps = self.best - scores[chosen]
        positive = gaps[gaps > 0]
        self.unit = float(positive.quantile(UNIT_QUANTILE).clamp(min=1e-12)) if len(positive) else 1.0
        self.linear = LinearModel.fit(states, scores)
        self.points = latents[chosen]
        residuals = self._joined(scores[chosen]) - self._joined(self.linear.left_out[chosen])
        self.level, self.scale = residuals.mean(), residuals.std().clamp(min=1e-9)
        self.residuals = (residuals - self.level) / self.scale
        self.low = self.points.min(0).values
        self.size = (self.points.max(0).values - self.low).clamp(min=1e-9)
        self.process: Any = None

    def prepare(self, settings: Mapping[str, Tensor] | None, fit: bool) -> dict[str, Tensor]:
        """Makes the process ready with `settings` of an earlier one, or fits its own; what they are now."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP((self.points - self.low) / self.size, self.residuals[:, None], outcome_transform=None)
        if settings is not None:
            model.load_state_dict(dict(settings), strict=False)
        if settings is None or fit:
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            with _quiet():
                fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": FIT_ITERATIONS}})
        self.process = model
        kept = ("likelihood", "mean_module", "covar_module")
        return {key: value.clone() for key, value in model.state_dict().items() if key.startswith(kept)}

    @torch.no_grad()
    def values(self, states: Tensor, latents: Tensor, samples: int = 0) -> tuple[Tensor, Tensor]:
        """The expectation of DAGs, and some samples of what may be true; 0 is as good as the best known."""
        guess = self._joined(self.linear.predict(states))
        with _quiet():
            posterior = self.process.posterior((latents - self.low) / self.size)
            mean = guess + self.level + self.scale * posterior.mean[:, 0]
            drawn = posterior.rsample(torch.Size([samples]))[..., 0] if samples else mean.new_empty(0, len(mean))
        return mean, guess + self.level + self.scale * drawn  # DAG; sample DAG

    def _joined(self, scores: Tensor) -> Tensor:
        """Minus the logarithm of the gap to the best, continued straight above it."""
        gaps = (self.best - scores) / self.unit
        return torch.where(gaps > 0, -torch.log1p(gaps.clamp(min=0)), -gaps)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Points that nearly coincide need some jitter, and a fit may end at its last iteration: no news to a user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
