from __future__ import annotations

import pytest
import torch

from dvae.errors import ConfigError
from dvae.evaluation.planes import principal_axes
from dvae.explorer.maps import FlatMap, flat_maps, score_direction
from dvae.explorer.space import Space


def cloud(count: int = 400) -> torch.Tensor:
    """Latents with standard deviations 5, 3, 2, 1, 0.1 along rotated axes."""
    generator = torch.Generator().manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(5, 5, generator=generator)).Q
    return (torch.randn(count, 5, generator=generator) * torch.tensor([5.0, 3.0, 2.0, 1.0, 0.1])) @ rotation


def test_principal_axes_are_those_of_the_covariance() -> None:
    latents = cloud()
    axes = principal_axes(latents)
    variances = ((latents - latents.mean(0)) @ axes.T).var(0)
    assert torch.allclose(variances, torch.linalg.eigvalsh(latents.T.cov()).flip(0), rtol=1e-3)
    assert torch.allclose(axes @ axes.T, torch.eye(5), atol=1e-5)


def test_shares_are_parts_of_the_variance() -> None:
    latents = cloud()
    first, second = flat_maps(latents, [None] * len(latents))
    whole = latents.var(0).sum()
    for plane in (first, second):
        assert torch.allclose(torch.tensor(plane.variance), plane.project(latents).var(0) / whole, rtol=1e-4)
    assert first.variance[0] > first.variance[1] > second.variance[0] > second.variance[1]


def test_lifting_a_projection_with_its_own_anchor_gives_the_latent_back() -> None:
    latents = cloud(20)
    for plane in flat_maps(latents, list(range(20))):
        for latent in latents:
            assert torch.allclose(plane.lift(plane.project(latent[None]), latent)[0], latent, atol=1e-4)


def test_a_lifted_place_lies_where_it_was_clicked_and_keeps_the_anchor_elsewhere() -> None:
    latents = cloud()
    plane = flat_maps(latents, [None] * len(latents))[0]
    anchor, place = latents[7], torch.tensor([[1.5, -2.0]])
    lifted = plane.lift(place, anchor)
    assert torch.allclose(plane.project(lifted), place, atol=1e-4)
    moved = lifted[0] - anchor
    assert torch.allclose(moved, (moved @ plane.axes.T) @ plane.axes, atol=1e-4)


def test_the_score_direction_finds_a_linear_score_and_no_noise() -> None:
    latents = cloud(2000)
    truth = principal_axes(latents)[2]
    scores = torch.exp(3 * latents @ truth).clamp(max=1e30)  # any rising function: only ranks count
    found = score_direction(latents, scores.tolist())
    assert found is not None
    assert float(found @ truth) > 0.9


def test_there_is_no_score_direction_without_different_scores() -> None:
    latents = cloud(10)
    assert score_direction(latents, [None] * 10) is None
    assert score_direction(latents, [1.0] * 10) is None
    assert [plane.name for plane in flat_maps(latents, [None] * 10)] == ["PC 1 and 2", "PC 3 and 4"]


def test_flat_latents_still_make_a_map() -> None:
    (first, *_) = flat_maps(torch.zeros(4, 3), [None] * 4)
    assert first.variance == (0.0, 0.0)
    assert torch.equal(first.project(torch.zeros(1, 3)), torch.zeros(1, 2))


def test_axes_that_are_not_orthonormal_are_refused() -> None:
    with pytest.raises(ConfigError, match="orthonormal"):
        FlatMap(torch.zeros(3), torch.ones(2, 3), "bad", ("a", "b"), (0.0, 0.0))
    with pytest.raises(ConfigError, match="two dimensions"):
        flat_maps(torch.zeros(4, 1), [None] * 4)


def test_every_task_has_its_maps(any_space: Space) -> None:
    assert [plane.name for plane in any_space.planes] == ["PC 1 and 2", "PC 3 and 4", "By score"]
