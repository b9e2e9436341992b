"""How close a decoded DAG comes to the one that was encoded, beside whether it is the same.

Both are compared as the user's DAGs. Nodes are matched by label where both DAGs have the same labels, each once
(Bayesian networks), and by position elsewhere: the position in the order in which the model reads and decodes nodes.
A DAG that is the same by the task's own key counts as right in every node and edge, whatever its node order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dvae.dag import Dag, DagBatch
from dvae.evaluation.intervals import Estimate, clustered_proportion, mean_estimate
from dvae.tasks import Task


@dataclass(frozen=True)
class Closeness:
    """Means over graphs, with intervals over graphs."""

    nodes: Estimate  # share of nodes, of the larger DAG, whose type and predecessors are both right
    types: Estimate  # share of nodes, of the larger DAG, whose type is right
    edges: Estimate  # edges in both DAGs, as a share of those in either; 1 where there are none
    edits: Estimate  # `edit_distance`: node types and edges that differ

    @classmethod
    def of(cls, comparisons: Sequence[Comparison]) -> Closeness:
        """The means over compared graphs."""
        nodes, types, edges = (
            clustered_proportion([getattr(one, name) for one in comparisons]) for name in ("nodes", "types", "edges")
        )
        return cls(nodes, types, edges, mean_estimate([one.edits for one in comparisons]))

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {name: getattr(self, name).to_mapping() for name in ("nodes", "types", "edges", "edits")}


@dataclass(frozen=True)
class Comparison:
    """One decoded DAG beside the one that was encoded, as in `Closeness`."""

    nodes: float = 1.0
    types: float = 1.0
    edges: float = 1.0
    edits: int = 0


def compared(task: Task, truth: DagBatch, decoded: DagBatch, same: Sequence[bool]) -> list[Comparison]:
    """Each decoded DAG against its truth; `same` says which are the same by the task's key."""
    labels = task.vocabulary.labels
    return [
        Comparison() if equal else compare(*_as_users_see(task, true, found))
        for true, found, equal in zip(truth.to_dags(labels), decoded.to_dags(labels), same, strict=True)
    ]


def compare(truth: Dag, decoded: Dag) -> Comparison:
    """How much of `truth` there is in `decoded`."""
    one, other = _named(truth, decoded)
    size = max(len(one.types), len(other.types))
    right = [node for node, label in one.types.items() if other.types.get(node) == label]
    whole = sum(one.predecessors[node] == other.predecessors[node] for node in right)
    either = one.edges | other.edges
    return Comparison(
        whole / size,
        len(right) / size,
        len(one.edges & other.edges) / len(either) if either else 1.0,
        edit_distance(truth, decoded),
    )


def edit_distance(one: Dag, other: Dag) -> int:
    """Node types and edges that differ; a node that only one DAG has counts as one type that differs."""
    first, second = _named(one, other)
    nodes = first.types.keys() | second.types.keys()
    types = sum(first.types.get(node) != second.types.get(node) for node in nodes)
    return types + len(first.edges ^ second.edges)


@dataclass(frozen=True)
class _Named:
    """A DAG whose nodes go by names that mean the same in the other."""

    types: dict[object, object]
    edges: set[tuple[object, object]]
    predecessors: dict[object, set[object]]


def _named(one: Dag, other: Dag) -> tuple[_Named, _Named]:
    by_label = len(set(one.types)) == len(one) == len(other) and set(one.types) == set(other.types)

    def named(dag: Dag) -> _Named:
        names: Sequence[object] = dag.types if by_label else range(len(dag))
        edges = {(names[source], names[target]) for source, target in dag.edges}
        predecessors = {names[node]: {names[one] for one in before} for node, before in enumerate(dag.predecessors())}
        return _Named(dict(zip(names, dag.types, strict=True)), edges, predecessors)

    return named(one), named(other)


def _as_users_see(task: Task, truth: Dag, decoded: Dag) -> tuple[Dag, Dag]:
    """Without virtual nodes, unless the decoded DAG has them in the wrong places: then both keep them."""
    shown, found = task.unwrap(truth), task.unwrap(decoded)
    return (truth, decoded) if shown != truth and found == decoded else (shown, found)
