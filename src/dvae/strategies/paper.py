"""Bayesian optimisation as in the paper (section 4.3), which follows Kusner et al. (2017).

A sparse GP with 500 inducing points is trained anew each round. Points of a round are chosen one after another: each
maximises expected improvement over the box of the known latents, and is then believed to have the value the GP expects
there (Kriging Believer, Ginsbourger et al. 2010). A point is decoded many times and stands for the valid DAG that comes
out most often; where none is valid, it counts as a point with the worst known score.

What differs from the paper: no DAG is scored twice. A point whose DAG is known teaches the GP what is known and
costs no evaluation, so that a round has as many new DAGs as were asked for, if they are found.
"""

from __future__ import annotations

import base64
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import Drawing, check_botorch, draw_seed

JITTER = 1e-6
POINTS_PER_DAG = 3  # points tried for each DAG asked for, at most


@dataclass(frozen=True)
class PaperSearchConfig:
    """The paper's settings."""

    inducing: int = 500
    epochs: int = 100  # of the sparse GP
    decodings: int = 500  # of a point, to find its most common valid DAG
    raw_samples: int = 1024  # random points from which the ascent of the acquisition starts
    restarts: int = 4
    iterations: int = 30

    def __post_init__(self) -> None:
        counts = (self.inducing, self.epochs, self.decodings, self.raw_samples, self.restarts, self.iterations)
        check(all(count >= 1 for count in counts), "counts must be positive")


