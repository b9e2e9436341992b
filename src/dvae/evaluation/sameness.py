"""How many DAGs are distinct, and how many are not among others, without a key for each.

Keys of large DAGs take long. DAGs that differ in their types or in the types that their edges join differ anyway; keys
are made only of those that agree in both with another one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from dvae.dag import Dag

Keys = Callable[[Sequence[Dag]], Sequence[Hashable]]


def structure_keys(dags: Sequence[Dag]) -> list[Hashable]:
    """Keys of types and edges alone."""
    return [dag.plain().canonical_key() for dag in dags]


def distinct(dags: Sequence[Dag], keys: Keys) -> int:
    """How many different ones there are."""
    return sum(len(set(keys(group))) if len(group) > 1 else 1 for group in _alike(dags).values())


def novel(dags: Sequence[Dag], known: Sequence[Dag], keys: Keys) -> int:
    """How many are not among `known`."""
    others, count = _alike(known), 0
    for look, group in _alike(dags).items():
        if look not in others:
            count += len(group)
        else:
            there = set(keys(others[look]))
            count += sum(key not in there for key in keys(group))
    return count


def _alike(dags: Sequence[Dag]) -> dict[Hashable, list[Dag]]:
    found: dict[Hashable, list[Dag]] = {}
    for dag in dags:
        kinds = tuple(sorted(map(repr, dag.types)))
        wires = tuple(sorted(f"{dag.types[source]!r}>{dag.types[target]!r}" for source, target in dag.edges))
        found.setdefault(hash((kinds, wires)), []).append(dag)
    return found
