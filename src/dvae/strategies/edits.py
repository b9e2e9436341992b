"""Single random edits of a DAG: another type, an edge more or less and, where sizes vary, a node more or less."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from dvae.dag import Dag, Edge, Label
from dvae.strategies.base import ATTEMPTS, draw_below
from dvae.tasks import Task

Edit = Callable[[Task, Dag, torch.Generator], Dag]


def changed(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    """`dag` after one random edit, if a valid result is found soon; otherwise `dag` as it is."""
    kinds = ALL_EDITS if task.varies_in_size else SAME_SIZE_EDITS
    for _ in range(ATTEMPTS):
        child = kinds[draw_below(len(kinds), generator)](task, dag, generator)
        if child != dag and task.is_valid(child):
            return child
    return dag


def with_another_type(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    types = list(dag.types)
    node = draw_below(len(types), generator)
    types[node] = _label(task, generator)
    return _same_nodes(dag, types, dag.edges, changed=node)


def with_toggled_edge(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    """An edge between two random nodes is added, or removed where there is one."""
    if len(dag) < 2:
        return dag
    source, target = sorted(torch.randperm(len(dag), generator=generator)[:2].tolist())
    return _same_nodes(dag, dag.types, set(dag.edges) ^ {(source, target)})


def with_new_node(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    """A node of a random type on an edge, or anywhere with at most one edge in and one out."""
    label = _label(task, generator)
    if dag.edges and draw_below(2, generator):
        source, target = dag.edges[draw_below(len(dag.edges), generator)]
        whole = _with_gap(dag, target, label)
        edges = {*whole.edges, (source, target), (target, target + 1)}
        return _same_nodes(whole, whole.types, edges - {(source, target + 1)} if draw_below(2, generator) else edges)
    place = draw_below(len(dag) + 1, generator)
    whole = _with_gap(dag, place, label)
    edges = set(whole.edges)
    if place > 0 and draw_below(4, generator):
        edges.add((draw_below(place, generator), place))
    if place < len(dag) and draw_below(4, generator):
        edges.add((place, place + 1 + draw_below(len(dag) - place, generator)))
    return _same_nodes(whole, whole.types, edges)


def without_node(task: Task, dag: Dag, generator: torch.Generator) -> Dag:
    """A random node is removed; its predecessors feed its successors instead, or nothing takes its place."""
    if len(dag) < 2:
        return dag
    gone = draw_below(len(dag), generator)
    edges = {edge for edge in dag.edges if gone not in edge}
    if draw_below(2, generator):
        before, after = dag.predecessors()[gone], dag.successors()[gone]
        edges |= {(source, target) for source in before for target in after}
    kept = [node for node in range(len(dag)) if node != gone]
    moved = [_moved(edge, lambda node: node - (node > gone)) for edge in edges]
    return dag.rebuilt(kept, [dag.types[node] for node in kept], moved)


def _same_nodes(dag: Dag, types: Sequence[Label], edges: Iterable[Edge], changed: int | None = None) -> Dag:
    """`dag` with other edges or types; the values of its columns stay, except those of the node that changed."""
    return dag.rebuilt([None if node == changed else node for node in range(len(dag))], types, list(edges))


def _label(task: Task, generator: torch.Generator) -> Label:
    return task.vocabulary.labels[draw_below(task.num_types, generator)]


def _with_gap(dag: Dag, place: int, label: Label) -> Dag:
    """`dag` with an unconnected node of type `label` at `place`; the others move up."""
    edges = [_moved(edge, lambda node: node + (node >= place)) for edge in dag.edges]
    nodes = [*range(place), None, *range(place, len(dag))]
    return dag.rebuilt(nodes, (*dag.types[:place], label, *dag.types[place:]), edges)


def _moved(edge: Edge, place_of: Callable[[int], int]) -> Edge:
    source, target = edge
    return place_of(source), place_of(target)


SAME_SIZE_EDITS: tuple[Edit, ...] = (with_another_type, with_toggled_edge)
ALL_EDITS: tuple[Edit, ...] = (*SAME_SIZE_EDITS, with_new_node, without_node)
