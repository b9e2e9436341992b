"""DAGs of a fixed shape as sequences of symbols, and back: what solvers of sequences and of categories can work with.

NAS-Bench-201    six operations
ENAS             of each layer its operation, then whether each vertex below the one before it skips to it
networks         of each variable whether each one before it, in the task's order, is a parent
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dvae.dag import Dag
from dvae.dag.original import ENAS_OPERATIONS, enas_from_rows, enas_to_rows
from dvae.errors import DagError, TaskError
from dvae.tasks.base import Task
from dvae.tasks.bayesnet import BayesNetTask
from dvae.tasks.enas import EnasTask
from dvae.tasks.nasbench201 import OPERATIONS, WIRING, NasBench201Task

BITS = ("no", "yes")


@dataclass(frozen=True)
class Code:
    """`choices` are the symbols that each place of a sequence may have."""

    choices: tuple[tuple[str, ...], ...]
    _dag: Callable[[Sequence[int]], Dag]
    _numbers: Callable[[Dag], Sequence[int]]

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def alphabet(self) -> list[str]:
        """All symbols, each once."""
        return list(dict.fromkeys(symbol for symbols in self.choices for symbol in symbols))

    def dag(self, numbers: Sequence[int]) -> Dag:
        """The DAG of a sequence, each place given as the number of its symbol."""
        if len(numbers) != len(self) or any(
            not 0 <= number < len(symbols) for number, symbols in zip(numbers, self.choices, strict=True)
        ):
            raise DagError(f"a sequence has {len(self)} places with a number of a symbol each, not {list(numbers)!r}")
        return self._dag(list(map(int, numbers)))

    def numbers(self, dag: Dag) -> list[int]:
        """The sequence of a DAG."""
        return list(self._numbers(dag))

    def from_symbols(self, symbols: Sequence[str]) -> Dag | None:
        """The DAG of a sequence of symbols; None where a place may not have its symbol, or places are missing."""
        if len(symbols) != len(self):
            return None
        pairs = list(zip(self.choices, symbols, strict=True))
        return self.dag([found.index(symbol) for found, symbol in pairs]) if all(s in f for f, s in pairs) else None

    def symbols(self, dag: Dag) -> list[str]:
        """The symbols of a DAG."""
        return [found[number] for found, number in zip(self.choices, self.numbers(dag), strict=True)]


def code_of(task: Task) -> Code:
    """How DAGs of a task are written as sequences."""
    if isinstance(task, NasBench201Task):
        return Code(
            (OPERATIONS,) * (task.max_nodes - 2), _cell, lambda dag: [_index(label) for label in dag.types[1:-1]]
        )
    if isinstance(task, EnasTask):
        depth = task.max_nodes - 2
        rows = [(ENAS_OPERATIONS, *(BITS,) * layer) for layer in range(depth)]
        return Code(tuple(part for row in rows for part in row), lambda numbers: enas_from_rows(_rows(numbers, depth)),
                    lambda dag: [number for row in enas_to_rows(dag) for number in row])  # fmt: skip
    if isinstance(task, BayesNetTask):
        variables = tuple(map(str, task.variables))
        pairs = [(parent, child) for child in range(len(variables)) for parent in range(child)]
        return Code((BITS,) * len(pairs), lambda numbers: _network(variables, pairs, numbers),
                    lambda dag: _parents(variables, pairs, dag))  # fmt: skip
    raise TaskError(
        f"DAGs of {task.name} are no sequences: NAS-Bench-201, ENAS and Bayesian networks have a fixed shape"
    )


def _index(label: object) -> int:
    return OPERATIONS.index(str(label))


def _cell(numbers: Sequence[int]) -> Dag:
    return Dag(("input", *(OPERATIONS[number] for number in numbers), "output"), WIRING)


def _rows(numbers: Sequence[int], depth: int) -> list[list[int]]:
    left = list(numbers)
    return [[left.pop(0) for _ in range(layer + 1)] for layer in range(depth)]


def _network(variables: tuple[str, ...], pairs: list[tuple[int, int]], numbers: Sequence[int]) -> Dag:
    return Dag(variables, tuple(pair for pair, number in zip(pairs, numbers, strict=True) if number))


def _parents(variables: tuple[str, ...], pairs: list[tuple[int, int]], dag: Dag) -> list[int]:
    place = {label: variables.index(str(label)) for label in dag.types}
    edges = {(place[dag.types[source]], place[dag.types[target]]) for source, target in dag.edges}
    against = next((edge for edge in edges if edge[0] > edge[1]), None)
    if against is not None:
        source, target = (variables[end] for end in against)
        raise DagError(
            f"the edge {source} -> {target} runs against the task's order of variables, which a sequence keeps"
        )
    return [int(pair in edges) for pair in pairs]
