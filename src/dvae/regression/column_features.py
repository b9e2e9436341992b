"""Plain features of DAGs with columns, which need no learning: what is where, and how large it is.

Each node belongs to several groups: all nodes of its type, of its type at its distance from the start or to the end, of
a category, and so on. A group's features are how many nodes are in it and, for every column of numbers, their sum,
their smallest and their largest value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.dag.columns import Value

MIN_SHARE = 0.005  # of the DAGs that must have a feature
MIN_DAGS = 2
MAX_FEATURES = 2_000
ABSENT = 0.0


@dataclass(frozen=True)
class ColumnFeatures:
    """The features that some DAGs have, by name; those of other DAGs are taken by the same names."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, dags: Sequence[Dag]) -> ColumnFeatures:
        """The features that enough of `dags` have, the most frequent ones where there are too many."""
        counts: Counter[str] = Counter(name for dag in dags for name in named_features(dag))
        least = max(MIN_DAGS, MIN_SHARE * len(dags))
        return cls(tuple(name for name, count in counts.most_common(MAX_FEATURES) if count >= least))

    def __call__(self, dags: Sequence[Dag]) -> Tensor:
        """One row per DAG."""  # dag feature, float32
        place = {name: index for index, name in enumerate(self.names)}
        rows = torch.full((len(dags), len(self.names)), ABSENT)
        for row, dag in enumerate(dags):
            found = {place[name]: value for name, value in named_features(dag).items() if name in place}
            rows[row, list(found)] = torch.tensor(list(found.values()), dtype=rows.dtype)
        return rows


def named_features(dag: Dag) -> dict[str, float]:
    """All features of one DAG by name."""
    found: dict[str, float] = {"nodes": float(len(dag)), "edges": float(len(dag.edges))}
    numbers = {name: column for name, column in dag.node.items() if _is_numeric(column)}
    categories = {name: column for name, column in dag.node.items() if name not in numbers}
    for node, groups in enumerate(_groups(dag, categories)):
        for group in groups:
            found[group] = found.get(group, 0.0) + 1
            for name, column in numbers.items():
                _add(found, f"{group} {name}", column[node])
    for source, target in dag.edges:
        pair = f"{dag.types[source]} -> {dag.types[target]}"
        found[pair] = found.get(pair, 0.0) + 1
    for name, column in dag.edge.items():
        for value in column:
            if isinstance(value, str):
                found[f"edge {name}={value}"] = found.get(f"edge {name}={value}", 0.0) + 1
            else:
                _add(found, f"edge {name}", value)
    return found


def _groups(dag: Dag, categories: Mapping[str, Sequence[Value]]) -> Iterator[list[str]]:
    """The names of the groups that each node is in."""
    after, before = _distances(dag.predecessors()), _distances(dag.successors()[::-1], len(dag) - 1)[::-1]
    for node, kind in enumerate(dag.types):
        (shortest_in, longest_in), (shortest_out, longest_out) = after[node], before[node]
        groups = [
            f"{kind}",
            f"{kind} at {longest_in}",
            f"{kind} to {longest_out}",
            f"{kind} between {longest_in} and {longest_out}",
            f"{kind} within {shortest_in} and {shortest_out}",
            f"{kind} node {node}",
            f"{kind} node -{len(dag) - node}",
            f"node {node}",
            f"node -{len(dag) - node}",
        ]
        for name, column in categories.items():
            groups += [f"{name}={column[node]}", f"{kind} {name}={column[node]}"]
        yield groups


def _distances(predecessors: Sequence[Sequence[int]], last: int | None = None) -> list[tuple[int, int]]:
    """The fewest and the most edges from a source to each node; with `last`, indices count down from there."""
    found: list[tuple[int, int]] = []
    for nodes in predecessors:
        before = [found[node if last is None else last - node] for node in nodes]
        shortest = min((low for low, _ in before), default=-1) + 1
        found.append((shortest, max((high for _, high in before), default=-1) + 1))
    return found


def _add(found: dict[str, Any], name: str, value: Value) -> None:
    if value is None or isinstance(value, str):
        return
    number = float(value)
    found[f"{name} sum"] = found.get(f"{name} sum", 0.0) + number
    found[f"{name} min"] = min(found.get(f"{name} min", number), number)
    found[f"{name} max"] = max(found.get(f"{name} max", number), number)


def _is_numeric(column: Sequence[Value]) -> bool:
    return not any(isinstance(value, str) for value in column)
