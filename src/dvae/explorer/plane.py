"""A plane through the latent space: what a flat map shows, and the way back from the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.errors import ConfigError


@dataclass(frozen=True, eq=False)
class Plane:
    """Two orthonormal axes through `centre`; `shares` are the parts of the data's variance along each."""

    name: str
    labels: tuple[str, str]
    centre: Tensor  # latent
    axes: Tensor  # 2 latent
    shares: tuple[float, float]

    def __post_init__(self) -> None:
        gram = self.axes @ self.axes.T
        if self.axes.shape != (2, len(self.centre)) or not torch.allclose(gram, torch.eye(2).to(gram), atol=1e-4):
            raise ConfigError("a plane needs two orthonormal axes of the size of a latent")

    def project(self, latents: Tensor) -> Tensor:
        """Where latents lie on the map."""  # count latent -> count 2
        return (latents - self.centre) @ self.axes.T

    def lift(self, places: Tensor, anchor: Tensor) -> Tensor:
        """Latents at places of the map; all that the map does not show is the anchor's."""  # count 2 -> count latent
        return anchor + (places - self.project(anchor[None])) @ self.axes


def principal_axes(latents: Tensor) -> Tensor:
    """Directions of falling variance, each pointing to where its largest entry is positive."""  # axis latent
    centred = (latents - latents.mean(0)).double()
    values, vectors = torch.linalg.eigh(centred.T @ centred)
    axes: Tensor = vectors.T[values.argsort(descending=True)]
    largest = axes.abs().argmax(1, keepdim=True)
    return (axes * axes.gather(1, largest).sign()).to(latents)


def planes(latents: Tensor, scores: Sequence[float | None]) -> tuple[Plane, ...]:
    """The maps on offer: principal components 1 and 2, 3 and 4, and, with scores, the direction of the score."""
    if latents.shape[1] < 2:
        raise ConfigError("a map needs a latent space of at least two dimensions")
    axes = principal_axes(latents)
    made = [_plane("PC 1 and 2", ("PC 1", "PC 2"), latents, axes[:2])]
    if len(axes) >= 4:
        made.append(_plane("PC 3 and 4", ("PC 3", "PC 4"), latents, axes[2:4]))
    direction = score_direction(latents, scores)
    if direction is not None:
        rest = latents - (latents @ direction)[:, None] * direction
        # Against rounding, the leading component of the rest is made orthogonal once more.
        second = principal_axes(rest)[0]
        second = second - (second @ direction) * direction
        pair = torch.stack([direction, second / second.norm()])
        made.append(_plane("By score", ("score direction", "leading PC of the rest"), latents, pair))
    return tuple(made)


def score_direction(latents: Tensor, scores: Sequence[float | None]) -> Tensor | None:
    """The unit vector whose coordinate varies most with the score, as in partial least squares; None without scores.

    Regression would solve for the direction instead, and find dimensions the model does not use: small noise there
    needs large weights.
    """
    scored = [place for place, score in enumerate(scores) if score is not None]
    values = torch.tensor([float(scores[place] or 0) for place in scored], dtype=torch.float64)
    if len(scored) < 3 or values.min() == values.max():
        return None
    ranks = values.argsort().argsort().double()  # ranks, since a few terrible scores would turn the direction
    inputs = latents[scored].double()
    slope = (inputs - inputs.mean(0)).T @ (ranks - ranks.mean())
    return (slope / slope.norm()).to(latents) if slope.norm() > 0 else None


def _plane(name: str, labels: tuple[str, str], latents: Tensor, axes: Tensor) -> Plane:
    centre = latents.mean(0)
    total = float((latents - centre).double().square().sum())
    along = ((latents - centre) @ axes.T).double().square().sum(0)
    first, second = (along / total).tolist() if total > 0 else (0.0, 0.0)
    return Plane(name, labels, centre, axes, (first, second))
