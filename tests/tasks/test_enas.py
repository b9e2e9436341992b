from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import architectures
from dvae.dag import Dag, DagBatch
from dvae.dag.original import ENAS_OPERATIONS
from dvae.errors import TaskError
from dvae.tasks import EnasTask, from_spec, get, to_spec

TASK = EnasTask(3)
CHAIN = ((0, 1), (1, 2), (2, 3))
VALID = {
    "a chain": Dag(("input", "conv3", "max3", "output"), CHAIN),
    "a skip connection": Dag(("input", "conv3", "max3", "output"), (*CHAIN, (0, 2))),
    "a skip to the output": Dag(("input", "conv3", "max3", "output"), (*CHAIN, (1, 3))),
    "fewer layers": Dag(("input", "sep5", "output"), ((0, 1), (1, 2))),
    "one operation everywhere": Dag(("input", *["avg3"] * 3, "output"), (*CHAIN, (3, 4))),
}
INVALID = {
    "no start": Dag(("conv3", "max3", "output"), ((0, 1), (1, 2))),
    "two starts": Dag(("input", "input", "max3", "output"), CHAIN),
    "no end": Dag(("input", "conv3", "max3"), ((0, 1), (1, 2))),
    "two ends": Dag(("input", "conv3", "output", "output"), CHAIN),
    "an inner node without predecessors": Dag(("input", "conv3", "max3", "output"), ((0, 1), (1, 3), (2, 3))),
    "an inner node without successors": Dag(("input", "conv3", "max3", "output"), ((0, 1), (1, 2), (0, 3))),
    "not fed by the node before": Dag(("input", "conv3", "max3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3))),
    "the end not fed by the node before": Dag(
        ("input", "conv3", "max3", "sep3", "output"), ((0, 1), (1, 2), (1, 3), (2, 3), (2, 4))
    ),
    "an end alone": Dag(("input", "conv3", "output"), ((0, 1),)),
    "an unknown operation": Dag(("input", "conv7", "output"), ((0, 1), (1, 2))),
    "too many layers": Dag(("input", *["conv3"] * 4, "output"), tuple((n, n + 1) for n in range(5))),
    "a node alone": Dag(("input",)),
}


@pytest.mark.parametrize("name", VALID)
def test_valid(name: str) -> None:
    assert TASK.is_valid(VALID[name])


@pytest.mark.parametrize("name", INVALID)
def test_invalid(name: str) -> None:
    assert not TASK.is_valid(INVALID[name])


def plainly_valid(dag: Dag) -> bool:
    """The paper's six checks, word for word; a `Dag` is acyclic."""
    predecessors, successors = dag.predecessors(), dag.successors()
    starts = [node for node, label in enumerate(dag.types) if label == "input"]
    ends = [node for node, label in enumerate(dag.types) if label == "output"]
    if len(starts) != 1 or len(ends) != 1:
        return False
    for node in range(len(dag)):
        if node not in starts and not predecessors[node]:
            return False
        if node not in ends and not successors[node]:
            return False
    return all(node - 1 in predecessors[node] for node in range(1, len(dag)))


def random_batch(count: int, seed: int) -> DagBatch:
    """Architectures with a few decisions changed, so that valid and invalid ones both occur."""
    generator = torch.Generator().manual_seed(seed)
    batch = TASK.sample_batch(count, seed)
    flips = torch.rand(batch.adjacency.shape, generator=generator) < 0.08
    noise = torch.rand(batch.types.shape, generator=generator) < 0.05
    types = torch.where(noise, torch.randint(8, batch.types.shape, generator=generator), batch.types)
    sizes = torch.where(torch.rand(count, generator=generator) < 0.2, 4, 5)
    types[torch.arange(count), sizes - 1] = 1
    inside = torch.arange(5) < sizes[:, None]
    adjacency = (batch.adjacency ^ flips.triu(1)) & inside[:, None, :] & inside[:, :, None]
    return DagBatch(types * inside, adjacency, sizes)


def test_all_at_once_is_one_by_one() -> None:
    batch = random_batch(500, seed=0)
    dags = TASK.unbatch(batch)
    valid = TASK.valid(batch).tolist()
    assert 50 < sum(valid) < 450
    assert valid == [TASK.is_valid(dag) for dag in dags] == [plainly_valid(dag) for dag in dags]
    assert TASK.keys(batch) == [TASK.key(dag) for dag in dags]


def test_two_architectures_are_the_same_when_position_by_position_they_are() -> None:
    batch = DagBatch.cat([random_batch(300, seed=1), random_batch(300, seed=1), random_batch(300, seed=2)])
    keys, dags = TASK.keys(batch), TASK.unbatch(batch)
    assert keys[:300] == keys[300:600]
    assert len(set(keys)) == len(set(dags)) > 100
    mirrored = Dag(("input", "max3", "conv3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    straight = Dag(("input", "conv3", "max3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    assert TASK.key(mirrored) != TASK.key(straight)


@given(architectures(ENAS_OPERATIONS, max_layers=8))
def test_architectures_are_valid_and_come_back(dag: Dag) -> None:
    task = EnasTask(8)
    assert task.is_valid(dag)
    assert task.wrap(dag) == dag
    assert task.unbatch(task.batch([dag])) == [dag]


@given(st.integers(1, 12), st.integers(0, 2**31))
def test_sampled_architectures_are_valid_and_of_full_depth(layers: int, seed: int) -> None:
    task = EnasTask(layers)
    batch = task.sample_batch(20, seed)
    assert bool(task.valid(batch).all())
    assert batch.num_nodes.tolist() == [layers + 2] * 20
    assert task.sample(20, seed) == task.unbatch(batch)


def test_samples_are_uniform_and_the_output_takes_the_last_layer_only() -> None:
    batch = EnasTask(6).sample_batch(4000, seed=0)
    layers = torch.bincount(batch.types[:, 1:-1].flatten(), minlength=8)[2:] / 24_000
    torch.testing.assert_close(layers, torch.full((6,), 1 / 6), atol=0.015, rtol=0)
    skips = batch.adjacency.float().mean(0)
    for source in range(5):
        for target in range(source + 2, 7):
            assert float(skips[source, target]) == pytest.approx(0.5, abs=0.04)
    assert not bool(batch.adjacency[:, :6, 7].any())


def test_the_vocabulary_has_the_ends_first_and_the_originals_order() -> None:
    assert get("enas6").vocabulary.labels == (
        "input", "output", "conv3", "sep3", "conv5", "sep5", "avg3", "max3",
    )  # fmt: skip
    assert (get("enas6").num_types, get("enas6").max_nodes, get("enas12").max_nodes) == (8, 8, 14)


@pytest.mark.parametrize("layers", [0, -1, 257])
def test_an_impossible_depth_is_refused(layers: int) -> None:
    with pytest.raises(TaskError, match="1 to 256 layers"):
        EnasTask(layers)


def test_a_dag_that_does_not_belong_is_named() -> None:
    with pytest.raises(TaskError, match="DAG 1 has a node of type 'conv7', unknown to enas3"):
        TASK.batch([VALID["a chain"], INVALID["an unknown operation"]])
    with pytest.raises(TaskError, match="DAG 0 has 6 nodes for the model, but enas3 allows 5"):
        TASK.batch([INVALID["too many layers"]])


def test_the_spec_makes_an_equal_task() -> None:
    again = from_spec(to_spec(EnasTask(7)))
    assert isinstance(again, EnasTask)
    assert (again.name, again.layers, again.max_nodes) == ("enas7", 7, 9)
