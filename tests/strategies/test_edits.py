"""Single edits: every kind happens where a task allows it, and what comes out is valid."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

import dvae
from dvae.dag import Dag, ScoredDag
from dvae.strategies import Archive, Evolution
from dvae.strategies.edits import changed, with_new_node, without_node
from dvae.tasks import GenericTask

ANY = GenericTask.infer("any", [Dag(("a", "b", "a", "b"), ((0, 1),)), Dag(("a",)), Dag(("b", "a"), ((0, 1),))])
FRAMED = GenericTask.infer(
    "framed",
    [
        Dag(("in", "x", "y", "out"), ((0, 1), (0, 2), (1, 3), (2, 3))),
        Dag(("in", "x", "y", "x", "out"), ((0, 1), (1, 2), (2, 3), (3, 4), (1, 4))),
    ],
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_a_dag_of_one_node_is_edited() -> None:
    chance = generator()
    found = {changed(ANY, Dag(("a",)), chance) for _ in range(60)}
    assert all(ANY.is_valid(dag) for dag in found)
    assert {Dag(("b",)), Dag(("a", "a")), Dag(("a", "b"), ((0, 1),))} <= found


@pytest.mark.parametrize(
    ("task", "dag"),
    [
        (ANY, Dag(("a", "b", "a"), ((0, 1), (1, 2)))),
        (FRAMED, Dag(("in", "x", "y", "out"), ((0, 1), (1, 2), (2, 3)))),
    ],
)
def test_edits_change_the_size_where_sizes_vary(task: GenericTask, dag: Dag) -> None:
    chance = generator()
    found = [changed(task, dag, chance) for _ in range(300)]
    assert all(task.is_valid(each) for each in found)
    sizes = Counter(len(each) - len(dag) for each in found)
    assert sizes.keys() == {-1, 0, 1}
    assert min(sizes[-1], sizes[1]) >= 30


def test_nothing_grows_beyond_what_the_model_holds() -> None:
    chance = generator()
    largest = Dag(("a", "b", "a", "b"), ((0, 1),))
    assert max(len(changed(ANY, largest, chance)) for _ in range(100)) == 4


def test_a_new_node_stands_on_an_edge_or_beside() -> None:
    chance, dag = generator(), Dag(("in", "out"), ((0, 1),))
    found = {with_new_node(FRAMED, dag, chance) for _ in range(400)}
    assert Dag(("in", "x", "out"), ((0, 1), (1, 2))) in found
    assert Dag(("in", "x", "out"), ((0, 1), (0, 2), (1, 2))) in found
    assert all(len(each) == 3 for each in found)


def test_a_removed_node_is_bypassed_or_leaves_a_gap() -> None:
    chance, dag = generator(), Dag(("a", "b", "c"), ((0, 1), (1, 2)))
    found = {without_node(ANY, dag, chance) for _ in range(100)}
    assert {
        Dag(("a", "c"), ((0, 1),)),
        Dag(("a", "c")),
        Dag(("b", "c"), ((0, 1),)),
        Dag(("a", "b"), ((0, 1),)),
    } == found
    assert without_node(ANY, Dag(("a",)), chance) == Dag(("a",))


@pytest.mark.parametrize("name", ["asia", "enas6", "nasbench201"])
def test_tasks_of_one_size_keep_it(name: str) -> None:
    task = dvae.tasks.get(name)
    assert not task.varies_in_size


def test_the_random_stream_of_tasks_of_one_size_is_that_of_version_0_1_0() -> None:
    """Published searches rest on it."""
    task = dvae.tasks.get("asia")
    chance, dag = generator(7), task.sample(1, seed=0)[0]
    oracle_chance, expected = generator(7), dag
    for _ in range(20):
        dag = changed(task, dag, chance)
        expected = _changed_in_0_1_0(task, expected, oracle_chance)
        assert dag == expected


def _changed_in_0_1_0(task: dvae.tasks.Task, dag: Dag, chance: torch.Generator) -> Dag:
    for _ in range(50):
        types, edges = list(dag.types), set(dag.edges)
        if int(torch.randint(2, (1,), generator=chance)) == 0:
            label = task.vocabulary.labels[int(torch.randint(task.num_types, (1,), generator=chance))]
            types[int(torch.randint(len(types), (1,), generator=chance))] = label
        else:
            source, target = sorted(torch.randperm(len(types), generator=chance)[:2].tolist())
            edges ^= {(source, target)}
        child = Dag(tuple(types), tuple(edges))
        if child != dag and task.is_valid(child):
            return child
    return dag


@pytest.mark.parametrize("start", [Dag(("a",)), Dag(("a", "b", "a", "b"), ((0, 1),))])
def test_evolution_finds_the_best_size(start: Dag) -> None:
    """Three nodes and two edges are best: from one node, nodes must be added; from four, one removed."""

    def score(dag: Dag) -> float:
        return -abs(len(dag) - 3) - 0.1 * abs(len(dag.edges) - 2) - 0.1 * abs(dag.types.count("a") - 2)

    strategy = Evolution(None, Archive(ANY), seed=0, population=10, tournament=4)
    strategy.tell([ScoredDag(start, score(start))])
    found: list[Dag] = []
    for _ in range(10):
        dags = strategy.ask(5)
        found += dags
        strategy.tell([ScoredDag(dag, score(dag)) for dag in dags])
    assert max(map(score, found)) == 0
