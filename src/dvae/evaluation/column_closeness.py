"""How well the columns of DAGs come back: structure, categories and numbers, apart and together.

Nodes are matched as in `closeness`; where a decoded DAG is the true one in another order of its nodes, by the canonical
order of both. A number is right within 5% of the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dvae.dag import Dag, Schema, Value
from dvae.dag.value import canonical_order
from dvae.evaluation.intervals import Estimate, clustered_proportion

WITHIN = 0.05  # of the true number


@dataclass(frozen=True)
class ColumnCloseness:
    """Means over graphs; None where there is nothing of the kind."""

    structure: Estimate  # share of graphs whose types and edges come back
    together: Estimate  # share of graphs in which everything comes back, numbers within 5%
    categories: Estimate | None = None  # share of categories, node by node and edge by edge
    structure_and_categories: Estimate | None = None  # share of graphs in which all of both come back
    numbers: Estimate | None = None  # share of numbers that come back within 5%, node by node and edge by edge

    @classmethod
    def of(cls, rows: Sequence[ColumnComparison]) -> ColumnCloseness:
        """The means over compared graphs."""

        def share(values: Sequence[float]) -> Estimate | None:
            return clustered_proportion(values) if values else None

        both = [float(row.same and row.categories in (None, 1.0)) for row in rows] if rows[0].has_categories else []
        return cls(
            clustered_proportion([float(row.same) for row in rows]),
            clustered_proportion([float(row.same and row.all_right) for row in rows]),
            share([row.categories for row in rows if row.categories is not None]),
            share(both),
            share([row.numbers for row in rows if row.numbers is not None]),
        )

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        names = ("structure", "categories", "structure_and_categories", "numbers", "together")
        found = {name: getattr(self, name) for name in names}
        return {name: value.to_mapping() for name, value in found.items() if value is not None}


@dataclass(frozen=True)
class ColumnComparison:
    """One decoded DAG beside the true one."""

    same: bool  # types and edges
    categories: float | None  # share that is right; None where the true DAG has none
    numbers: float | None
    has_categories: bool  # whether the schema has columns of categories

    @property
    def all_right(self) -> bool:
        """Whether all values are right."""
        return self.categories in (None, 1.0) and self.numbers in (None, 1.0)


def compare_columns(schema: Schema, truth: Dag, decoded: Dag) -> ColumnComparison:
    """How much of the columns of `truth` there is in `decoded`."""
    truth, decoded, same = _aligned(truth, decoded)
    right: dict[str, list[bool]] = {"category": [], "number": []}
    for place, column in schema.columns():
        true = _values(truth, place, column.name)
        found = _values(decoded, place, column.name)
        for key, value in true.items():
            if value is not None or (same and found.get(key) is not None):
                right[column.kind].append(_right(value, found.get(key)))
    shares = {kind: sum(some) / len(some) if some else None for kind, some in right.items()}
    has_categories = any(column.kind == "category" for _, column in schema.columns())
    return ColumnComparison(same, shares["category"], shares["number"], has_categories)


def _values(dag: Dag, place: str, name: str) -> dict[object, Value]:
    """The values of a column by node and type, or by edge and types: a value counts where it belongs."""
    if place == "node":
        values = dag.node.get(name, (None,) * len(dag))
        return {(node, dag.types[node]): value for node, value in enumerate(values)}
    values = dag.edge.get(name, (None,) * len(dag.edges))
    return {
        (edge, dag.types[edge[0]], dag.types[edge[1]]): value for edge, value in zip(dag.edges, values, strict=True)
    }


def _right(true: Value, found: Value) -> bool:
    if true is None or found is None or isinstance(true, str) or isinstance(found, str):
        return true == found
    return abs(true - found) <= WITHIN * abs(true)


def _aligned(truth: Dag, decoded: Dag) -> tuple[Dag, Dag, bool]:
    """Both DAGs with nodes in matching places, and whether types and edges are the same."""
    if (truth.types, truth.edges) == (decoded.types, decoded.edges):
        return truth, decoded, True
    if len(truth) != len(decoded) or truth.plain().canonical_key() != decoded.plain().canonical_key():
        return truth, decoded, False
    return _canonical(truth), _canonical(decoded), True


def _canonical(dag: Dag) -> Dag:
    order = canonical_order(dag)
    rank = {node: place for place, node in enumerate(order)}
    edges = [(rank[source], rank[target]) for source, target in dag.edges]
    return dag.rebuilt(order, [dag.types[node] for node in order], edges)
