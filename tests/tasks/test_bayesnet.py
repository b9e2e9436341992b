from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from hypothesis import given

from dag_strategies import networks
from dvae.dag import Dag, DagBatch
from dvae.errors import CheckpointError, TaskError
from dvae.tasks import BayesNetTask, from_spec, get, to_spec
from dvae.tasks.bayesnet import ASIA_VARIABLES

TASK = BayesNetTask("small", ("A", "B", "C"))
VALID = {
    "no edges": Dag(("A", "B", "C")),
    "a chain": Dag(("A", "B", "C"), ((0, 1), (1, 2))),
    "another order": Dag(("C", "A", "B"), ((0, 1), (0, 2))),
    "complete": Dag(("B", "C", "A"), ((0, 1), (0, 2), (1, 2))),
}
INVALID = {
    "too few nodes": Dag(("A", "B"), ((0, 1),)),
    "too many nodes": Dag(("A", "B", "C", "A")),
    "a variable twice": Dag(("A", "B", "B"), ((0, 1),)),
    "an unknown variable": Dag(("A", "B", "Z")),
    "a virtual node": Dag(("<start>", "B", "C")),
}


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    assert TASK.is_valid(VALID[name])


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name: str) -> None:
    assert not TASK.is_valid(INVALID[name])


def test_virtual_ends_feed_the_roots_and_take_the_loose_ends() -> None:
    wrapped = TASK.wrap(Dag(("A", "B", "C"), ((0, 2),)))
    assert wrapped == Dag(("<start>", "A", "B", "C", "<end>"), ((0, 1), (0, 2), (1, 3), (2, 4), (3, 4)))
    assert TASK.unwrap(wrapped) == Dag(("A", "B", "C"), ((0, 2),))


@given(networks(ASIA_VARIABLES))
def test_networks_are_valid_and_come_back(dag: Dag) -> None:
    task = get("asia")
    assert task.is_valid(dag)
    assert task.unwrap(task.wrap(dag)) == dag
    assert task.unbatch(task.batch([dag])) == [dag]


def test_features_are_parents_in_any_order_of_nodes() -> None:
    one, other = Dag(("A", "B", "C"), ((0, 2),)), Dag(("B", "A", "C"), ((1, 2),))
    features = TASK.features(TASK.batch([one, other, VALID["another order"]])).reshape(3, 3, 3)
    assert torch.equal(features[0], features[1])
    assert features[0].nonzero().tolist() == [[0, 2]]
    assert features[2].nonzero().tolist() == [[2, 0], [2, 1]]


def test_features_are_bits_also_of_what_is_no_network() -> None:
    doubled = TASK.batch([Dag(("A", "A", "B"), ((0, 2), (1, 2)))])
    assert TASK.features(doubled).unique().tolist() == [0, 1]


def test_models_of_earlier_versions_keep_their_features() -> None:
    """Which were those of positions; a head has as many weights as there are features."""
    spec = to_spec(TASK)
    again = from_spec(spec)
    batch = TASK.batch([VALID["a chain"]])
    assert torch.equal(again.features(batch), TASK.features(batch))
    del spec["features"]
    old = from_spec(spec)
    assert old.features(batch).shape[1] == 5 * 5 + 10
    assert from_spec(to_spec(old)).features(batch).shape[1] == 5 * 5 + 10
    with pytest.raises(CheckpointError, match="parents or positions, not 3"):
        from_spec({**spec, "features": 3})
    with pytest.raises(TaskError, match="parents or positions, not 'types'"):
        BayesNetTask("small", ("A", "B"), features="types")  # type: ignore[arg-type]


def random_batch(count: int, seed: int) -> DagBatch:
    """A start, any three types and any edges, an end; some graphs end early."""
    generator = torch.Generator().manual_seed(seed)
    types = torch.randint(2, 5, (count, 5), generator=generator)
    types = torch.where(torch.rand(types.shape, generator=generator) < 0.02, 0, types)
    types[:, 0] = 0
    sizes = torch.where(torch.rand(count, generator=generator) < 0.2, 4, 5)
    types[torch.arange(count), sizes - 1] = 1
    inside = torch.arange(5) < sizes[:, None]
    adjacency = (torch.rand(count, 5, 5, generator=generator) < 0.5).triu(1)
    return DagBatch(types * inside, adjacency & inside[:, None, :] & inside[:, :, None], sizes)


def test_all_at_once_is_one_by_one() -> None:
    batch = random_batch(500, seed=0)
    valid = TASK.valid(batch).tolist()
    whole = batch.to_dags(TASK.vocabulary.labels)
    plain = [sorted(map(str, dag.types)) == ["<end>", "<start>", "A", "B", "C"] for dag in whole]
    assert 20 < sum(valid) < 480
    assert valid == plain == [TASK.is_valid(dag) for dag in TASK.unbatch(batch)]


