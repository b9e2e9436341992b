"""The order in which a model that reads a DAG as a sequence sees its nodes.

DAGs that are the same for a task should be one sequence. What makes them the same differs, so the order does:

- "given": the order is part of the meaning (ENAS: the main path leaves one topological order anyway).
- "types": every type occurs once (the variables of a Bayesian network): always the smallest type that is ready.
- "canonical": a canonical labelling (BLISS), always the smallest canonical rank that is ready (generic tasks). This
  is PACE's order, which takes Nauty's labelling.

Graphs are put in order once, on the CPU, before they are trained on or encoded; a step finds them so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, Label
from dvae.dag.value import canonical_order, topological_order
from dvae.tasks.vocabulary import END_INDEX, START_INDEX

NodeOrder = Literal["given", "types", "canonical"]
MAX_REMEMBERED = 1 << 16  # graphs whose canonical order is kept: a data set is encoded more than once
FIRST, LAST = -1, -2  # labels of their own for the start and the end node, which may not change places with others


def ordered(batch: DagBatch, order: NodeOrder) -> DagBatch:
    """The same graphs with their nodes in `order`; the start stays first and the end last."""
    if order == "given" or len(batch) == 0:
        return batch
    here = batch.to("cpu")
    moving = torch.arange(len(here)) if order == "canonical" else _out_of_type_order(here)
    if len(moving) == 0:
        return batch
    if here.columns is not None:
        return here.moved(_orders(here, order)).to(batch.device)
    labels = range(int(here.types.max()) + 1)
    arrange = _canonical if order == "canonical" else _by_types
    dags = [arrange(Dag((FIRST, *dag.types[1:-1], LAST), dag.edges)) for dag in here.select(moving).to_dags(labels)]
    index_of: dict[Label, int] = {FIRST: START_INDEX, LAST: END_INDEX, **{label: label for label in labels}}
    moved = DagBatch.from_dags(dags, index_of, here.max_nodes)
    types, adjacency = here.types.clone(), here.adjacency.clone()
    types[moving], adjacency[moving] = moved.types, moved.adjacency
    return DagBatch(types, adjacency, here.num_nodes, None, here.properties).to(batch.device)


def _orders(batch: DagBatch, order: NodeOrder) -> Tensor:
    """For each graph, which node comes at each place; where nothing else tells two nodes apart, columns do."""
    places = torch.arange(batch.max_nodes).repeat(len(batch), 1)
    for graph, dag in enumerate(marked_dags(batch)):
        places[graph, : len(dag)] = torch.tensor(_order_of(dag, order))
    return places


def marked_dags(batch: DagBatch) -> Iterator[Dag]:
    """The graphs of a batch on the CPU as values, start and end with labels of their own, columns as numbers."""
    columns = batch.columns
    dags = batch.to_dags(range(int(batch.types.max()) + 1))
    if columns is None:
        yield from (Dag((FIRST, *dag.types[1:-1], LAST), dag.edges) for dag in dags)
        return
    of_nodes, of_edges = (
        torch.where(numbers.isnan(), codes.double(), numbers).tolist()
        for codes, numbers in ((columns.node_codes, columns.node_numbers), (columns.edge_codes, columns.edge_numbers))
    )
    ends = torch.stack([columns.sources, columns.targets], 2).tolist()
    for graph, dag in enumerate(dags):
        at = {(source, target): place for place, (source, target) in enumerate(ends[graph])}
        node, edge = of_nodes[graph][: len(dag)], [of_edges[graph][at[ends]] for ends in dag.edges]
        yield Dag((FIRST, *dag.types[1:-1], LAST), dag.edges, _by_number(node), _by_number(edge))


def _by_number(rows: Sequence[Sequence[float]]) -> dict[str, tuple[float, ...]]:
    return {str(number): column for number, column in enumerate(zip(*rows, strict=True))}


@lru_cache(MAX_REMEMBERED)
def _order_of(dag: Dag, order: NodeOrder) -> list[int]:
    """The nodes of a marked DAG in `order`: of those that are ready always the one that comes first in it."""
    if order == "canonical":
        wanted = canonical_order(dag)
    else:
        wanted = sorted(range(len(dag)), key=lambda node: (dag.types[node], node))
    rank = {node: place for place, node in enumerate(wanted)}
    ready = topological_order(len(dag), [(rank[source], rank[target]) for source, target in dag.edges])
    inner = [wanted[place] for place in ready if dag.types[wanted[place]] not in (FIRST, LAST)]
    return [dag.types.index(FIRST), *inner, dag.types.index(LAST)]


def _out_of_type_order(batch: DagBatch) -> Tensor:
    """Graphs whose inner types do not rise; where they do, the smallest that is ready comes first already."""
    inner = torch.arange(2, batch.max_nodes) < batch.num_nodes[:, None] - 1
    falling = (batch.types[:, 2:] < batch.types[:, 1:-1]) & inner
    return falling.any(1).nonzero().squeeze(1)


@lru_cache(MAX_REMEMBERED)
def _canonical(dag: Dag) -> Dag:
    """`Dag` sorts topologically, smallest index first; here the indices are canonical ranks."""
    return _framed(_rearranged(dag, canonical_order(dag)))


def _by_types(dag: Dag) -> Dag:
    place = sorted(range(len(dag)), key=lambda node: (dag.types[node], node))
    return _framed(_rearranged(dag, place))


def _framed(dag: Dag) -> Dag:
    """The marked first and last node in their places: nothing leads to the one, nothing leaves the other."""
    first, last = dag.types.index(FIRST), dag.types.index(LAST)
    inner = [node for node in range(len(dag)) if node not in (first, last)]
    return _rearranged(dag, [first, *inner, last])


def _rearranged(dag: Dag, order: list[int]) -> Dag:
    rank = {node: position for position, node in enumerate(order)}
    edges = [(rank[source], rank[target]) for source, target in dag.edges]
    return dag.rebuilt(order, [dag.types[node] for node in order], edges)
