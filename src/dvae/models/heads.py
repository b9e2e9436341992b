"""What a latent vector must tell by a linear map: plain features of its graph, and numbers known of it.

A decoder may hide anything anywhere in z. A head asks that features which need no learning (`Task.features`) can be
read off by one linear map, or one-to-one, feature k from latent k. So axes get a meaning, and regressors, searches and
people find their way. No score is used, unless `targets` are asked for.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from dvae.dag import DagBatch
from dvae.errors import ConfigError
from dvae.tasks import Task

HeadKind = Literal["linear", "one-to-one"]
WEIGHT_OF_BITS = 1.0  # measured: docs/results/straight-axes.md
WEIGHTS_OF_NUMBERS: dict[HeadKind, float] = {"linear": 0.01, "one-to-one": 0.1}
TARGET_WEIGHT = 1.0
FITTED_GRAPHS = 20_000  # that statistics of features are taken of
FIRST_SCALE = 4.0  # of a one-to-one map: a bit is sure where its latent is one unit from the border


class FeatureHead(nn.Module):
    """The task's features of a graph, predicted from its latent vector.

    Features that are bits cost their cross-entropy; others are standardised and cost half their squared error. Those
    that never change in the training data cost nothing. One-to-one, a latent predicts one bit (with too few latents,
    those that change most have one), or, where features are no bits, one of their principal components, whitened.
    """

    kept: Tensor
    used: Tensor
    center: Tensor
    scale: Tensor
    fitted: Tensor

    def __init__(self, task: Task, latent: int, kind: HeadKind, weight: float | None = None) -> None:
        super().__init__()
        self.task, self.kind = task, kind
        usual = WEIGHT_OF_BITS if task.features_are_bits else WEIGHTS_OF_NUMBERS[kind]
        self.weight = usual if weight is None else weight
        width = task.features(task.batch([])).shape[1]
        self.register_buffer("fitted", torch.zeros((), dtype=torch.bool))
        self.register_buffer("center", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))  # 0 where a feature never changes
        if kind == "linear":
            self.map: nn.Module = nn.Linear(latent, width)
        else:
            columns = (latent,) if task.features_are_bits else (width, latent)
            self.register_buffer("kept", torch.zeros(columns, dtype=torch.int64 if len(columns) == 1 else None))
            self.register_buffer("used", torch.zeros(latent))
            self.map = _OneToOne(latent)

    @torch.no_grad()
    def fit(self, batch: DagBatch) -> None:
        """Learns once which features change in `batch`, and how; a head that has learned that keeps it."""
        if self.fitted:
            return
        if len(batch) > FITTED_GRAPHS:
            order = torch.randperm(len(batch), generator=torch.Generator().manual_seed(0))
            batch = batch.select(order[:FITTED_GRAPHS].to(batch.device))
        values = torch.cat([self.task.features(part) for part in batch.split(2048)]).double()
        deviation = values.std(0, correction=0)
        varies = deviation > 1e-9
        if self.task.features_are_bits:
            self.scale.copy_(varies)
            self._choose_bits(deviation)
        else:
            self.center.copy_(values.mean(0))
            self.scale.copy_(torch.where(varies, 1 / deviation, 0))
            self._choose_components((values - self.center) * self.scale)
        self.fitted.fill_(True)

    def forward(self, latents: Tensor, batch: DagBatch) -> Tensor:
        """What the wrong predictions cost, weighted, one number per graph."""  # batch latent -> batch
        values = self.task.features(batch).to(latents.dtype)
        predicted = self.map(latents)
        if self.task.features_are_bits:
            truth, counts = (values, self.scale) if self.kind == "linear" else (values[:, self.kept], self.used)
            costs = functional.binary_cross_entropy_with_logits(predicted, truth, reduction="none")
        else:
            truth, counts = (values - self.center) * self.scale, (self.scale > 0).to(latents.dtype)
            if self.kind == "one-to-one":
                truth, counts = truth @ self.kept, self.used
            costs = 0.5 * (predicted - truth).square()
        return self.weight * (costs * counts).sum(1)

    def _choose_bits(self, deviation: Tensor) -> None:
        """Those that change, and where there are more of them than latents, those that change most."""
        if self.kind == "linear":
            return
        count = min(len(self.used), int((deviation > 1e-9).sum()))
        places = deviation.topk(count).indices.sort().values
        self.kept[: len(places)] = places
        self.used[: len(places)] = 1

    def _choose_components(self, values: Tensor) -> None:
        """Principal components, whitened, the largest first."""
        if self.kind == "linear":
            return
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            _, sizes, axes = torch.svd_lowrank(values.cpu(), q=min(len(self.used), *values.shape), niter=4)
        count = int((sizes > 1e-6 * sizes[:1]).sum())
        self.kept[:, :count] = axes[:, :count] / (sizes[:count] / len(values) ** 0.5)
        self.used[:count] = 1


class TargetHead(nn.Module):
    """Numbers known of graphs, such as scores, predicted from their latents; those not known (NaN) cost nothing."""

    center: Tensor
    scale: Tensor
    fitted: Tensor

    def __init__(self, targets: tuple[str, ...], latent: int, weight: float | None = None) -> None:
        super().__init__()
        self.targets, self.weight = targets, TARGET_WEIGHT if weight is None else weight
        self.register_buffer("fitted", torch.zeros((), dtype=torch.bool))
        self.register_buffer("center", torch.zeros(len(targets)))
        self.register_buffer("scale", torch.ones(len(targets)))
        self.map = nn.Linear(latent, len(targets))

    @torch.no_grad()
    def fit(self, values: Tensor) -> None:
        """Learns once what is usual, from the numbers of the training graphs."""  # graph target
        for name, column in zip(self.targets, values.mT, strict=True):
            known = column[column.isfinite()].double()
            if not len(known):
                raise ConfigError(f"no training DAG has a {name}: train without it, or give a file in which some have")
            if not self.fitted:
                place = self.targets.index(name)
                self.center[place] = known.mean()
                self.scale[place] = known.std(correction=0).clamp(min=1e-12)
        self.fitted.fill_(True)

    def forward(self, latents: Tensor, values: Tensor) -> Tensor:
        """Half the squared errors of standardised numbers, weighted, one number per graph."""  # batch target -> batch
        known = values.isfinite()
        truth = torch.where(known, (values - self.center) / self.scale, 0)
        costs: Tensor = 0.5 * (self.map(latents) - truth).square() * known
        return self.weight * costs.sum(1)

    def predict(self, latents: Tensor) -> Tensor:
        """The numbers expected at latents, in their own units."""  # batch latent -> batch target
        predicted: Tensor = self.map(latents) * self.scale + self.center
        return predicted


class _OneToOne(nn.Module):
    """A factor and an offset for every latent."""

    def __init__(self, latent: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((latent,), FIRST_SCALE))
        self.bias = nn.Parameter(torch.zeros(latent))

    def forward(self, latents: Tensor) -> Tensor:
        return torch.addcmul(self.bias, self.weight, latents)
