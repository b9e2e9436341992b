"""What a search believes of DAGs it has not scored: a linear model of graph states, and a Gaussian process.

A graph state is what an encoder knows of a DAG before the bottleneck. Where it is a sum over nodes, as D-VAE's of
Bayesian networks is, a sum over families of variables, and where the score is such a sum too, as BIC is, the score is
nearly linear in the state, far more than anything on the latents can tell (`dvae predictivity` shows both). Where it
is not, the linear model says little, and the process, which learns from its errors, says the rest.

The linear model has no doubt about itself, and a search goes straight to where it is most mistaken. So it is asked only
where scored DAGs far outnumber its features. Before that the process is alone, and sees graph states itself.

What matters is how far a DAG is from the best: both are joined in log(1 + gap / unit).
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from dvae.regression.linear import LinearModel

Process = Literal["graphs", "latents"]  # what the process sees while it is alone; behind the linear model, latents
UNIT_QUANTILE = 0.1
POINTS_PER_FEATURE = 2  # of the linear model, at least
MIN_LENGTH_SCALE = (
    1.0  # length scale; DAGs are about 1.5 apart, and a process that sees less far learns nothing of others
)
MIN_DEVIATION = 0.3  # of a feature, as a share of the mean one: few known DAGs may all agree by chance
FIT_ITERATIONS = 60


class Seen(NamedTuple):
    """What a search sees of DAGs, one row per DAG."""

    states: Tensor  # DAG feature: graph states
    latents: Tensor  # DAG latent
    plain: Tensor  # DAG feature: one-hot types and edges

    @classmethod
    def none(cls) -> Seen:
        return cls(*(torch.empty(0, 0, dtype=torch.float64) for _ in cls._fields))

    def at(self, places: Tensor | slice) -> Seen:
        return Seen(*(part[places] for part in self))

    def joined(self, others: Seen) -> Seen:
        return Seen(
            *(torch.cat([one.reshape(-1, other.shape[1]), other]) for one, other in zip(self, others, strict=True))
        )


class Surrogate:
    """Learns from known DAGs and their scores; the process from some of them, `chosen`."""

    def __init__(self, seen: Seen, scores: Tensor, chosen: Tensor, process: Process = "graphs") -> None:
        self.best = float(scores.max())
        gaps = self.best - scores[chosen]
        positive = gaps[gaps > 0]
        self.unit = float(positive.quantile(UNIT_QUANTILE).clamp(min=1e-12)) if len(positive) else 1.0
        self.linear: LinearModel | None = None
        residuals = self._joined(scores[chosen])
        if len(scores) >= POINTS_PER_FEATURE * seen.states.shape[1]:
            self.linear = LinearModel.fit(seen.states, scores)
            residuals = residuals - self._joined(self.linear.left_out[chosen])
        self.level, self.scale = residuals.mean(), residuals.std().clamp(min=1e-9)
        self.residuals = (residuals - self.level) / self.scale
        known = seen.at(chosen)
        self.view: _View = _Graphs(seen) if process == "graphs" and self.linear is None else _Cube(known)
        self.points = self.view.points(known)
        self.process: Any = None

    def prepare(self, settings: Mapping[str, Tensor] | None, fit: bool) -> dict[str, Tensor]:
        """Makes the process ready with `settings` of an earlier one, or fits its own; what they are now."""
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(
            self.points, self.residuals[:, None], covar_module=self.view.kernel(), outcome_transform=None
        )
        names = {name for name, _ in model.named_parameters()}  # not the bounds they keep to, some of them infinite
        known = settings is not None and settings.keys() == names  # the kernel changes with what the process sees
        if known:
            model.load_state_dict(dict(settings or {}), strict=False)
        if fit or not known:
            likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
            with _quiet():
                fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": FIT_ITERATIONS}})
        self.process = model
        return {name: value.detach().clone() for name, value in model.named_parameters()}

    @torch.no_grad()
    def values(self, seen: Seen, samples: int = 0) -> tuple[Tensor, Tensor]:
        """The expectation of DAGs, and some samples of what may be true; 0 is as good as the best known."""
        guess = (
            self._joined(self.linear.predict(seen.states)) if self.linear else seen.states.new_zeros(len(seen.states))
        )
        with _quiet():
            posterior = self.process.posterior(self.view.points(seen))
            mean = guess + self.level + self.scale * posterior.mean[:, 0]
            drawn = posterior.rsample(torch.Size([samples]))[..., 0] if samples else mean.new_empty(0, len(mean))
        return mean, guess + self.level + self.scale * drawn  # DAG; sample DAG

    def _joined(self, scores: Tensor) -> Tensor:
        """Minus the logarithm of the gap to the best, continued straight above it."""
        gaps = (self.best - scores) / self.unit
        return torch.where(gaps > 0, -torch.log1p(gaps.clamp(min=0)), -gaps)


class _View(Protocol):
    """How a process sees DAGs."""

    def points(self, seen: Seen) -> Tensor: ...

    def kernel(self) -> Any: ...


class _Cube:
    """Latents in the unit cube, one length scale per dimension, under a prior that grows with their number."""

    def __init__(self, known: Seen) -> None:
        self.low = known.latents.min(0).values
        self.size = (known.latents.max(0).values - self.low).clamp(min=1e-9)

    def points(self, seen: Seen) -> Tensor:
        return (seen.latents - self.low) / self.size

    def kernel(self) -> None:
        """BoTorch's own (Hvarfner et al., ICML 2024)."""


class _Graphs:
    """Graph states and plain features side by side, one length scale for all: few settings to learn from few scores.

    Both are scaled by the square root of their number, so that typical distances do not depend on it.
    """

    def __init__(self, known: Seen) -> None:
        self.mean = known.states.mean(0)
        deviation = known.states.std(0, correction=0)
        self.deviation = deviation.clamp(min=max(MIN_DEVIATION * float(deviation.mean()), 1e-9))
        self.varying = max(1, int((known.plain != known.plain[0]).any(0).sum()))

    def points(self, seen: Seen) -> Tensor:
        states = (seen.states - self.mean) / self.deviation / math.sqrt(len(self.mean))
        return torch.cat([states, seen.plain / math.sqrt(self.varying)], 1)

    def kernel(self) -> Any:
        from gpytorch.constraints import GreaterThan
        from gpytorch.kernels import RBFKernel, ScaleKernel

        return ScaleKernel(RBFKernel(lengthscale_constraint=GreaterThan(MIN_LENGTH_SCALE)))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Points that nearly coincide need some jitter, and a fit may end at its last iteration: no news to a user."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
