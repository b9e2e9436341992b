"""The order in which a DAG is written layer by layer.

A node's layer is the longest path to it. Within a layer nodes come by their predecessors (the places of those, last one
first), then by type, then by what follows them: how far it is to the end, how many nodes there are on the way, a hash
of them. So a layer reads like the one before it, and what is left to chance are twins. Where the order is part of a
task's meaning (`NodeOrder` "given") it stays as it is; else a canonical labelling decides between twins, so that
isomorphic DAGs become one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import torch

from dvae.dag import Dag, DagBatch
from dvae.dag.value import canonical_order
from dvae.models.node_order import FIRST, LAST, MAX_REMEMBERED, NodeOrder, marked_dags

Key = tuple[object, ...]


def layer_ordered(batch: DagBatch, order: NodeOrder) -> DagBatch:
    """The same graphs, their nodes layer by layer; the start stays first and the end last."""
    if order == "given" or len(batch) == 0:
        return batch
    places = torch.arange(batch.max_nodes).repeat(len(batch), 1)
    for graph, dag in enumerate(marked_dags(batch.to("cpu"))):
        places[graph, : len(dag)] = torch.tensor(_order_of(dag))
    return batch.moved(places.to(batch.device))


@lru_cache(MAX_REMEMBERED)
def _order_of(dag: Dag) -> tuple[int, ...]:
    """The nodes of a marked DAG, layer by layer."""
    before, after = dag.predecessors(), dag.successors()
    layer = [0] * len(dag)
    for node, sources in enumerate(before):
        layer[node] = max((layer[source] + 1 for source in sources), default=int(dag.types[node] != FIRST))
    last = dag.types.index(LAST)
    layer[last] = len(dag)
    future = _futures(dag, after)
    rank: Sequence[int] | None = None
    placed: list[int] = []
    place = [0] * len(dag)
    for number in sorted(set(layer)):
        members = [node for node in range(len(dag)) if layer[node] == number]
        keys: dict[int, Key] = {
            node: (sorted((place[source] for source in before[node]), reverse=True), dag.types[node], future[node])
            for node in members
        }
        members.sort(key=keys.__getitem__)
        if any(keys[one] == keys[other] for one, other in pairwise(members)):
            rank = rank or _ranks(dag)
            known = rank
            members.sort(key=lambda node: (keys[node], known[node]))
        for node in members:
            place[node] = len(placed)
            placed.append(node)
    return tuple(placed)


def _ranks(dag: Dag) -> list[int]:
    ranks = [0] * len(dag)
    for rank, node in enumerate(canonical_order(dag)):
        ranks[node] = rank
    return ranks


def _futures(dag: Dag, after: Sequence[Sequence[int]]) -> list[Key]:
    """For every node: the longest way to a sink, the nodes it leads to with their repeats, and a hash of all that."""
    found: list[Key] = [()] * len(dag)
    height, weight, mark = [0] * len(dag), [1] * len(dag), [""] * len(dag)
    for node in reversed(range(len(dag))):
        height[node] = max((height[target] + 1 for target in after[node]), default=0)
        weight[node] = min(1 + sum(weight[target] for target in after[node]), 1 << 40)
        columns = [repr(values[node]) for values in dag.node.values()]
        text = repr((dag.types[node], columns, sorted(mark[target] for target in after[node])))
        mark[node] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        found[node] = (height[node], weight[node], mark[node])
    return found
