"""Where latents and conditions lie together: a mixture of Gaussians, fitted by expectation maximisation.

One Gaussian knows only how latents move with conditions on average. Latents of graphs lie in clusters, and what a
condition means differs from one to the next; a mixture follows both, and its conditional distributions are mixtures
again, in closed form:

    p(z | c) = sum over k of w[k](c) N(z; m[k](c), S[k]),    w[k](c) in proportion to w[k] N(c; k)

The idea of fitting a density to latents after training is that of Ghosh et al. (ICLR 2020, From variational to
deterministic autoencoders).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from dvae.progress import progress_bar

COMPONENTS = 32  # 8 and 96 were tried and make little difference (docs/results/large-quality.md)
MAX_WIDTH = 257  # numbers of a point; with more of them covariances take too much memory
POINTS_PER_NUMBER = 3  # that a component has for each number of a point, on average, or there are fewer components
MAX_POINTS = 8_192  # that are fitted to
ITERATIONS = 40
KMEANS_ROUNDS = 10  # that give the first components
MIN_GAIN = 1e-3  # nats per point; an iteration that gains less is the last
RIDGE = 1e-2  # added to variances while components are found, in those of all points: they do not shrink to a few
LAST_RIDGE = 1e-4  # and in the end, so that what is drawn is not blurred


class Mixture(nn.Module):
    """A mixture over points (z, c); nothing but zeros until it is fitted."""

    added_later = ("weights", "means", "covariances")  # model files of earlier versions have none
    weights: Tensor  # component
    means: Tensor  # component number
    covariances: Tensor  # component number number

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("weights", torch.zeros(COMPONENTS))
        self.register_buffer("means", torch.zeros(COMPONENTS, width))
        self.register_buffer("covariances", torch.zeros(COMPONENTS, width, width))

    @property
    def fitted(self) -> bool:
        """Whether there is anything to draw from."""
        return bool((self.weights > 0).any())

    def forget(self) -> None:
        """As before it was fitted."""
        for part in (self.weights, self.means, self.covariances):
            part.zero_()

    @torch.no_grad()
    def fit(self, points: Tensor, progress: bool | None = False) -> None:
        """Fits as many components as the points can tell apart; with too few points for two of them, none."""
        self.forget()
        points, generator = points.double(), torch.Generator().manual_seed(0)
        if len(points) > MAX_POINTS:
            points = points[torch.randperm(len(points), generator=generator)[:MAX_POINTS].to(points.device)]
        count = min(COMPONENTS, len(points) // (POINTS_PER_NUMBER * points.shape[1]))
        if count < 2:
            return
        centre, scale = points.mean(0), points.std(0)
        scale = torch.where(scale > 1e-9, scale, 1.0)
        standard = (points - centre) / scale
        # Single precision is as good and takes less than half the time, but on a GPU it may mean tf32, which is not.
        standard = standard.float() if points.device.type == "cpu" else standard
        weights, means, covariances = (part.double() for part in _fitted(standard, count, generator, progress))
        self.weights[:count] = weights.to(self.weights)
        self.means[:count] = (centre + means * scale).to(self.means)
        self.covariances[:count] = (covariances * scale[:, None] * scale).to(self.covariances)

    @torch.no_grad()
    def draw(self, noise: Tensor, given: Tensor, generator: torch.Generator | None) -> Tensor:
        """A latent for each row of `noise` (standard normal), where the last numbers of points are `given`.

        `given` is a row for each, or one for all; a column of NaN is left open.
        """  # count latent
        latent = noise.shape[1]
        there = ~given.view(-1, given.shape[-1])[0].isnan()
        rows = given.view(-1, given.shape[-1])[:, there].double().expand(len(noise), -1)
        used = self.weights > 0
        weights, means, covariances = (part[used].double() for part in (self.weights, self.means, self.covariances))
        known = torch.cat([torch.zeros(latent, dtype=torch.bool, device=there.device), there])
        centres, own = means[:, known], covariances[:, known][:, :, known]
        gains = torch.linalg.solve(own, covariances[:, known, :latent]).mT  # component latent condition
        rest = covariances[:, :latent, :latent] - gains @ covariances[:, known, :latent]
        values, vectors = torch.linalg.eigh((rest + rest.mT) / 2)  # never negative but for rounding
        spreads = vectors * values.clamp(min=0).sqrt()[:, None]
        chances = (weights.log() + _log_densities(rows, centres, torch.linalg.cholesky(own))).softmax(1)
        chosen = torch.multinomial(chances.cpu(), 1, generator=generator).squeeze(1).to(noise.device)
        latents = torch.empty_like(noise)
        for component in range(len(weights)):
            some = chosen == component
            moved = means[component, :latent] + (rows[some] - centres[component]) @ gains[component].T
            latents[some] = (moved + noise[some].double() @ spreads[component].T).to(noise.dtype)
        return latents


def _fitted(
    points: Tensor, count: int, generator: torch.Generator, progress: bool | None = False
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, means and covariances of `count` components; points are standardised."""
    shares = torch.nn.functional.one_hot(_clusters(points, count, generator), count).to(points.dtype)
    before = -math.inf
    with progress_bar("mixture of latents", ITERATIONS, "steps", progress) as bar:
        for _ in range(ITERATIONS):
            weights, means, covariances = _components(points, shares, RIDGE)
            joint = weights.log() + _log_densities(points, means, torch.linalg.cholesky(covariances))
            likelihood = float(joint.logsumexp(1).mean())
            shares = joint.softmax(1)
            bar.update(1)
            if likelihood - before < MIN_GAIN:
                break
            before = likelihood
    return _components(points, shares, LAST_RIDGE)


