"""Ways through a latent space whose decoded DAGs show how smooth it is (paper, section 4.4 and appendix F)."""

from __future__ import annotations

import math

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
