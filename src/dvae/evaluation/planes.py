"""Planes through a latent space: grids of latents on them, maps of latents onto them, principal components."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check
from dvae.models import VAE

REACH = 0.95  # share of the data within a plane's reach


@dataclass(frozen=True, eq=False)
class Plane:
    """Two orthonormal axes through `centre`."""

    centre: Tensor  # latent
    axes: Tensor  # 2 latent

    def __post_init__(self) -> None:
        check(self.axes.shape == (2, len(self.centre)), "a plane needs two axes of the size of a latent")
        gram = self.axes @ self.axes.T
        check(torch.allclose(gram, torch.eye(2).to(gram), atol=1e-4), "the axes of a plane must be orthonormal")

    def points(self, side: int, extent: float) -> Tensor:
        """A square grid of latents, row by row: the first axis grows along a row, the second falls from row to row."""
        check(side >= 2 and extent > 0, "a grid needs at least 2 points per side and a positive extent")
        first, second = self.axes
        steps = torch.linspace(-extent, extent, side, dtype=torch.float64)
        along = steps[None, :, None] * first + steps.flip(0)[:, None, None] * second
        grid: Tensor = (self.centre + along).flatten(0, 1)
        return grid  # side*side latent

    def project(self, latents: Tensor) -> Tensor:
        """Where latents lie on the plane."""  # count latent -> count 2
        return (latents - self.centre) @ self.axes.T

    def lift(self, places: Tensor, anchor: Tensor) -> Tensor:
        """Latents at places of the plane; all that it does not show is the anchor's."""  # count 2 -> count latent
        return anchor + (places - self.project(anchor[None])) @ self.axes

    def shares(self, latents: Tensor) -> tuple[float, float]:
        """The parts of the variance of `latents` along each axis, 0 to 1."""
        centred = latents - latents.mean(0)
        total = float(centred.double().square().sum())
        along = (centred @ self.axes.T).double().square().sum(0)
        first, second = (along / total).tolist() if total > 0 else (0.0, 0.0)
        return first, second

    def reach(self, latents: Tensor) -> float:
        """How far from the centre 95% of the coordinates of `latents` lie, along either axis."""
        return float(self.project(latents).abs().quantile(REACH))


def principal_axes(latents: Tensor) -> Tensor:
    """All directions, by falling variance; each points to where its largest entry is positive."""  # axis latent
    points = latents.double()
    # With fewer points than dimensions, the directions without variance complete the basis.
    full = len(points) < points.shape[1]
    axes: Tensor = torch.linalg.svd(points - points.mean(0), full_matrices=full).Vh
    largest = axes.abs().argmax(1, keepdim=True)
    return (axes * axes.gather(1, largest).sign()).to(latents)


def principal_plane(latents: Tensor) -> Plane:
    """The first two principal components of training latents, in double precision on the CPU."""
    points = latents.double().cpu()
    check(points.dim() == 2 and len(points) >= 3 and points.shape[1] >= 2, "a plane needs 3 latents of 2 dimensions")
    return Plane(points.mean(0), principal_axes(points)[:2])


def random_plane(vae: VAE, centre: Tensor, *, seed: int = 0) -> Plane:
    """Two random orthogonal directions, drawn as the training latents spread: unused dimensions count little."""
    check(vae.config.latent >= 2, "two directions need a latent space of at least 2 dimensions")
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(2, vae.config.latent, generator=generator, dtype=torch.float64)
    drawn = drawn * vae.latent_std.double().cpu().clamp(min=1e-9)
    first = drawn[0] / drawn[0].norm()
    second = drawn[1] - (drawn[1] @ first) * first
    return Plane(centre.double().cpu(), torch.stack([first, second / second.norm()]))
