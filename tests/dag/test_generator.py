"""Random DAGs have the size, the density and the depth asked for."""

from __future__ import annotations

import pytest

from dvae.dag import Dag, random_dags
from dvae.errors import DagError


def depth(dag: Dag) -> int:
    levels: list[int] = []
    for predecessors in dag.predecessors():
        levels.append(1 + max((levels[node] for node in predecessors), default=0))
    return max(levels)


@pytest.mark.parametrize("nodes", [1, 2, 7, 64, 300])
def test_size_density_and_depth(nodes: int) -> None:
    for dag in random_dags(3, nodes, seed=nodes):
        assert len(dag) == nodes
        assert depth(dag) == max(1, round(nodes / 2))
        if nodes > 6:
            assert len(dag.edges) == round(1.2 * nodes)


def test_what_cannot_be_had_is_approached() -> None:
    (chain,) = random_dags(1, 9, depth=1.0, edges_per_node=0.0)
    assert len(chain.edges) == 8
    (full,) = random_dags(1, 9, depth=1.0, edges_per_node=100)
    assert len(full.edges) == 36
    (flat,) = random_dags(1, 9, depth=0.1, labels=("x",))
    assert flat == Dag(("x",) * 9, ())


def test_a_seed_gives_the_same_dags() -> None:
    assert random_dags(4, 30, seed=1) == random_dags(4, 30, seed=1)
    assert random_dags(4, 30, seed=1) != random_dags(4, 30, seed=2)


@pytest.mark.parametrize(("count", "nodes", "options"), [
    (-1, 5, {}), (1, 0, {}), (1, 5, {"depth": 0.0}), (1, 5, {"edges_per_node": -1}), (1, 5, {"labels": ()}),
])  # fmt: skip
def test_impossible_wishes(count: int, nodes: int, options: dict) -> None:
    with pytest.raises(DagError):
        random_dags(count, nodes, **options)
