"""Parts of one DAG in another: a node and all that flows into it is taken from a donor."""

from __future__ import annotations

import torch

from dvae.dag import Dag, Edge, Label
from dvae.strategies.base import ATTEMPTS, draw_below
from dvae.tasks import Task


def grafted(task: Task, dag: Dag, part: Dag, generator: torch.Generator) -> Dag:
    """`dag` with `part` in place of one of its own or joined to it by a new node, if a valid result is found soon."""
    for _ in range(ATTEMPTS):
        place = draw_below(len(dag), generator)
        if draw_below(2, generator):
            child = replaced(dag, place, part)
        else:
            child = joined(dag, place, part, task.vocabulary.labels[draw_below(task.num_types, generator)])
        if child != dag and task.is_valid(child):
            return child
    return dag


def parts_of(dag: Dag, most_nodes: int) -> list[Dag]:
    """The nodes of a DAG with all that flows into each, where that is no more than `most_nodes` nodes."""
    inputs = dag.predecessors()
    cones = (_cone(inputs, node, most_nodes) for node in range(len(dag)))
    return [_part(dag, nodes) for nodes in cones if nodes is not None]


def _cone(inputs: list[list[int]], node: int, most: int) -> set[int] | None:
    """The node and everything that flows into it; None where these are more than `most` nodes."""
    kept, waiting = {node}, [node]
    while waiting:
        fresh = [source for source in inputs[waiting.pop()] if source not in kept]
        kept.update(fresh)
        waiting += fresh
        if len(kept) > most:
            return None
    return kept


def replaced(dag: Dag, node: int, part: Dag) -> Dag:
    """`dag` with the last node of `part` in place of `node`; what only fed `node` is left out."""
    whole, shift = _side_by_side(part, dag), len(part)
    edges = [(shift - 1 if source == shift + node else source, target) for source, target in whole.edges]
    return _without_unused(whole.types, [edge for edge in edges if edge[1] != shift + node], dag, node, shift)


def joined(dag: Dag, node: int, part: Dag, label: Label) -> Dag:
    """`dag` with a new node between `node` and what it feeds, fed by the last node of `part` as well."""
    whole, shift, new = _side_by_side(part, dag), len(part), len(part) + len(dag)
    edges = [(new if source == shift + node else source, target) for source, target in whole.edges]
    return Dag((*whole.types, label), (*edges, (shift + node, new), (shift - 1, new)))


def _side_by_side(first: Dag, second: Dag) -> Dag:
    shift = len(first)
    return Dag((*first.types, *second.types), (*first.edges, *((u + shift, v + shift) for u, v in second.edges)))


def _without_unused(types: tuple[Label, ...], edges: list[Edge], dag: Dag, node: int, shift: int) -> Dag:
    """Leaves out `node`, and its cone but for what feeds other nodes, or was a sink."""
    kept, sinks = set(range(len(types))), {sink + shift for sink in dag.sinks()}
    waiting = [node + shift]
    inputs = [[source + shift for source in sources] for sources in dag.predecessors()]
    while waiting:
        gone = waiting.pop()
        kept.discard(gone)
        feeding = {source for source, target in edges if target in kept}
        waiting += [each for each in inputs[gone - shift] if each in kept and each not in feeding | sinks]
    rank = {each: place for place, each in enumerate(sorted(kept))}
    inner = tuple((rank[u], rank[v]) for u, v in edges if u in kept and v in kept)
    return Dag(tuple(types[each] for each in sorted(kept)), inner)


def _part(dag: Dag, kept: set[int]) -> Dag:
    rank = {node: place for place, node in enumerate(sorted(kept))}
    edges = tuple((rank[u], rank[v]) for u, v in dag.edges if u in kept and v in kept)
    return Dag(tuple(dag.types[node] for node in sorted(kept)), edges)
