"""What separates two DAGs: nodes and edges that come, go or change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from dvae.dag.alignment import Pairs, aligned, edits
from dvae.dag.columns import values_at
from dvae.dag.value import Dag, Edge


@dataclass(frozen=True)
class Difference:
    """Two DAGs, and which node of `before` is which of `after`; nodes and edges go by the DAG that has them."""

    before: Dag
    after: Dag
    pairs: tuple[Edge, ...]  # (node of before, the same node of after)

    def __len__(self) -> int:
        """How many edits lead from one to the other; changed values of columns do not count."""
        return edits(self.before, self.after, dict(self.pairs))

    @cached_property
    def twin_of(self) -> Pairs:
        """The node of `after` for every node of `before` that is still there."""
        return dict(self.pairs)

    @cached_property
    def added_nodes(self) -> tuple[int, ...]:
        """Nodes of `after` that are new."""
        kept = set(self.twin_of.values())
        return tuple(node for node in range(len(self.after)) if node not in kept)

    @cached_property
    def removed_nodes(self) -> tuple[int, ...]:
        """Nodes of `before` that are gone."""
        return tuple(node for node in range(len(self.before)) if node not in self.twin_of)

    @cached_property
    def retyped(self) -> tuple[Edge, ...]:
        """Pairs whose type is another now."""
        return tuple(pair for pair in self.pairs if self.before.types[pair[0]] != self.after.types[pair[1]])

    @cached_property
    def revalued(self) -> tuple[Edge, ...]:
        """Pairs whose columns have other values now."""
        old, new = self.before.node, self.after.node
        return tuple(pair for pair in self.pairs if values_at(old, pair[0]) != values_at(new, pair[1]))

    @cached_property
    def added_edges(self) -> tuple[Edge, ...]:
        """Edges of `after` that are new."""
        kept = {self.moved(edge) for edge in self.before.edges}
        return tuple(edge for edge in self.after.edges if edge not in kept)

    @cached_property
    def removed_edges(self) -> tuple[Edge, ...]:
        """Edges of `before` that are gone."""
        there = set(self.after.edges)
        return tuple(edge for edge in self.before.edges if self.moved(edge) not in there)

    @cached_property
    def turned_edges(self) -> tuple[Edge, ...]:
        """Edges of `after` that run the other way in `before`; they are among those added and removed."""
        gone = {self.moved(edge) for edge in self.removed_edges}
        return tuple(edge for edge in self.added_edges if edge[::-1] in gone)

    def moved(self, edge: Edge) -> Edge | None:
        """An edge of `before` with the numbers that its ends have in `after`; None where an end is gone."""
        ends = self.twin_of.get(edge[0]), self.twin_of.get(edge[1])
        return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])

    def lines(self) -> list[str]:
        """The difference in words, a line per change."""
        old, new = _Names(self.before), _Names(self.after)
        turned = set(self.turned_edges)
        return [
            *(f"node {new.node(node)} is new" for node in self.added_nodes),
            *(f"node {old.node(node)} is gone" for node in self.removed_nodes),
            *(f"node {old.node(node)} is {new.node(twin)} now" for node, twin in self.retyped),
            *(f"node {new.node(twin)} has other values" for _, twin in self.revalued),
            *(f"edge {new.edge(edge)} runs the other way" for edge in self.turned_edges),
            *(f"edge {new.edge(edge)} is new" for edge in self.added_edges if edge not in turned),
            *(f"edge {old.edge(edge)} is gone" for edge in self.removed_edges if not self._is_turned(edge)),
        ]

    def to_mapping(self) -> dict[str, object]:
        """Plain values, for JSON; numbers of nodes are those of the DAG that has them."""
        return {
            "edits": len(self),
            "pairs": [list(pair) for pair in self.pairs],
            **{name: list(getattr(self, name)) for name in ("added_nodes", "removed_nodes")},
            **{
                name: [list(pair) for pair in getattr(self, name)]
                for name in ("retyped", "revalued", "added_edges", "removed_edges", "turned_edges")
            },
        }

    def _is_turned(self, edge: Edge) -> bool:
        moved = self.moved(edge)
        return moved is not None and moved[::-1] in set(self.turned_edges)


def difference(before: Dag, after: Dag) -> Difference:
    """What separates `after` from `before`; `aligned` says which nodes are taken to be the same."""
    return Difference(before, after, tuple(sorted(aligned(before, after).items())))


@dataclass(frozen=True)
class _Names:
    dag: Dag

    def node(self, node: int) -> str:
        return f"{node}: {self.dag.types[node]}"

    def edge(self, edge: Edge) -> str:
        return f"{self.node(edge[0])} → {self.node(edge[1])}"
