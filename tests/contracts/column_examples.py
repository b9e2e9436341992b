"""DAGs with columns and properties, for the contract suites."""

from __future__ import annotations

from dvae import Dag
from dvae.tasks import GenericTask


def columned(types: tuple[str, ...], edges: tuple[tuple[int, int], ...], number: int) -> Dag:
    """Sizes at nodes of type a alone, a kind everywhere, a few reals; wires told by the types at their ends."""
    return Dag(
        types,
        edges,
        node={
            "kind": tuple("x" if label == "a" else ("y", "z")[(node + number) % 2] for node, label in enumerate(types)),
            "size": tuple((3 * node + number) % 7 + 1 if label == "a" else None for node, label in enumerate(types)),
            "level": tuple(0.1 * node + 0.37 * number if node % 2 else None for node in range(len(types))),
        },
        edge={
            "wire": tuple(types[source] + types[target] for source, target in edges),
            "length": tuple(0.5 * (target - source) for source, target in edges),
        },
        properties={"gain": float(number), "area": float(len(types))} if number % 3 else {"area": float(len(types))},
    )


COLUMNED_DAGS = (
    columned(("in", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3)), 0),
    columned(("in", "b", "out"), ((0, 1), (1, 2)), 1),
    columned(("in", "a", "a", "b", "out"), ((0, 1), (1, 2), (0, 3), (2, 4), (3, 4)), 2),
    columned(("in", "b", "a", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (1, 4), (4, 5)), 3),
    columned(("in", "a", "out"), ((0, 1), (1, 2)), 4),
)
CONDITIONS = ("gain", "area")


def columned_task() -> GenericTask:
    """The task of the DAGs above; its name is that of a task with DAGs of its own."""
    return GenericTask.infer("columned", COLUMNED_DAGS)
