"""Sparse Gaussian process regression with an RBF kernel, one length scale per dimension, by GPyTorch.

The paper took the code of Kusner et al. (2017): inducing points as in Snelson and Ghahramani (2006), their values
under a free Gaussian, trained together with the points and the kernel by Adam on minibatches. The preset "paper" is
that schedule on GPyTorch's variational GP (Hensman et al., 2015), with the log density of the prediction as
the fit (`PredictiveLogLikelihood`, Jankowiak et al., 2020), the sibling of Snelson and Ghahramani's likelihood. Its
100 epochs end long before it has converged.

The preset "converged" keeps the inducing points where they are, at training points, and integrates their values out
(Titsias, 2009). What is left is the kernel and the noise, which L-BFGS drives to the top of the bound.

Both want targets of mean 0 and deviation 1. This module needs the extra `search`; import it where it is used.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.errors import DvaeError
from dvae.extras import missing
from dvae.regression import Draw, Report
from dvae.regression.metrics import standardised

try:
    import gpytorch
    from gpytorch import constraints, kernels, likelihoods, mlls, priors, variational
    from gpytorch.distributions import MultivariateNormal
    from gpytorch.models import ApproximateGP, ExactGP
    from linear_operator.operators import DiagLinearOperator
    from linear_operator.utils.errors import NanError, NotPSDError
    from linear_operator.utils.warnings import NumericalWarning
except ModuleNotFoundError as error:
    raise missing("gpytorch", "search", "a sparse Gaussian process") from error

FIRST_NOISE = 0.1  # variance, where the targets' own is 1
LOG_SCALE_DEVIATION = math.sqrt(3)  # of the priors: as wide as Hvarfner et al. (2024) have theirs
MIN_SCALE = 1e-2  # where inputs and targets have deviation 1: a long step of L-BFGS must not end at 0
PREDICTION_BATCH = 2048
DISTANCE_POINTS = 1000  # whose distances give the first length scale
ONE = torch.Size()  # fit, not several side by side


@dataclass(frozen=True)
class PaperFit:
    """Adam on minibatches (paper, appendix "SGP Training Details"); inputs as they are."""

    epochs: int = 100
    batch_size: int = 1000
    learning_rate: float = 5e-4

    def predict(
        self, train: Tensor, targets: Tensor, test: Tensor, inducing: int, generator: torch.Generator, report: Report
    ) -> Tensor:
        """The predicted means at `test`, given `targets` at `train`."""
        mean = train.mean(0)  # to the kernel a shift is nothing; to float32 it may be much
        return _means(self.fit(train - mean, targets, inducing, generator, report), test, mean)

    def predict_all(
        self,
        train: Tensor,
        targets: Tensor,
        test: Tensor,
        inducing: int,
        generators: Sequence[torch.Generator],
        report: Report,
    ) -> Tensor:
        """The means of `predict` for several independent fits, trained side by side: to a GPU, whose time goes into
        starting small kernels, ten are little more than one. Each has its own training points and generator."""
        mean = train.mean(1, keepdim=True)  # fit 1 feature
        train = train - mean
        starts = [self._start(*each, inducing) for each in zip(train, generators, strict=True)]
        scales, points = zip(*starts, strict=True)
        model: VariationalGP = VariationalGP(torch.stack(points), torch.tensor(scales)[:, None, None]).to(train)
        self._climb(model, train, targets, generators, report)
        return _means(model, test, mean)  # fit row

    def fit(
        self, train: Tensor, targets: Tensor, inducing: int, generator: torch.Generator, report: Report
    ) -> VariationalGP:
        """The trained GP itself."""
        scale, points = self._start(train, generator, inducing)
        model: VariationalGP = VariationalGP(points, scale).to(train)
        self._climb(model, train, targets, [generator], report)
        return model

    @staticmethod
    def _start(train: Tensor, generator: torch.Generator, inducing: int) -> tuple[float, Tensor]:
        """The first length scale and inducing points."""
        return _median_distance(train, generator), _inducing_points(train, inducing, generator)

    def _climb(
        self,
        model: VariationalGP,
        train: Tensor,
        targets: Tensor,
        generators: Sequence[torch.Generator],
        report: Report,
    ) -> None:
        """Trains one fit, or several: then all tensors have them first."""
        size = train.shape[-2]
        likelihood = _gaussian_noise(train.shape[:-2]).to(train)
        bound = mlls.PredictiveLogLikelihood(likelihood, model, num_data=size)
        optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=self.learning_rate)
        fits = torch.arange(len(generators), device=train.device)[:, None] if train.dim() == 3 else None
        model.train()
        for epoch in range(self.epochs):
            order = torch.stack([torch.randperm(size, generator=each) for each in generators]).to(train.device)
            for chosen in order.split(self.batch_size, dim=1):
                rows = chosen[0] if fits is None else (fits, chosen)
                optimizer.zero_grad(set_to_none=True)
                loss = -bound(model(train[rows]), targets[rows]).sum()
                loss.backward()
                optimizer.step()
            report((epoch + 1) / self.epochs)


@dataclass(frozen=True)
class ConvergedFit:
    """L-BFGS on the collapsed bound; inputs of mean 0 and deviation 1.

    The kernel and the noise are found on at most `points` training points, which is what makes ten repeats on two
    cores a matter of minutes; the prediction then rests on all of them.
    """

    points: int = 3000
    iterations: int = 150  # at most
    tolerance: float = 2e-3  # nats per point: it ends when the bound gained no more in `patience` iterations
    patience: int = 10

    def predict(
        self, train: Tensor, targets: Tensor, test: Tensor, inducing: int, generator: torch.Generator, report: Report
    ) -> Tensor:
        """The predicted means at `test`, given `targets` at `train`."""
        train, test = standardised(train.double(), test.double())
        targets = targets.double()
        inducing_points = _inducing_points(train, inducing, generator)
        chosen = torch.randperm(len(train), generator=generator)[: self.points].to(train.device)
        likelihood = _gaussian_noise().to(train)
        model = _CollapsedGP(train[chosen], targets[chosen], likelihood, inducing_points).to(train)
        self._climb(model, report)
        model.set_train_data(train, targets, strict=False)
        return _means(model, test)

    def _climb(self, model: _CollapsedGP, report: Report) -> None:
        bound = mlls.ExactMarginalLogLikelihood(model.likelihood, model)
        (points,), targets = model.train_inputs, model.train_targets
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=self.patience, line_search_fn="strong_wolfe")

        def loss() -> Tensor:
            value: Tensor = -bound(model(points), targets)  # nats per point
            return value

        def loss_with_gradient() -> Tensor:
            optimizer.zero_grad(set_to_none=True)
            value = loss()
            value.backward()
            return value

        model.train()
        before = math.inf
        for done in range(self.patience, self.iterations + 1, self.patience):
            optimizer.step(loss_with_gradient)
            report(done / self.iterations)
            with torch.no_grad():
                now = float(loss())
            if not before - now > self.tolerance:
                break
            before = now


PRESETS: dict[str, PaperFit | ConvergedFit] = {"converged": ConvergedFit(), "paper": PaperFit()}


def fit_predict(
    fit: PaperFit | ConvergedFit,
    train: Tensor,
    targets: Tensor,
    test: Tensor,
    *,
    inducing: int,
    generator: torch.Generator,
    report: Report = lambda share: None,
) -> Tensor:
    """The predicted means at `test`, given standardised `targets` at `train`, on the device of `train`.

    The same generator gives the same means. Inputs that are the same for all of `train` are left out.
    """  # batch
    varying = (train != train[0]).any(0)
    if not varying.any():
        return targets.mean().expand(len(test))
    with _numerics():
        predicted = fit.predict(train[:, varying], targets, test[:, varying], inducing, generator, report)
    return predicted.to(targets)


@contextlib.contextmanager
def _numerics() -> Iterator[None]:
    """Jitter where two points nearly coincide, without a warning; one clear error where that does not help."""
    with warnings.catch_warnings(), gpytorch.settings.cholesky_jitter(double_value=1e-6):
        warnings.simplefilter("ignore", NumericalWarning)
        try:
            yield
        except (NanError, NotPSDError) as error:
            raise DvaeError(f"the sparse GP broke down, perhaps on inputs that hardly differ: {error}") from error


@dataclass(frozen=True)
class SparseGP:
    """The sparse GP, trained as `fit` says, as a regressor."""

    fit: PaperFit | ConvergedFit
    inducing: int

    def __call__(self, train: Tensor, targets: Tensor, test: Tensor, seed: int, report: Report) -> Tensor:
        """The predicted means at `test`."""
        generator = torch.Generator().manual_seed(seed)
        return fit_predict(self.fit, train, targets, test, inducing=self.inducing, generator=generator, report=report)

    def together(self, inputs: Tensor, draws: Sequence[Draw], test: Tensor, report: Report) -> Tensor | None:
        """The same for several draws at a time, up to rounding; None where one after the other is as fast."""
        return self.side_by_side(inputs, draws, test, report) if inputs.is_cuda else None

    def side_by_side(self, inputs: Tensor, draws: Sequence[Draw], test: Tensor, report: Report) -> Tensor | None:
        """What `together` does on any device; None where fits cannot be laid side by side."""
        if not isinstance(self.fit, PaperFit):
            return None
        train = torch.stack([inputs[draw.rows] for draw in draws])  # fit row feature
        varying = (train != train[:, :1]).any(1)
        distinct = {min(self.inducing, len(rows.unique(dim=0))) for rows in train}
        if len(distinct) > 1 or not varying[0].any() or not (varying == varying[0]).all():
            return None
        targets = torch.stack([draw.targets for draw in draws])
        generators = [torch.Generator().manual_seed(draw.seed) for draw in draws]
        with _numerics():
            means = self.fit.predict_all(
                train[..., varying[0]], targets, test[:, varying[0]], self.inducing, generators, report
            )
        return means.to(targets)


class MarginalStrategy(variational.VariationalStrategy):  # type: ignore[misc] # GPyTorch has no types
    """GPyTorch's own, but the covariance of the data among themselves, of which only the diagonal is used, is never
    computed."""

    def forward(
        self,
        x: Tensor,
        inducing_points: Tensor,
        inducing_values: Tensor,
        variational_inducing_covar: Any = None,
        diag: bool = True,
        **_: Any,
    ) -> MultivariateNormal:
        kernel = self.model.covar_module
        factor = self._cholesky_factor(kernel(inducing_points).add_jitter(self.jitter_val))
        mean, covariance = self._compute_predictive_updates(
            chol=factor,
            induc_data_covar=kernel(inducing_points, x).to_dense(),
            inducing_values=inducing_values,
            variational_inducing_covar=variational_inducing_covar,
            prior_covar=self.prior_distribution.lazy_covariance_matrix,
        )
        variance = kernel(x, diag=True) + covariance.diagonal(dim1=-1, dim2=-2)
        return MultivariateNormal(mean, DiagLinearOperator(variance.clamp(min=self.jitter_val)))


class VariationalGP(ApproximateGP):  # type: ignore[misc]
    """Inducing points, a free Gaussian over their values, and a kernel; or several of them, where points have three
    dimensions."""

    def __init__(self, inducing_points: Tensor, length_scale: float | Tensor) -> None:
        *fits, count, width = inducing_points.shape
        values = variational.CholeskyVariationalDistribution(count, batch_shape=torch.Size(fits))
        strategy = MarginalStrategy(self, inducing_points, values)
        strategy.variational_params_initialized.fill_(1)  # at the prior, without GPyTorch's global noise
        super().__init__(strategy)
        self.covar_module = _rbf(width, length_scale, fits=torch.Size(fits))


class _CollapsedGP(ExactGP):  # type: ignore[misc]
    def __init__(self, train: Tensor, targets: Tensor, likelihood: Any, inducing_points: Tensor) -> None:
        super().__init__(train, targets, likelihood)
        width = train.shape[1]
        # Between standardised points distances grow with the square root of their width.
        kernel = _rbf(width, math.sqrt(width), MIN_SCALE)
        # Scores without noise, a count for one, draw both scales to infinity; thousands of points outweigh this.
        length_prior = priors.LogNormalPrior(math.log(width) / 2, LOG_SCALE_DEVIATION)
        kernel.base_kernel.register_prior("lengthscale_prior", length_prior, "lengthscale")
        kernel.register_prior("outputscale_prior", priors.LogNormalPrior(0.0, LOG_SCALE_DEVIATION), "outputscale")
        self.covar_module = kernels.InducingPointKernel(kernel, inducing_points, likelihood)
        self.covar_module.inducing_points.requires_grad_(False)

    def forward(self, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(x.new_zeros(len(x)), self.covar_module(x))


def _means(model: gpytorch.Module, test: Tensor, shift: Tensor | float = 0.0) -> Tensor:
    """The predictions of a trained model at test - shift, without their variances."""  # batch
    model.eval()
    with torch.no_grad(), gpytorch.settings.skip_posterior_variances():
        return torch.cat([model(part - shift).mean for part in test.split(PREDICTION_BATCH)], dim=-1)


def _rbf(width: int, length_scale: float | Tensor, minimum: float = 0.0, fits: torch.Size = ONE) -> Any:
    """One length scale per dimension, `length_scale` at first; they and the variance stay above `minimum`."""
    bound = constraints.GreaterThan(minimum)
    kernel = kernels.ScaleKernel(
        kernels.RBFKernel(ard_num_dims=width, lengthscale_constraint=bound, batch_shape=fits),
        outputscale_constraint=bound,
        batch_shape=fits,
    )
    kernel.outputscale = 1.0
    kernel.base_kernel.lengthscale = length_scale
    return kernel


def _gaussian_noise(fits: torch.Size = ONE) -> Any:
    likelihood = likelihoods.GaussianLikelihood(batch_shape=fits)
    likelihood.noise = FIRST_NOISE
    return likelihood


def _inducing_points(train: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """`count` distinct training points, or all there are."""  # inducing feature
    distinct: Tensor = train.unique(dim=0)
    return distinct[torch.randperm(len(distinct), generator=generator)[:count].to(train.device)]


def _median_distance(train: Tensor, generator: torch.Generator) -> float:
    """Of some training points that differ."""
    some = train[torch.randperm(len(train), generator=generator)[:DISTANCE_POINTS].to(train.device)]
    distances = torch.pdist(some)
    distances = distances[distances > 0]
    return float(distances.median()) if len(distances) else 1.0
