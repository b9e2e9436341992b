from __future__ import annotations

import math

import pytest
import torch

from dvae.errors import ConfigError
from dvae.evaluation import (
    Plane,
    great_circle,
    principal_axes,
    principal_plane,
    random_plane,
    typical_distance,
)
from dvae.models import build
from dvae.tasks import EnasTask

VAE = build("dvae", EnasTask(2), hidden=8, latent=4, seed=0)


def test_a_great_circle_keeps_its_radius_and_its_angles_and_starts_where_it_should() -> None:
    start = torch.tensor([3.0, 0.0, 4.0])
    circle = great_circle(start, 35, seed=1)
    assert circle.shape == (35, 3)
    assert torch.equal(circle[0], start.double())
    assert circle.norm(dim=1).tolist() == pytest.approx([5.0] * 35)
    cosines = (circle * circle.roll(1, 0)).sum(1) / 25  # neighbours, the last and the first among them
    assert cosines.tolist() == pytest.approx([math.cos(2 * math.pi / 35)] * 35)
    assert not torch.equal(circle[1], great_circle(start, 35, seed=2)[1])


def test_the_origin_lies_on_no_great_circle() -> None:
    with pytest.raises(ConfigError, match="origin"):
        great_circle(torch.zeros(3))


def test_a_random_plane_has_orthonormal_directions_and_its_centre_in_the_middle() -> None:
    centre = torch.arange(4.0)
    plane = random_plane(VAE, centre, seed=3)
    first, second = plane.axes
    assert float(first @ second) == pytest.approx(0.0, abs=1e-12)
    assert float(first.norm()) == pytest.approx(1.0)
    points = plane.points(5, 2.0)
    assert points.shape == (25, 4)
    assert torch.allclose(points[12], centre.double())
    assert torch.allclose(points[14] - points[10], 4 * first)
    assert torch.allclose(points[2] - points[22], 4 * second)


def test_principal_components_are_those_of_the_data() -> None:
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(4000, 3, generator=generator) * torch.tensor([1.0, 5.0, 0.5]) + 7
    plane = principal_plane(points)
    assert plane.axes[0].tolist() == pytest.approx([0, 1, 0], abs=0.05)
    assert plane.axes[1].tolist() == pytest.approx([1, 0, 0], abs=0.05)
    assert sum(plane.shares(points.double())) == pytest.approx(26 / 26.25, abs=0.01)
    assert plane.centre.tolist() == pytest.approx([7, 7, 7], abs=0.3)
    assert plane.reach(points.double()) > 5


def test_axes_are_a_whole_basis_also_of_few_points() -> None:
    axes = principal_axes(torch.tensor([[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 6.0]]))
    assert axes[0].tolist() == pytest.approx([0, 0, 0, 1])
    assert torch.allclose(axes @ axes.T, torch.eye(4), atol=1e-6)


def test_the_way_back_from_a_plane_keeps_what_it_does_not_show() -> None:
    plane = Plane(torch.zeros(3), torch.eye(3)[:2])
    anchor = torch.tensor([1.0, 2.0, 3.0])
    assert plane.lift(torch.tensor([[5.0, 6.0]]), anchor).tolist() == [[5.0, 6.0, 3.0]]
    assert plane.project(anchor[None]).tolist() == [[1.0, 2.0]]
    with pytest.raises(ConfigError, match="orthonormal"):
        Plane(torch.zeros(3), torch.ones(2, 3))
    with pytest.raises(ConfigError, match="two axes"):
        Plane(torch.zeros(3), torch.eye(3))


def test_the_typical_distance_is_that_of_two_training_latents() -> None:
    generator = torch.Generator().manual_seed(0)
    vae = build("dvae", EnasTask(2), hidden=8, latent=4, seed=0)
    vae.latent_std.copy_(torch.tensor([1.0, 2.0, 0.0, 0.5]))
    pairs = torch.randn(2, 20_000, 4, generator=generator) * vae.latent_std
    squared = (pairs[0] - pairs[1]).square().sum(1).mean()
    assert typical_distance(vae) == pytest.approx(float(squared.sqrt()), rel=0.02)
