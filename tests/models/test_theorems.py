"""Theorem 1 (isomorphic DAGs encode alike) and Theorem 2 (a DAG's computation and its encoding, one to one)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dag_strategies import dags, renumbered
from dvae.dag import Dag
from dvae.models import VAE, build
from dvae.tasks import EnasTask
from models.examples import generic_task

READOUTS = ("end", "sum", "both")


@cache
def plain_model(readout: str, bidirectional: bool) -> VAE:
    """The configuration Theorem 1 speaks of: gated sums without positions."""
    task = generic_task(virtual=True, max_nodes=9, inner="abc")
    options = {"readout": readout, "bidirectional": bidirectional, "aggregation": "gated-sum"}
    return build("dvae", task, hidden=6, latent=4, seed=0, **options).double()


@st.composite
def reordered(draw: st.DrawFn) -> tuple[Dag, Dag]:
    """A DAG, and the same with its nodes in another topological order."""
    dag = draw(dags(labels="abc", max_nodes=7))
    waiting, order = set(range(len(dag))), []
    predecessors = dag.predecessors()
    while waiting:
        ready = sorted(node for node in waiting if not waiting & set(predecessors[node]))
        order.append(draw(st.sampled_from(ready)))
        waiting.remove(order[-1])
    return dag, renumbered(dag, order)


@pytest.mark.parametrize("bidirectional", [False, True], ids=["one way", "both ways"])
@pytest.mark.parametrize("readout", READOUTS)
@given(both=reordered())
@settings(max_examples=25)
def test_theorem_1_any_topological_order_encodes_alike(readout: str, bidirectional: bool, both) -> None:
    vae = plain_model(readout, bidirectional)
    first, second = vae.encode(both[:1]), vae.encode(both[1:])
    torch.testing.assert_close(first.mean, second.mean, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(first.logvar, second.logvar, atol=1e-10, rtol=1e-10)


def test_theorem_1_does_not_hold_for_messages_with_positions() -> None:
    one = Dag(("input", "conv3", "max3", "output"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    other = Dag(("input", "max3", "conv3", "output"), one.edges)
    assert one.canonical_key() == other.canonical_key()
    vae = build("dvae", EnasTask(2), hidden=6, latent=4, seed=0).double()
    posterior = vae.encode([one, other])
    assert float((posterior.mean[0] - posterior.mean[1]).abs().max()) > 1e-5
    plain = build("dvae", EnasTask(2), hidden=6, latent=4, seed=0, aggregation="gated-sum").double()
    posterior = plain.encode([one, other])
    torch.testing.assert_close(posterior.mean[0], posterior.mean[1], atol=1e-12, rtol=1e-12)


def small_dags(most_inner: int) -> Iterator[Dag]:
    """All DAGs of one start s, one end t and up to `most_inner` nodes a or b between, each fed and used."""
    for inner in range(most_inner + 1):
        nodes = inner + 2
        pairs = list(combinations(range(nodes), 2))
        shapes = []
        for kept in product((False, True), repeat=len(pairs)):
            edges = tuple(pair for pair, keep in zip(pairs, kept, strict=True) if keep)
            shape = Dag((0,) * nodes, edges)
            if shape.sources() == [0] and shape.sinks() == [nodes - 1]:
                shapes.append(edges)
        for labels in product("ab", repeat=inner):
            yield from (Dag(("s", *labels, "t"), edges) for edges in shapes)


def computation(dag: Dag) -> tuple:
    """What the end node computes: its type and the multiset of what its predecessors compute, all the way down."""
    values: list[tuple] = []
    for label, predecessors in zip(dag.types, dag.predecessors(), strict=True):
        values.append((label, tuple(sorted(values[node] for node in predecessors))))
    return values[-1]


def test_theorem_2_computations_and_encodings_are_one_to_one() -> None:
    everything = list(small_dags(3))
    groups: dict[tuple, list[int]] = defaultdict(list)
    for index, dag in enumerate(everything):
        groups[computation(dag)].append(index)
    shared = [members for members in groups.values() if len({everything[i].canonical_key() for i in members}) > 1]
    assert len(everything) > 1000
    assert shared, "no two DAGs that differ compute the same: the example is too small"
    options = {"bidirectional": False, "readout": "end", "aggregation": "gated-sum"}
    vae = build("dvae", generic_task(max_nodes=5), hidden=16, latent=16, seed=1, **options).double()
    means = vae.encode(everything).mean
    alone = torch.cat([vae.encode([everything[i]]).mean for members in shared[:20] for i in members])
    torch.testing.assert_close(alone, means[[i for members in shared[:20] for i in members]], atol=1e-10, rtol=0)
    for members in groups.values():
        spread = (means[members] - means[members[0]]).abs().max()
        assert spread <= 1e-10, f"equal computations encode differently: {[everything[i] for i in members]}"
    distinct = means[[members[0] for members in groups.values()]]
    apart = torch.cdist(distinct, distinct, compute_mode="donot_use_mm_for_euclid_dist")
    apart.fill_diagonal_(torch.inf)
    assert float(apart.min()) > 1e-7, "two different computations have one encoding"
