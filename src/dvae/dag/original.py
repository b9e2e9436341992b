"""The text formats of the original implementation: a list of rows, then perhaps a comma and a score.

ENAS, `[[4], [0, 1], [2, 0, 1]], 0.73`: row i is layer i. Its operation comes first, then i bits; bit j says
that vertex j is a skip input, where vertex 0 is the input and vertex k is layer k-1. The previous vertex, i,
always feeds layer i and has no bit.

Bayesian networks, `[[0], [1, 0], [2, 1, 0]], -11109.74`: row i is the index of a variable, then i bits; bit j
says that the variable of row j is a parent.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dvae.dag.jsonl import ScoredDag, parse_json
from dvae.dag.lines import FilePath, numbered_lines, write_lines
from dvae.dag.value import Dag, Edge
from dvae.errors import DagError, FormatError

ENAS_OPERATIONS = ("conv3", "sep3", "conv5", "sep5", "avg3", "max3")
"""The operation of each code, 0 to 5."""

Rows = Sequence[Sequence[int]]


def read_enas(path: FilePath) -> Iterator[ScoredDag]:
    """The architectures of a file in the original format, of any depth, read as they are asked for."""
    return _read(path, parse_enas)


def read_bayesnet(path: FilePath, variables: Sequence[str]) -> Iterator[ScoredDag]:
    """The networks of a file in the original format; index i there is `variables[i]`."""
    return _read(path, lambda text, where: parse_bayesnet(text, where, variables))


def write_enas(path: FilePath, items: Iterable[Dag | ScoredDag]) -> int:
    """Writes architectures in the original format, all or none. Returns how many."""
    return write_lines(path, (_format(item, enas_to_rows) for item in items))


def write_bayesnet(path: FilePath, items: Iterable[Dag | ScoredDag], variables: Sequence[str]) -> int:
    """Writes networks over `variables` in the original format, all or none. Returns how many."""
    return write_lines(path, (_format(item, lambda dag: bayesnet_to_rows(dag, variables)) for item in items))


def parse_enas(text: str, where: str) -> ScoredDag:
    """The architecture of one line; `where` (file and line) opens the message of every error."""
    return _parse(text, where, enas_from_rows)


def parse_bayesnet(text: str, where: str, variables: Sequence[str]) -> ScoredDag:
    """The network of one line; `where` (file and line) opens the message of every error."""
    return _parse(text, where, lambda rows: bayesnet_from_rows(rows, variables))


def enas_from_rows(rows: Rows) -> Dag:
    """`input`, the layers, `output`: node k is vertex k. The output takes the loose end, the last layer."""
    operations, skips = _checked(rows, len(ENAS_OPERATIONS), "operation")
    types = ("input", *(ENAS_OPERATIONS[code] for code in operations), "output")
    main_path = [(vertex, vertex + 1) for vertex in range(len(rows) + 1)]
    return Dag(types, tuple(main_path + [(vertex, layer + 1) for vertex, layer in skips]))


def enas_to_rows(dag: Dag) -> list[list[int]]:
    """The rows of an architecture, or a `DagError` that says why `dag` is none."""
    depth = len(dag) - 2
    if depth < 1 or dag.types[0] != "input" or dag.types[-1] != "output":
        raise DagError("an architecture is an input, at least one layer and an output, in this order")
    for node, label in enumerate(dag.types[1:-1], start=1):
        if label not in ENAS_OPERATIONS:
            known = ", ".join(ENAS_OPERATIONS)
            raise DagError(f"the type of node {node} is {label!r}; a layer is one of {known}")
    edges = set(dag.edges)
    for vertex in range(depth + 1):
        if (vertex, vertex + 1) not in edges:
            raise DagError(f"node {vertex + 1} must be fed by node {vertex}, the one before it")
    loose = next((source for source, target in dag.edges if target == depth + 1 and source != depth), None)
    if loose is not None:
        raise DagError(f"node {loose} feeds the output, which takes the last layer only")
    codes = [ENAS_OPERATIONS.index(str(label)) for label in dag.types[1:-1]]
    return [[code] + [int((skip, layer + 1) in edges) for skip in range(layer)] for layer, code in enumerate(codes)]


def bayesnet_from_rows(rows: Rows, variables: Sequence[str]) -> Dag:
    """The network over `variables`, in the order of the rows. Every variable must come exactly once."""
    _check_distinct(variables)
    indices, edges = _checked(rows, len(variables), "variable")
    for row, index in enumerate(indices):
        if index in indices[:row]:
            raise DagError(f"row {row} is the variable {variables[index]!r} again")
    if len(rows) < len(variables):
        missing = next(name for index, name in enumerate(variables) if index not in indices)
        raise DagError(f"{len(rows)} of {len(variables)} variables have a row; {missing!r} has none")
    return Dag(tuple(variables[index] for index in indices), tuple(edges))


def bayesnet_to_rows(dag: Dag, variables: Sequence[str]) -> list[list[int]]:
    """The rows of a network that holds each of `variables` exactly once."""
    _check_distinct(variables)
    index_of = {name: index for index, name in enumerate(variables)}
    if len(dag) != len(variables) or set(dag.types) != set(variables):
        raise DagError(f"a network holds each of the variables {', '.join(variables)} exactly once")
    edges = set(dag.edges)
    return [
        [index_of[str(name)]] + [int((parent, node) in edges) for parent in range(node)]
        for node, name in enumerate(dag.types)
    ]


def _read(path: FilePath, parse: Callable[[str, str], ScoredDag]) -> Iterator[ScoredDag]:
    empty = True
    for number, text in numbered_lines(path):
        empty = False
        yield parse(text, f"{path}:{number}")
    if empty:
        raise FormatError.at(path, 1, "the file holds no DAG")


def _parse(text: str, where: str, from_rows: Callable[[Any], Dag]) -> ScoredDag:
    # In brackets a line is a JSON list of the rows and perhaps a score. A stray bracket in the line cannot
    # close this list early, since ours would then be left over.
    parts = parse_json(f"[{text}]", where)
    try:
        if len(parts) not in (1, 2):
            raise DagError("a line is a list of rows, or a list of rows, a comma and a score")
        if len(parts) == 2 and parts[1] is None:
            raise DagError("the score is null; it must be a finite number")
        return ScoredDag(from_rows(parts[0]), *parts[1:])
    except DagError as error:
        raise FormatError(f"{where}: {error}") from None


def _format(item: Dag | ScoredDag, to_rows: Callable[[Dag], list[list[int]]]) -> str:
    scored = item if isinstance(item, ScoredDag) else ScoredDag(item)
    rows = to_rows(scored.dag)
    return f"{rows}" if scored.score is None else f"{rows}, {scored.score!r}"


def _checked(rows: Rows, num_codes: int, meaning: str) -> tuple[list[int], list[Edge]]:
    """The codes of all rows, and an edge (bit, row) for every bit that is set."""
    if not isinstance(rows, (list, tuple)) or not rows:
        raise DagError(f"the rows are {reprlib.repr(rows)}; they must be a list of at least one row")
    edges: list[Edge] = []
    for number, row in enumerate(rows):
        if not isinstance(row, (list, tuple)) or len(row) != number + 1:
            raise DagError(f"row {number} is {reprlib.repr(row)}; it must be the {meaning} and {number} bits")
        for entry, value in enumerate(row):
            bound = 2 if entry else num_codes
            if type(value) is not int or not 0 <= value < bound:
                what = f"bit {entry - 1}" if entry else f"the {meaning}"
                came = reprlib.repr(value)
                raise DagError(f"{what} of row {number} is {came}; it must be from 0 to {bound - 1}")
            if entry and value:
                edges.append((entry - 1, number))
    return [row[0] for row in rows], edges


def _check_distinct(variables: Sequence[str]) -> None:
    if len(set(variables)) < len(variables):
        raise DagError(f"the variables {', '.join(variables)} are not distinct")
