"""Ways through a latent space whose decoded DAGs show how smooth it is (paper, section 4.4 and appendix F)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check
from dvae.models import VAE

CIRCLE_POINTS = 35  # paper, section 4.4
PAPER_EXTENT = 0.3  # paper, section 4.4: the square [-0.3, 0.3] of the first two principal components


def typical_distance(vae: VAE) -> float:
    """The root of the mean squared distance of two training latents: a length that means the same in every model."""
    return math.sqrt(2.0 * float(vae.latent_std.double().square().sum()))


def great_circle(start: Tensor, points: int = CIRCLE_POINTS, *, seed: int = 0) -> Tensor:
    """`points` latents, evenly spaced on a random great circle through `start` around the origin; the first is it.

    z(a) = start cos(a) + |start| v sin(a), v a random unit vector at right angles to it (White, 2016).
    """  # point latent
    check(points >= 2, f"a circle needs at least 2 points, not {points}")
    check(start.dim() == 1 and len(start) >= 2, "a great circle needs one latent of at least 2 dimensions")
    start = start.double().cpu()
    radius = start.norm()
    check(bool(radius > 0), "the origin lies on no great circle")
    noise = torch.randn(len(start), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    across = noise - (noise @ start) / radius**2 * start
    across = across / across.norm() * radius
    angles = torch.arange(points, dtype=torch.float64) * (2 * math.pi / points)
    circle: Tensor = angles.cos()[:, None] * start + angles.sin()[:, None] * across
    return circle


@dataclass(frozen=True)
class Plane:
    """A square of a latent space: `centre` plus steps along two orthonormal directions."""

    centre: Tensor  # latent
    first: Tensor  # latent
    second: Tensor  # latent

    def points(self, side: int, extent: float) -> Tensor:
        """`side` x `side` latents; row by row, `first` grows along a row, `second` falls from row to row."""
        check(side >= 2 and extent > 0, "a grid needs at least 2 points a side and a positive extent")
        steps = torch.linspace(-extent, extent, side, dtype=torch.float64)
        along = steps[None, :, None] * self.first + steps.flip(0)[:, None, None] * self.second
        return (self.centre + along).flatten(0, 1)  # side*side latent


def random_plane(vae: VAE, centre: Tensor, *, seed: int = 0) -> Plane:
    """Two random orthogonal directions, drawn as the training latents spread: unused dimensions count little."""
    check(vae.config.latent >= 2, "two directions need a latent space of at least 2 dimensions")
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(2, vae.config.latent, generator=generator, dtype=torch.float64)
    drawn = drawn * vae.latent_std.double().cpu().clamp(min=1e-9)
    first = drawn[0] / drawn[0].norm()
    second = drawn[1] - (drawn[1] @ first) * first
    return Plane(centre.double().cpu(), first, second / second.norm())


@dataclass(frozen=True)
class PrincipalPlane:
    """The plane of the first two principal components, the share of the variance it holds, and how far data reach."""

    plane: Plane
    explained: float  # of both components together, 0 to 1
    reach: float  # 95% of the data lie within it, along both


def principal_plane(latents: Tensor) -> PrincipalPlane:
    """Of training latents; each component points to where its largest entry is positive."""
    points = latents.double().cpu()
    check(points.dim() == 2 and len(points) >= 3 and points.shape[1] >= 2, "a plane needs 3 latents of 2 dimensions")
    centre = points.mean(0)
    _, scales, components = torch.linalg.svd(points - centre, full_matrices=False)
    two = components[:2]
    signs = two.gather(1, two.abs().argmax(1, keepdim=True)).sign()
    two = two * signs
    variances = scales.square()
    reach = ((points - centre) @ two.T).abs().quantile(0.95)
    return PrincipalPlane(Plane(centre, two[0], two[1]), float(variances[:2].sum() / variances.sum()), float(reach))
