"""Flat maps of the latent space: planes through it, and what their axes mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.errors import ConfigError
from dvae.evaluation.planes import Plane, principal_axes


@dataclass(frozen=True, eq=False)
class FlatMap(Plane):
    """A plane with a name and labelled axes; `variance` is the share of the data's variance along each."""

    name: str
    labels: tuple[str, str]
    variance: tuple[float, float]


def flat_maps(latents: Tensor, scores: Sequence[float | None]) -> tuple[FlatMap, ...]:
    """Principal components 1 and 2, 3 and 4 and, with scores, the direction of the score."""
    if latents.shape[1] < 2:
        raise ConfigError("a map needs a latent space of at least two dimensions")
    axes = principal_axes(latents)
    maps = [_flat_map("PC 1 and 2", ("PC 1", "PC 2"), latents, axes[:2])]
    if len(axes) >= 4:
        maps.append(_flat_map("PC 3 and 4", ("PC 3", "PC 4"), latents, axes[2:4]))
    direction = score_direction(latents, scores)
    if direction is not None:
        rest = latents - (latents @ direction)[:, None] * direction
        # Against rounding, the leading component of the rest is made orthogonal once more.
        second = principal_axes(rest)[0]
        second = second - (second @ direction) * direction
        pair = torch.stack([direction, second / second.norm()])
        maps.append(_flat_map("By score", ("score direction", "leading PC of the rest"), latents, pair))
    return tuple(maps)


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


def _flat_map(name: str, labels: tuple[str, str], latents: Tensor, axes: Tensor) -> FlatMap:
    centre = latents.mean(0)
    return FlatMap(centre, axes, name, labels, Plane(centre, axes).shares(latents))