def parent_sets(dag: Dag) -> dict[str, frozenset[str]]:
    return {
        str(label): frozenset(str(dag.types[node]) for node in predecessors)
        for label, predecessors in zip(dag.types, dag.predecessors(), strict=True)
    }


def test_two_networks_are_the_same_when_their_parent_sets_are() -> None:
    batch = random_batch(1500, seed=1)
    valid = batch.select(TASK.valid(batch).nonzero().squeeze(1))
    by_key: dict = {}
    for key, dag in zip(TASK.keys(valid), TASK.unbatch(valid), strict=True):
        by_key.setdefault(key, []).append(parent_sets(dag))
    assert all(all(sets == group[0] for sets in group) for group in by_key.values())
    distinct = [group[0] for group in by_key.values()]
    assert all(one != other for index, one in enumerate(distinct) for other in distinct[:index])
    assert len(distinct) == 25  # all labelled DAGs over three variables


def test_the_order_of_the_nodes_is_no_part_of_a_network() -> None:
    one = Dag(("A", "B", "C"), ((0, 2), (1, 2)))
    other = Dag(("B", "A", "C"), ((0, 2), (1, 2)))
    assert one != other
    assert TASK.key(one) == TASK.key(other)
    assert TASK.key(one) != TASK.key(Dag(("A", "C", "B"), ((0, 2), (1, 2))))


def test_invalid_graphs_have_keys_of_their_own() -> None:
    batch = random_batch(800, seed=2)
    invalid = batch.select((~TASK.valid(batch)).nonzero().squeeze(1))
    keys, dags = TASK.keys(invalid), invalid.to_dags(TASK.vocabulary.labels)
    assert len(set(keys)) == len(set(dags)) > 100
    valid_keys = set(TASK.keys(batch.select(TASK.valid(batch).nonzero().squeeze(1))))
    assert not valid_keys & set(keys)


@pytest.mark.parametrize("variables", ["ABCD", "ABCDEFGH"])
def test_every_edge_is_sampled_with_probability_two_over_k_minus_one(variables: str) -> None:
    task = BayesNetTask("sampled", variables)
    count, size = 20_000, len(variables)
    inner = task.sample_batch(count, seed=0).adjacency[:, 1:-1, 1:-1].float().mean(0)
    share = 2 / (size - 1)
    bound = 5 * (share * (1 - share) / count) ** 0.5  # five standard deviations of a binomial share
    for source in range(size):
        for target in range(size):
            expected = share if source < target else 0.0
            assert abs(float(inner[source, target]) - expected) <= (bound if source < target else 0.0)
    rate = float(inner.sum()) / (size * (size - 1) / 2)
    assert rate == pytest.approx(share, abs=bound)


def test_edges_are_sampled_independently() -> None:
    edges = get("asia").sample_batch(20_000, seed=1).adjacency[:, 1:-1, 1:-1].float()
    for first, second in pairwise([(0, 1), (0, 2), (1, 2), (3, 7), (6, 7)]):
        together = float((edges[:, first[0], first[1]] * edges[:, second[0], second[1]]).mean())
        assert together == pytest.approx((2 / 7) ** 2, abs=0.01)


def test_samples_respect_the_order_and_repeat_under_their_seed() -> None:
    task = get("asia")
    dags = task.sample(50, seed=3)
    assert all(dag.types == ASIA_VARIABLES for dag in dags)
    assert all(task.is_valid(dag) for dag in dags)
    assert task.batch(dags).adjacency.equal(task.sample_batch(50, seed=3).adjacency)
    assert dags == task.sample(50, seed=3) != task.sample(50, seed=4)


def test_variables_are_at_least_two_distinct_and_not_reserved() -> None:
    for variables, words in [(("A",), "two variables"), (("A", "A"), "once"), (("A", "<end>"), "reserved")]:
        with pytest.raises(TaskError, match=words):
            BayesNetTask("wrong", variables)


def test_the_spec_makes_an_equal_task() -> None:
    again = from_spec(to_spec(TASK))
    assert isinstance(again, BayesNetTask)
    assert (again.name, again.variables, again.max_nodes) == ("small", ("A", "B", "C"), 5)


@pytest.mark.parametrize("variables", ["A,B", "A,B,C"])
def test_few_variables_have_more_than_one_network(variables: str) -> None:
    """bnlearn's probability of an edge, 2 / (k - 1), is 1 or more for them."""
    task = get(f"bn:{variables}")
    assert len(set(task.keys_of(task.sample(100, seed=0)))) == 2 ** (
        len(task.variables) * (len(task.variables) - 1) // 2
    )
