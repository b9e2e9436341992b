"""A program as a graph of operations: what readers of programs gather, and the DAG it becomes."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dvae.dag import Dag, Value
from dvae.dag.columns import columns_of
from dvae.dag.limits import check_size
from dvae.errors import DagError

INPUT, OUTPUT = "input", "output"
SHAPE, PARAMETERS = "shape", "parameters"
UNKNOWN_SIDE = "?"


@dataclass(frozen=True)
class _Operation:
    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: Mapping[str, Value]


@dataclass
class Program:
    """Inputs, constants, operations and outputs, told in any order; values between them have names.

    An operation becomes a node, and so does every input and output. Constants are no nodes: how many numbers an
    operation takes from them is its value in the column `parameters`. What is made of constants alone is a constant.
    """

    operations: list[_Operation] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)  # name -> how many numbers
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)  # name -> the values it passes on
    shapes: dict[str, str] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def input(self, value: str) -> None:
        """Something that comes from outside."""
        self.operation(INPUT, (), (value,))

    def output(self, value: str) -> None:
        """A value that goes outside."""
        self.outputs.append(value)

    def constant(self, value: str, numbers: int = 0) -> None:
        """A value that is part of the program, such as weights: so many numbers."""
        self.constants[value] = numbers

    def alias(self, value: str, *of: str) -> None:
        """A value that is nothing but others: a part of one, or several together."""
        self.aliases[value] = of

    def shape(self, value: str, sides: Iterable[int | None]) -> None:
        """The shape of a value, None for a side that is open."""
        text = "x".join(UNKNOWN_SIDE if side is None else str(side) for side in sides)
        self.shapes[value] = text or "scalar"

    def operation(
        self, kind: str, inputs: Sequence[str], outputs: Sequence[str], values: Mapping[str, Value] | None = None
    ) -> None:
        """An operation: what it is, what it reads and makes (by name), and its values in columns."""
        check_size(len(self.operations) + 1, 0)
        self.operations.append(_Operation(kind, tuple(inputs), tuple(outputs), values or {}))

    def dag(self) -> Dag:
        """Operations as nodes, in their order, with the columns `shape` (of the first output) and `parameters`."""
        kept = self._without_constants()
        maker = {value: place for place, operation in enumerate(kept) for value in operation.outputs}
        rows, edges = [], set()
        for place, operation in enumerate(kept):
            sources, numbers = self._sources(operation, maker)
            edges |= {(source, place) for source in sources}
            rows.append({**operation.values, **self._own_values(operation, numbers)})
        types = [operation.kind for operation in kept]
        for value in self.outputs:
            sources, _ = self._sources(_Operation(OUTPUT, (value,), (), {}), maker)
            edges |= {(source, len(types)) for source in sources}
            types.append(OUTPUT)
            rows.append({})
        if not types:
            raise DagError("there is no operation in it")
        check_size(len(types), len(edges))
        return Dag(tuple(types), tuple(sorted(edges)), columns_of(rows, ()))

    def _without_constants(self) -> list[_Operation]:
        """The operations that depend on an input; others are folded into constants."""
        kept = []
        for operation in self.operations:
            numbers = [self._numbers(value) for value in operation.inputs]
            if operation.inputs and operation.outputs and all(count is not None for count in numbers):
                for output in operation.outputs:
                    self.constants[output] = sum(count or 0 for count in numbers)
            else:
                kept.append(operation)
        return kept

    def _numbers(self, value: str) -> int | None:
        """How many numbers a constant has; None for anything else."""
        found = [self.constants.get(name) for name in self._resolved(value)]
        return None if not found or None in found else sum(count or 0 for count in found)

    def _own_values(self, operation: _Operation, numbers: int) -> dict[str, Value]:
        found: dict[str, Value] = {}
        shape = next((self.shapes[value] for value in operation.outputs if value in self.shapes), None)
        if shape is not None:
            found[SHAPE] = shape
        if numbers:
            found[PARAMETERS] = numbers
        return found

    def _sources(self, operation: _Operation, maker: Mapping[str, int]) -> tuple[list[int], int]:
        """The nodes that an operation reads, and how many numbers it takes from constants."""
        places, numbers = [], 0
        for value in dict.fromkeys(name for given in operation.inputs for name in self._resolved(given)):
            if value in self.constants:
                numbers += self.constants[value]
            elif value in maker:
                places.append(maker[value])
            else:
                raise DagError(f"{operation.kind} reads the value {reprlib.repr(value)}, which nothing makes")
        return places, numbers

    def _resolved(self, value: str) -> list[str]:
        """What a value is made of, aliases followed."""
        found, waiting, seen = [], [value], set()
        while waiting:
            name = waiting.pop()
            if name in self.aliases and name not in seen:
                seen.add(name)
                waiting += reversed(self.aliases[name])
            elif name not in seen:
                found.append(name)
        return found
