"""A DAG that is not valid: the page says which rule it breaks, in the words of the command line and of Python."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dvae.cli import output
from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.explorer import Given, Latent, Space, cards
from dvae.explorer.walks import neighbourhood


def words_of(part: Any) -> str:
    """The text of a part of the page and of all in it."""
    if part is None or isinstance(part, (str, int, float)):
        return str(part or "")
    if isinstance(part, (list, tuple)):
        return " ".join(map(words_of, part))
    return words_of(getattr(part, "children", None))


def broken_dags(space: Space, count: int = 12) -> list[Dag]:
    """Decodings that break a rule; an untrained model has many."""
    latents = 3 * torch.randn(200, space.latent_size, generator=torch.Generator().manual_seed(0))
    found = [dag for dag in space.decode(latents) if not space.task.is_valid(dag)]
    return found[:count]


@pytest.mark.parametrize("name", ["asia", "enas"])
def test_page_command_line_and_python_name_the_same_rule(name: str, request: pytest.FixtureRequest) -> None:
    space: Space = request.getfixturevalue(name)
    broken = broken_dags(space)
    assert broken
    for dag in broken:
        said = output.broken_rules(space.task, [dag])
        rule = space.broken_rule(dag)
        assert rule == space.task.why_invalid(dag)
        assert next(iter(said)) in rule
        try:
            finding = space.find(Given(dag))
        except DvaeError:  # the model cannot hold it, which is said in words elsewhere
            continue
        assert f"Not valid: {rule}" in words_of(cards.facts(finding, can_score=False))


def test_every_decoding_that_is_not_valid_has_a_reason(any_space: Space) -> None:
    for seed in range(20):
        finding = any_space.find(Latent(tuple(any_space.random(seed).values)))
        assert (finding.broken_rule is None) == finding.valid


def test_cells_of_a_neighbourhood_say_why_they_are_not_valid(asia: Space) -> None:
    steps = neighbourhood(asia, asia.latents[0], asia.planes[0], 3, 3.0)
    for step, cell in zip(steps, cards.grid_cells(asia, steps), strict=True):
        assert (getattr(cell, "title", None) is None) == step.valid
        if not step.valid:
            assert asia.broken_rule(step.dag) in cell.title
