"""Parts of one DAG in another."""

from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag, ScoredDag
from dvae.errors import ConfigError, DvaeError
from dvae.models import build
from dvae.strategies import Archive, LatentEvolution, LatentEvolutionConfig
from dvae.strategies.grafts import grafted, joined, parts_of, replaced
from dvae.tasks import get

TASK = get("expressions")


def dag(text: str) -> Dag:
    return TASK.parse(text)


def text(found: Dag) -> str:
    return TASK.format(found)


def place(found: Dag, label: str) -> int:
    return found.types.index(label)


def test_parts_are_nodes_with_all_that_flows_into_them() -> None:
    assert sorted(map(text, parts_of(dag("sin(x * x) + 3"), 3))) == ["3", "sin(x * x)", "x", "x * x"]
    assert len(parts_of(dag("sin(x * x) + 3"), 5)) == 5


def test_a_part_takes_the_place_of_another_with_all_that_only_that_used() -> None:
    whole = dag("x + sin(exp(2))")
    assert text(replaced(whole, place(whole, "exp"), dag("x * x"))) == text(dag("x + sin(x * x)"))
    shared = dag("exp(x) + sin(x)")
    assert TASK.key(replaced(shared, place(shared, "sin"), dag("3"))) == TASK.key(dag("exp(x) + 3"))


def test_a_part_is_joined_by_a_new_node() -> None:
    whole = dag("x + 1 / 3")
    root = len(whole) - 1
    assert TASK.key(joined(whole, root, dag("sin(x * x)"), "+")) == TASK.key(dag("1 / 3 + x + sin(x * x)"))
    inner = joined(dag("sin(x)"), 0, dag("2"), "*")
    assert TASK.key(inner) == TASK.key(dag("sin(x * 2)"))


def test_a_graft_is_valid_or_nothing() -> None:
    generator = torch.Generator().manual_seed(0)
    parent, part = dag("x + 1 / 3"), dag("sin(x * x)")
    children = {TASK.key(grafted(TASK, parent, part, generator)) for _ in range(200)}
    assert all(TASK.is_valid(child) for child in children)
    assert TASK.key(dag("1 / 3 + x + sin(x * x)")) in children
    network = get("bn:A,B")  # every variable comes once, so that nothing can be added
    whole = Dag(("A", "B"), ((0, 1),))
    assert grafted(network, whole, Dag(("A",)), generator) == whole


def test_children_come_from_the_best_of_distinct_scores() -> None:
    vae = build("dvae", TASK, hidden=8, latent=3, seed=0)
    strategy = LatentEvolution(vae, Archive(TASK), config=LatentEvolutionConfig(population=2))
    known = [("x + 1", 1.0), ("x * 1 + 1", 1.0), ("exp(x)", 0.0), ("x * 2", 0.5)]
    strategy.tell([ScoredDag(dag(each), score) for each, score in known])
    assert [text(strategy.archive.dags[each]) for each in strategy._population()] == [text(dag("x + 1")), "x * 2"]


@pytest.mark.parametrize("shares", [{"latents": 1.0, "grafts": 0.0}, {"latents": 0.0, "grafts": 1.0}])
def test_each_kind_of_child_can_be_had_alone(shares: dict[str, float]) -> None:
    vae = build("dvae", TASK, hidden=8, latent=3, seed=0)
    strategy = LatentEvolution(vae, Archive(TASK), config=LatentEvolutionConfig(**shares))
    strategy.tell([ScoredDag(each, TASK.score(each)) for each in TASK.sample(20, seed=0)])
    asked = strategy.ask(8)
    assert len({TASK.key(each) for each in asked}) == 8


@pytest.mark.parametrize("bad", [{"latents": 0.7, "grafts": 0.4}, {"population": 1}, {"shortest": 2.0}])
def test_settings_that_mean_nothing_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        LatentEvolutionConfig(**bad)  # type: ignore[arg-type]


def test_it_needs_a_start() -> None:
    vae = build("dvae", TASK, hidden=8, latent=3, seed=0)
    with pytest.raises(DvaeError, match="tell it some first"):
        LatentEvolution(vae, Archive(TASK)).ask(1)
