from __future__ import annotations

import math

import pytest
import torch

from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.explorer import Space
from dvae.explorer.walks import PATHS, changes, latents_between, latents_of, neighbourhood, walk

A, B = torch.tensor([3.0, 0.0, 0.0]), torch.tensor([0.0, 1.0, 0.0])


@pytest.mark.parametrize("path", PATHS)
def test_a_path_leads_from_one_end_to_the_other(path: str) -> None:
    latents = latents_between(A, B, 9, path)  # type: ignore[arg-type]
    assert torch.allclose(latents[0], A.double(), atol=1e-9)
    assert torch.allclose(latents[-1], B.double(), atol=1e-9)


def test_a_line_is_straight_and_even() -> None:
    steps = latents_between(A, B, 5, "line").diff(dim=0)
    assert torch.allclose(steps, steps[0].expand_as(steps))


def test_a_circle_turns_evenly_and_stays_as_far_out_as_its_ends() -> None:
    latents = latents_between(A, B, 7, "circle")
    lengths = latents.norm(dim=1)
    assert torch.allclose(lengths, torch.linspace(3, 1, 7, dtype=torch.float64))
    directions = latents / lengths[:, None]
    angles = (directions[1:] * directions[:-1]).sum(1).clamp(-1, 1).acos()
    assert torch.allclose(angles, torch.full_like(angles, math.pi / 2 / 6))


@pytest.mark.parametrize("end", [2 * A, -A, torch.zeros(3)])
def test_where_no_circle_is_defined_the_line_serves(end: torch.Tensor) -> None:
    assert torch.equal(latents_between(A, end, 5, "circle"), latents_between(A, end, 5, "line"))


def test_a_walk_decodes_what_its_latents_decode_to(any_space: Space) -> None:
    steps = walk(any_space, any_space.latents[0], any_space.latents[1], 6, "line")
    assert [step.dag for step in steps] == any_space.decode(latents_of(steps))
    assert [step.share for step in steps] == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    for step in steps:
        assert step.valid == any_space.task.is_valid(step.dag)
        assert step.score == (any_space.scores_of([step.dag])[0] if step.valid else None)


def test_the_middle_of_a_neighbourhood_is_its_centre(any_space: Space) -> None:
    plane = any_space.planes[0]
    steps = neighbourhood(any_space, any_space.latents[2], plane, 5, 1.5)
    assert len(steps) == 25
    assert torch.allclose(steps[12].latent, any_space.latents[2], atol=1e-5)
    places = plane.project(latents_of(steps)).reshape(5, 5, 2)
    assert (places[:, 1:, 0] > places[:, :-1, 0]).all()  # to the right
    assert (places[1:, :, 1] < places[:-1, :, 1]).all()  # from the top down
    spread = plane.project(any_space.latents).std(0)
    reach = (places[0, -1] - places[2, 2]) / spread
    assert torch.allclose(reach, torch.tensor([1.5, 1.5]), atol=1e-3)


def test_sizes_are_bounded(asia: Space) -> None:
    with pytest.raises(ConfigError, match="2 to 64"):
        latents_between(A, B, 65, "line")
    for side in (1, 4, 11):
        with pytest.raises(ConfigError, match="odd side"):
            neighbourhood(asia, asia.latents[0], asia.planes[0], side, 1.0)


def test_changes_name_variables_in_networks_and_positions_elsewhere(asia: Space, enas: Space) -> None:
    before = Dag(("A", "S", "T"), ((0, 2),))
    after = Dag(("S", "A", "T"), ((0, 2),))
    found = changes(before, after, asia.task)
    assert (found.nodes, found.added, found.removed) == (frozenset(), {("S", "T")}, {("A", "T")})
    assert len(found) == 2
    old = Dag(("input", "conv3", "output"), ((0, 1), (1, 2)))
    new = Dag(("input", "sep3", "output"), ((0, 1), (1, 2), (0, 2)))
    found = changes(old, new, enas.task)
    assert (found.nodes, found.added, found.removed) == ({1}, {(0, 2)}, frozenset())
    assert len(changes(old, old, enas.task)) == 0
