"""Bayesian networks as files for other programs: BIF with probabilities, and source for pgmpy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import numpy as np

from dvae.bayesnet.discrete import DiscreteData
from dvae.dag import Dag
from dvae.errors import TaskError

PRIOR_COUNT = 1.0  # imaginary samples per row of a probability table, spread evenly: no zero, no undefined row
MAX_ROWS = 100_000  # of one probability table


def pgmpy_source(dag: Dag) -> str:
    """Python source that makes the network's structure, ready to be fitted."""
    edges = [(str(dag.types[source]), str(dag.types[target])) for source, target in dag.edges]
    lines = [
        '"""A Bayesian network found by dvae: its structure. `network.fit(table)` learns its probabilities."""',
        "",
        "from pgmpy.models import DiscreteBayesianNetwork",
        "",
        "network = DiscreteBayesianNetwork()",
        f"network.add_nodes_from({list(map(str, dag.types))!r})",
        f"network.add_edges_from({edges!r})",
    ]
    return "\n".join(lines) + "\n"


def to_bif(dag: Dag, data: DiscreteData, name: str) -> str:
    """The network with probabilities from a table, in the interchange format that pgmpy and bnlearn read."""
    variables = list(map(str, dag.types))
    parents = {
        str(dag.types[node]): [str(dag.types[parent]) for parent in above]
        for node, above in enumerate(dag.predecessors())
    }
    lines = [f"network {_word(name)} {{", "}"]
    for variable in variables:
        levels = [_word(level) for level in _levels(data, variable)]
        lines += [
            f"variable {_word(variable)} {{",
            f"  type discrete [ {len(levels)} ] {{ {', '.join(levels)} }};",
            "}",
        ]
    for variable in variables:
        lines += _probabilities(data, variable, parents[variable])
    return "\n".join(lines) + "\n"


def _probabilities(data: DiscreteData, variable: str, parents: Sequence[str]) -> list[str]:
    columns = [data.names.index(name) for name in (*parents, variable)]
    sizes = [data.num_levels[column] for column in columns]
    if np.prod(sizes[:-1], dtype=float) > MAX_ROWS:
        raise TaskError(f"{variable!r} has too many combinations of parents to write them all down")
    counts = np.zeros(sizes)
    rows, times = data.distinct
    np.add.at(counts, tuple(rows[:, column] for column in columns), times)
    shares = counts + PRIOR_COUNT / sizes[-1]
    shares /= shares.sum(-1, keepdims=True)
    if not parents:
        return [f"probability ( {_word(variable)} ) {{", f"  table {_numbers(shares)};", "}"]
    lines = [f"probability ( {_word(variable)} | {', '.join(map(_word, parents))} ) {{"]
    for codes in product(*(range(size) for size in sizes[:-1])):
        given = ", ".join(_word(_levels(data, name)[code]) for name, code in zip(parents, codes, strict=True))
        lines.append(f"  ({given}) {_numbers(shares[codes])};")
    return [*lines, "}"]


def _levels(data: DiscreteData, variable: str) -> tuple[str, ...]:
    return data.levels[data.names.index(variable)]


def _word(text: str) -> str:
    """A name as BIF has it: letters, digits and underscores."""
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "_"


def _numbers(shares: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    return ", ".join(f"{share:.8g}" for share in shares)
