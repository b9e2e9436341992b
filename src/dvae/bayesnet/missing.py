"""Missing values: structural EM whose expectation is drawn (stochastic EM; Friedman, 1998; Celeux and Diebolt, 1985).

Missing cells are first drawn from their columns. Then, round by round, a network is learned from the completed table,
its parameters are fitted, and every missing cell is drawn again given the rest of its row (Gibbs sampling: a cell
depends on its parents, its children and their parents). Values are assumed to be missing at random: that a cell is
empty may depend on what can be seen in its row, not on what it would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dvae.bayesnet.network import LinearGaussian, Network, Variable
from dvae.bayesnet.parameters import configurations, family_log_likelihoods, means
from dvae.bayesnet.rows import Rows
from dvae.bayesnet.table import Table

ROUNDS = 10  # networks that are learned before the last one
SWEEPS = 2  # over all missing cells, between two of them


def drawn_from_columns(table: Table, generator: np.random.Generator) -> Table:
    """The table with each missing cell drawn from the values of its column."""
    values = []
    for column in table.columns:
        filled = column.values.copy()
        known = column.values[~column.is_missing]
        filled[column.is_missing] = generator.choice(known, column.num_missing)
        values.append(filled)
    return table.with_values(values)


def drawn_from_network(table: Table, filled: Table, network: Network, generator: np.random.Generator) -> Table:
    """The table with each missing cell drawn given the others of its row, which are at first those of `filled`."""
    now: dict[str, Any] = {column.name: np.array(column.values) for column in filled.columns}
    for _ in range(SWEEPS):
        for column in table.columns:
            if column.num_missing:
                empty = np.flatnonzero(column.is_missing)
                rows = Rows({name: cells[empty] for name, cells in now.items()}, np.ones(len(empty)))
                now[column.name][empty] = _drawn(network, network[column.name], rows, generator)
    return table.with_values([now[column.name] for column in table.columns])


def _drawn(network: Network, variable: Variable, rows: Rows, generator: np.random.Generator) -> Any:
    below = [network[name] for name in network.children[variable.name]]
    if variable.is_discrete:
        return _drawn_state(network, variable, below, rows, generator)
    return _drawn_number(network, variable, below, rows, generator)


def _drawn_state(
    network: Network, variable: Variable, below: Sequence[Variable], rows: Rows, generator: np.random.Generator
) -> Any:
    logs = np.stack(
        [
            sum(family_log_likelihoods(network, each, _with(rows, variable, state)) for each in (variable, *below))
            for state in range(len(variable.states or ()))
        ],
        axis=1,
    )  # row state
    return (logs + generator.gumbel(size=logs.shape)).argmax(1)


def _drawn_number(
    network: Network, variable: Variable, below: Sequence[Variable], rows: Rows, generator: np.random.Generator
) -> Any:
    """A product of normal densities: the variable's own, and each child's as a function of it."""
    mean, deviation = _line(network, variable, rows)
    precision, weighted = 1 / deviation**2, mean / deviation**2
    for child in below:
        base, deviation = _line(network, child, _with(rows, variable, 0.0))
        slope = _line(network, child, _with(rows, variable, 1.0))[0] - base
        precision = precision + (slope / deviation) ** 2
        weighted = weighted + slope * (rows.columns[child.name] - base) / deviation**2
    return weighted / precision + generator.normal(size=len(rows)) / np.sqrt(precision)


def _line(network: Network, variable: Variable, rows: Rows) -> tuple[Any, Any]:
    """The mean and the deviation of a continuous variable in every row."""
    assert isinstance(variable.parameters, LinearGaussian)
    given = configurations(network, network.discrete_parents(variable), rows)
    return means(network, variable, rows, given), variable.parameters.deviation.ravel()[given]


def _with(rows: Rows, variable: Variable, value: float) -> Rows:
    kind = np.intp if variable.is_discrete else np.float64
    return Rows({**rows.columns, variable.name: np.full(len(rows), value, dtype=kind)}, rows.weights)
