"""Single changes of a DAG, as made in the drawing. Each returns a new DAG, or says why it cannot be."""

from __future__ import annotations

from dvae.dag import Dag, Label
from dvae.explorer.places import RequestError
from dvae.tasks import Task
from dvae.tasks.rules import EachOnceRules


def retype(dag: Dag, node: int, label: Label, task: Task) -> Dag:
    """Another type for a node; where every type comes once (variables), the two nodes swap theirs."""
    _check_node(dag, node)
    if label not in task.vocabulary.index_of:
        raise RequestError(f"{label!r} is no type of {task.name}")
    types = list(dag.types)
    if isinstance(task.rules, EachOnceRules) and label in types:
        types[types.index(label)] = types[node]
    types[node] = label
    kept = [place if was == now else None for place, (was, now) in enumerate(zip(dag.types, types, strict=True))]
    return dag.rebuilt(kept, types, dag.edges)


def toggle_edge(dag: Dag, source: int, target: int) -> Dag:
    """The DAG with the edge if it had none, without it if it had; nodes are put in order anew where needed."""
    _check_node(dag, source)
    _check_node(dag, target)
    if source == target:
        raise RequestError("choose two different nodes: an edge cannot lead from a node to itself")
    edges = set(dag.edges) ^ {(source, target)}
    if (target, source) in edges and (source, target) in edges:
        raise RequestError("there is an edge the other way already; remove it first")
    return dag.rebuilt(range(len(dag)), dag.types, list(edges))


def _check_node(dag: Dag, node: int) -> None:
    if not 0 <= node < len(dag):
        raise RequestError(f"this DAG has the nodes 0 to {len(dag) - 1}, no node {node}")
