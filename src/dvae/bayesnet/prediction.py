"""A column of a table from its other columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dvae.bayesnet.inference import Evidence, Inference, NumberBelief, StateShares
from dvae.bayesnet.network import Array, Floats, LinearGaussian, Network
from dvae.bayesnet.parameters import configurations, family_log_likelihoods, means
from dvae.bayesnet.rows import Rows, TableLike


@dataclass(frozen=True, eq=False)
class Prediction:
    """A column as a network expects it: probabilities of states, or means and deviations; one row each."""

    name: str
    states: tuple[str, ...] | None
    probabilities: Floats | None = None  # row state
    mean: Floats | None = None  # row
    deviation: Floats | None = None  # row

    @property
    def values(self) -> list[str] | list[float]:
        """The likeliest state, or the mean, of every row."""
        if self.states is not None and self.probabilities is not None:
            return [self.states[code] for code in self.probabilities.argmax(-1)]
        assert self.mean is not None
        return [float(value) for value in self.mean]


def predict(network: Network, table: TableLike, column: str) -> Prediction:
    """What a network expects in a column, row by row, from all other columns that the table has.

    Only the variable's parents, children and their other parents matter where they are all known; where some are not,
    they are summed out.
    """
    network.need_parameters()
    variable = network[column]
    rows = Rows.of(network, table, needed=[])
    count = len(rows)
    columns: dict[str, Array] = {
        name: rows.columns[name] if name in rows.columns else _nothing(network, name, count) for name in network.names
    }
    if variable.states is not None:
        shares = _shares(network, column, Rows(columns, rows.weights))
        for row, evidence in _unfinished(network, column, columns, np.isnan(shares[:, 0])):
            belief = Inference(network, evidence).belief(column)
            assert isinstance(belief, StateShares)
            shares[row] = belief.probabilities
        return Prediction(column, variable.states, probabilities=shares)
    mean, deviation = _gaussian(network, column, Rows(columns, rows.weights))
    for row, evidence in _unfinished(network, column, columns, np.isnan(mean)):
        found = Inference(network, evidence).belief(column)
        assert isinstance(found, NumberBelief)
        mean[row], deviation[row] = found.mean, found.deviation
    return Prediction(column, None, mean=mean, deviation=deviation)


def _nothing(network: Network, name: str, count: int) -> Array:
    return np.full(count, -1) if network[name].is_discrete else np.full(count, np.nan)


def _shares(network: Network, column: str, rows: Rows) -> Floats:
    """Probabilities of the states given everything else; NaN where something that matters is missing."""
    logs = []
    for code in range(len(network[column].states or ())):
        tried = Rows({**rows.columns, column: np.full(len(rows), code)}, rows.weights)
        families = [network[name] for name in (column, *network.children[column])]
        logs.append(sum((family_log_likelihoods(network, each, tried) for each in families), np.zeros(len(rows))))
    table = np.stack(logs, axis=1)
    with np.errstate(invalid="ignore"):
        shares = np.exp(table - table.max(axis=1, keepdims=True))
        found: Floats = shares / shares.sum(axis=1, keepdims=True)
    return found


def _gaussian(network: Network, column: str, rows: Rows) -> tuple[Floats, Floats]:
    """Mean and deviation given everything else: precisions of the variable and of its children add up."""
    variable = network[column]
    missing = Rows({**rows.columns, column: np.zeros(len(rows))}, rows.weights)
    lines = variable.parameters
    assert isinstance(lines, LinearGaussian)
    families = [network[name] for name in (column, *network.children[column])]
    part, known = missing.complete([name for each in families for name in (each.name, *each.parents)])
    given = configurations(network, network.discrete_parents(variable), part)
    precision = lines.deviation.ravel()[given] ** -2.0
    weighted = precision * means(network, variable, part, given)
    for name in network.children[column]:
        child = network[name]
        line = child.parameters
        assert isinstance(line, LinearGaussian)
        given = configurations(network, network.discrete_parents(child), part)
        above = network.continuous_parents(child)
        slope = line.coefficients.reshape(line.intercept.size, len(above))[given, above.index(column)]
        share = slope / line.deviation.ravel()[given] ** 2
        weighted = weighted + share * (part.columns[name] - means(network, child, part, given))
        precision = precision + share * slope
    mean, deviation = np.full(len(rows), np.nan), np.full(len(rows), np.nan)
    mean[known], deviation[known] = weighted / precision, precision**-0.5
    return mean, deviation


def _unfinished(
    network: Network, column: str, columns: Mapping[str, Array], wanted: Array
) -> list[tuple[list[int], Evidence]]:
    """Rows that are left, grouped by what is known in them."""
    groups: dict[tuple[object, ...], list[int]] = {}
    others = [name for name in network.names if name != column]
    for row in np.flatnonzero(wanted).tolist():
        groups.setdefault(tuple(columns[name][row].item() for name in others), []).append(row)
    found: list[tuple[list[int], Evidence]] = []
    for key, members in groups.items():
        evidence: dict[str, str | float] = {}
        for name, value in zip(others, key, strict=True):
            states = network[name].states
            if states is not None and isinstance(value, int) and value >= 0:
                evidence[name] = states[value]
            elif states is None and isinstance(value, float) and value == value:
                evidence[name] = value
        found.append((members, evidence))
    return found
