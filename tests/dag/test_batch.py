from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import PLAIN_LABELS, dags
from dvae.dag import Dag, DagBatch
from dvae.errors import DagError

INDEX_OF = {label: index for index, label in enumerate(PLAIN_LABELS)}
SOME_DAGS = [Dag(("a", "b", 1), ((0, 2), (1, 2))), Dag((0,)), Dag(("c", "c"), ((0, 1),))]


def batch_of(dags: list[Dag], max_nodes: int = 7) -> DagBatch:
    return DagBatch.from_dags(dags, INDEX_OF, max_nodes)


def same(first: DagBatch, second: DagBatch) -> bool:
    pairs = [
        (first.types, second.types),
        (first.adjacency, second.adjacency),
        (first.num_nodes, second.num_nodes),
    ]
    return all(torch.equal(one, other) for one, other in pairs)


def test_the_tensors_say_what_the_dags_say() -> None:
    batch = batch_of(SOME_DAGS, max_nodes=4)
    assert batch.types.tolist() == [[0, 1, 4, 0], [3, 0, 0, 0], [2, 2, 0, 0]]
    assert batch.num_nodes.tolist() == [3, 1, 2]
    assert batch.adjacency.nonzero().tolist() == [[0, 0, 2], [0, 1, 2], [2, 0, 1]]
    assert batch.node_mask().tolist() == [
        [True, True, True, False],
        [True, False, False, False],
        [True, True, False, False],
    ]
    assert (batch.types.dtype, batch.adjacency.dtype) == (torch.int64, torch.bool)
    assert (len(batch), batch.max_nodes, batch.device.type) == (3, 4, "cpu")


@given(st.lists(dags(), max_size=5))
def test_dags_come_back(items: list[Dag]) -> None:
    assert batch_of(items).to_dags(PLAIN_LABELS) == items


@given(st.lists(dags(max_nodes=4), max_size=5), st.integers(4, 9))
def test_padding_changes_nothing(items: list[Dag], max_nodes: int) -> None:
    padded = batch_of(items, 4).padded(max_nodes)
    assert same(padded, batch_of(items, max_nodes))
    assert padded.to_dags(PLAIN_LABELS) == items


@given(st.lists(dags(), min_size=1, max_size=6), st.integers(1, 7))
def test_parts_put_together_are_the_whole(items: list[Dag], size: int) -> None:
    batch = batch_of(items)
    parts = list(batch.split(size))
    assert max(map(len, parts)) <= size
    assert same(DagBatch.cat(parts), batch)


def test_select_takes_graphs_in_the_given_order() -> None:
    chosen = batch_of(SOME_DAGS).select(torch.tensor([2, 0]))
    assert chosen.to_dags(PLAIN_LABELS) == [SOME_DAGS[2], SOME_DAGS[0]]


def test_to_keeps_the_graphs() -> None:
    assert same(batch_of(SOME_DAGS).to("cpu"), batch_of(SOME_DAGS))


def test_a_dag_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DagError, match="3 nodes where at most 2"):
        batch_of(SOME_DAGS, max_nodes=2)
    with pytest.raises(DagError, match="type 'unknown' is not in the vocabulary"):
        batch_of([Dag(("unknown",))])
    with pytest.raises(DagError, match="cannot pad 7 nodes to 6"):
        batch_of(SOME_DAGS).padded(6)