class PaperSearch(Drawing):
    """One sparse GP per round, its points chosen by expected improvement and a Kriging Believer."""

    description = "the paper's: sparse GP, expected improvement, Kriging Believer, the whole box"
    needs_start = True

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, config: PaperSearchConfig | None = None) -> None:
        check_botorch("the strategy paper")
        super().__init__(archive, seed)
        self.vae, self.config = vae, config or PaperSearchConfig()
        self.latents = torch.empty(0, vae.config.latent, dtype=torch.float64)
        self.scores: list[float] = []
        self.proposed: dict[Hashable, Tensor] = {}  # where in the box a DAG was found

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        new = self.archive.add(evaluations)
        if not new:
            return
        latents = self.vae.encode([evaluation.dag for evaluation in new]).mean.double().cpu()
        for place, key in enumerate(self.archive.task.keys_of([evaluation.dag for evaluation in new])):
            latents[place] = self.proposed.get(key, latents[place])
        self.latents = torch.cat([self.latents, latents])
        self.scores += [float(evaluation.score) for evaluation in new if evaluation.score is not None]

    def state(self) -> dict[str, Any]:
        return {**super().state(), "latents": _packed(self.latents), "scores": self.scores}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.latents = _unpacked(state["latents"], self.vae.config.latent)
        self.scores = list(state["scores"])

    def ask(self, count: int) -> list[Dag]:
        """A batch of DAGs decoded from the latents with the largest expected improvement."""
        if len(self.archive) < 2:
            raise DvaeError("a Gaussian process needs at least two scored DAGs to start from: tell it some first")
        low, high = self.latents.min(0).values, self.latents.max(0).values
        believer = self._believer()
        found: list[Dag] = []
        for _ in range(POINTS_PER_DAG * count):
            if len(found) == count:
                break
            point = self._best_point(believer, low, high)
            believer.believe(point)
            dag = self._most_common(point)
            if dag is None:
                self._learn(point, min(self.scores))
                continue
            fresh = self.archive.take([dag], 1)
            if fresh:
                self.proposed[self.archive.task.keys_of(fresh)[0]] = point
                found += fresh
        return found

    def _learn(self, point: Tensor, score: float) -> None:
        self.latents = torch.cat([self.latents, point[None]])
        self.scores.append(score)

    def _believer(self) -> _Believer:
        from dvae.regression.sparse_gp import PaperFit

        scores = torch.tensor(self.scores, dtype=torch.float64)
        targets = (scores - scores.mean()) / scores.std().clamp(min=1e-9)
        mean = self.latents.mean(0)
        fit = PaperFit(epochs=self.config.epochs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jitter is added where two points nearly coincide
            # Trained in single precision where the model is, as fast as it goes; used in double on the CPU, where the
            # thousands of small steps that climb to a point are faster than on a GPU.
            device = self.vae.mean.weight.device
            model = fit.fit(
                (self.latents - mean).float().to(device),
                targets.float().to(device),
                min(self.config.inducing, len(targets)),
                self.generator,
                lambda share: None,
            )
        return _Believer(model, mean, float(targets.max()))

    def _best_point(self, believer: _Believer, low: Tensor, high: Tensor) -> Tensor:
        from botorch.acquisition.analytic import LogExpectedImprovement
        from botorch.optim.optimize import optimize_acqf

        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
            warnings.simplefilter("ignore")  # an ascent that stops early is good enough
            torch.manual_seed(draw_seed(self.generator))
            points, _ = optimize_acqf(
                LogExpectedImprovement(believer.model(), best_f=believer.best),
                bounds=torch.stack([low, torch.maximum(high, low + 1e-9)]),
                q=1,
                num_restarts=self.config.restarts,
                raw_samples=self.config.raw_samples,
                options={"maxiter": self.config.iterations, "seed": draw_seed(self.generator) % 2**31},
            )
        point: Tensor = points[0].detach()
        return point

    def _most_common(self, point: Tensor) -> Dag | None:
        """The valid DAG that a point decodes to most often, the first of equals."""
        copies = point[None].to(self.vae.mean.weight).expand(self.config.decodings, -1)
        decoded = self.vae.decode_batch(copies, seed=draw_seed(self.generator))
        valid = decoded.select(self.vae.task.valid(decoded))
        if not len(valid):
            return None
        keys = self.vae.task.keys(valid)
        (most, _), *_ = Counter(keys).most_common(1)
        return self.vae.task.unbatch(valid.select(slice(keys.index(most), keys.index(most) + 1)))[0]


class _Believer:
    """The sparse GP's posterior, given believed values at some points: they leave its mean as it is.

    With k(Z, Z) = L L^T and the whitened inducing values' posterior N(m, S), the mean at x is k(x, Z) a, where
    a = L^-T m, and the covariance of x and y is k(x, y) - k(x, Z) A k(Z, y), where A = L^-T (I - S) L^-1. All that
    does not depend on x is made once: a point is climbed to in many small steps.
    """

    def __init__(self, gp: Any, shift: Tensor, best: float) -> None:
        kernel = gp.covar_module
        self.variance = float(kernel.outputscale.detach())
        self.scales = kernel.base_kernel.lengthscale.detach().double().cpu()[0]
        self.shift, self.best = shift, best
        inducing = gp.variational_strategy.inducing_points.detach().double().cpu()
        self.inducing = inducing / self.scales
        values = gp.variational_strategy._variational_distribution
        root = values.chol_variational_covar.detach().double().cpu().tril()
        unit = torch.eye(len(inducing), dtype=torch.float64)
        factor = torch.linalg.cholesky(self._kernel(self.inducing, self.inducing) + 1e-4 * unit)
        inverse = torch.linalg.solve_triangular(factor, unit, upper=False)
        self.weights = inverse.mT @ values.variational_mean.detach().double().cpu()
        self.learned = inverse.mT @ (unit - root @ root.mT) @ inverse
        self.believed = torch.empty(0, len(shift), dtype=torch.float64)  # as the kernel sees them
        self.chosen: Tensor | None = None  # Cholesky factor of the covariance of believed points

    def _kernel(self, points: Tensor, others: Tensor) -> Tensor:
        """RBF, of points in units of the length scales."""
        squares = points.square().sum(-1)[:, None] + others.square().sum(-1) - 2 * points @ others.mT
        return self.variance * (-0.5 * squares.clamp(min=0)).exp()

    def moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance at points of the box."""  # row latent -> row, row
        points = (points - self.shift) / self.scales
        cross = self._kernel(points, self.inducing)
        variance = self.variance - (cross @ self.learned * cross).sum(1)
        if self.chosen is not None:
            covariance = self._kernel(points, self.believed) - cross @ self.learned_believed
            variance = variance - torch.linalg.solve_triangular(self.chosen, covariance.mT, upper=False).square().sum(0)
        return cross @ self.weights, variance.clamp(min=JITTER)

    def believe(self, point: Tensor) -> None:
        """The GP's expectation at `point` counts as seen there, and as the best if it is."""
        self.best = max(self.best, float(self.moments(point[None])[0]))
        self.believed = torch.cat([self.believed, ((point - self.shift) / self.scales)[None]])
        cross = self._kernel(self.inducing, self.believed)
        self.learned_believed = self.learned @ cross
        covariance = self._kernel(self.believed, self.believed) - cross.mT @ self.learned_believed
        jitter = JITTER * 10 * torch.eye(len(covariance), dtype=torch.float64)
        self.chosen = torch.linalg.cholesky(covariance + jitter)

    def model(self) -> Any:
        """What BoTorch's acquisition functions ask."""
        from botorch.models.model import Model
        from botorch.posteriors.gpytorch import GPyTorchPosterior
        from gpytorch.distributions import MultivariateNormal
        from linear_operator.operators import DiagLinearOperator

        moments = self.moments

        class Posterior(Model):
            num_outputs = 1

            def posterior(self, X: Tensor, *_: Any, **__: Any) -> GPyTorchPosterior:
                mean, variance = moments(X.reshape(-1, X.shape[-1]))
                shape = X.shape[:-1]
                return GPyTorchPosterior(
                    MultivariateNormal(mean.reshape(shape), DiagLinearOperator(variance.reshape(shape)))
                )

        return Posterior()


def _packed(values: Tensor) -> str:
    return base64.b64encode(values.numpy().tobytes()).decode()


def _unpacked(text: str, width: int) -> Tensor:
    values = np.frombuffer(base64.b64decode(text), dtype=np.float64).copy()
    return torch.from_numpy(values).reshape(-1, width)
