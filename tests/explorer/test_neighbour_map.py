"""The bent map: neighbours stay neighbours, and known places lead back to known latents."""

from __future__ import annotations

import pytest
import torch

from dvae.explorer.neighbour_map import NeighbourMap
from dvae.explorer.space import Space
from dvae.explorer.walks import neighbourhood

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def clusters() -> torch.Tensor:
    """Three heaps in eight dimensions."""
    generator = torch.Generator().manual_seed(0)
    centres = 12 * torch.randn(3, 8, generator=generator)
    return torch.cat([centre + torch.randn(40, 8, generator=generator) for centre in centres])


def test_heaps_stay_together(clusters: torch.Tensor) -> None:
    places = NeighbourMap.of(clusters).project(clusters)
    nearest = torch.cdist(places, places).fill_diagonal_(torch.inf).argmin(1)
    assert ((nearest // 40) == (torch.arange(120) // 40)).float().mean() > 0.95


def test_the_way_there_and_back(clusters: torch.Tensor) -> None:
    bent = NeighbourMap.of(clusters)
    back = bent.lift(bent.project(clusters), bent.centre)
    torch.testing.assert_close(back, clusters, rtol=1e-3, atol=1e-2)


def test_a_spot_between_points_comes_back_to_itself(clusters: torch.Tensor) -> None:
    bent = NeighbourMap.of(clusters)
    spot = bent.places[:2].mean(0, keepdim=True) + 0.3
    torch.testing.assert_close(bent.project(bent.lift(spot, bent.centre)), spot)


def test_the_same_data_give_the_same_map(clusters: torch.Tensor) -> None:
    assert torch.equal(NeighbourMap.of(clusters).places, NeighbourMap.of(clusters).places)


def test_a_space_offers_it_and_a_neighbourhood_goes_along_straight_axes(asia: Space) -> None:
    assert asia.map_names[-1] == "Neighbours"
    bent = asia.plane("Neighbours")
    assert bent is asia.plane("Neighbours")
    place = asia.at(bent, *bent.project(asia.latents[:1])[0].tolist())
    torch.testing.assert_close(torch.tensor(place.values), asia.latents[0], rtol=1e-2, atol=1e-2)
    steps = neighbourhood(asia, asia.latents[0], bent, 3, 1.0)
    assert torch.allclose(steps[4].latent, asia.latents[0])