def _components(points: Tensor, shares: Tensor, ridge: float) -> tuple[Tensor, Tensor, Tensor]:
    """The maximum step: each point belongs to the components by its `shares`."""  # point component
    sizes = shares.sum(0).clamp(min=1e-9)
    means = shares.mT @ points / sizes[:, None]
    smallest = ridge * torch.eye(points.shape[1], dtype=points.dtype, device=points.device)
    covariances = []
    for share, mean, size in zip(shares.mT, means, sizes, strict=True):
        moved = points - mean
        covariances.append((share[:, None] * moved).mT @ moved / size + smallest)
    return sizes / sizes.sum(), means, torch.stack(covariances)


def _log_densities(points: Tensor, means: Tensor, factors: Tensor) -> Tensor:
    """log N(point; component), where the factors are those of Cholesky."""  # point component
    found = []
    identity = torch.eye(points.shape[1], dtype=points.dtype, device=points.device)
    for mean, factor in zip(means, factors, strict=True):
        inverse = torch.linalg.solve_triangular(factor, identity, upper=False)
        squares = ((points - mean) @ inverse.mT).square().sum(1)
        found.append(-0.5 * squares - factor.diagonal().log().sum())
    return torch.stack(found, 1) - 0.5 * points.shape[1] * math.log(2 * math.pi)


def _clusters(points: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """k-means, whose first centres are far from each other (k-means++)."""  # point
    centres = points[:1].clone()
    nearest = torch.cdist(points, centres).squeeze(1).square()
    while len(centres) < count:
        chances = nearest if float(nearest.sum()) > 0 else torch.ones_like(nearest)
        place = torch.multinomial(chances.cpu(), 1, generator=generator).to(points.device)
        centres = torch.cat([centres, points[place]])
        nearest = torch.minimum(nearest, (points - points[place]).square().sum(1))
    for _ in range(KMEANS_ROUNDS):
        labels = torch.cdist(points, centres).argmin(1)
        sums = torch.zeros_like(centres).index_add_(0, labels, points)
        sizes = torch.bincount(labels, minlength=count)[:, None]
        centres = torch.where(sizes > 0, sums / sizes.clamp(min=1), centres)
    return torch.cdist(points, centres).argmin(1)
