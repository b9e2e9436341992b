"""Parameters of a network from a table: tables of probabilities with a Dirichlet prior, lines by least squares.

A row with a missing value is left out of the families that the value belongs to, and of no others.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from dvae.bayesnet.network import Array, Floats, LinearGaussian, Network, ProbabilityTable, Variable
from dvae.bayesnet.rows import Rows, TableLike, states_of
from dvae.errors import TaskError

PRIOR_COUNT = 1.0  # imaginary samples per row of a probability table, spread evenly: no zero, no undefined row
MAX_CELLS = 20_000_000  # of one table of probabilities
SMALLEST_DEVIATION = 1e-6  # of a line, as a share of its column's: a copy of another column has none

Per = Literal["row", "table"]

__all__ = ["PRIOR_COUNT", "configurations", "family_log_likelihoods", "fit", "log_likelihoods", "states_of"]


def fit(network: Network, table: TableLike, *, prior: float = PRIOR_COUNT, per: Per = "row") -> Network:
    """The network with parameters from a table.

    `prior` imaginary samples are spread evenly over each row of a table of probabilities, or with `per="table"` over
    the whole table, as bnlearn's `iss` and the BDe score have it; 0 is maximum likelihood, where a row without data is
    uniform. A continuous variable has a line for each configuration of its discrete parents, with the residuals'
    deviation of n - k - 1 degrees of freedom; a configuration with too few rows for that has the line of all rows.
    """
    if not (math.isfinite(prior) and prior >= 0):
        raise TaskError(f"the prior is {prior}; it is a number of imaginary samples, 0 or more")
    rows = Rows.of(network, table)
    if not len(rows):
        raise TaskError("a table of data needs at least one row")
    return Network(
        tuple(
            replace(
                variable,
                parameters=_table(network, variable, rows, prior, per)
                if variable.is_discrete
                else _lines(network, variable, rows),
            )
            for variable in network.variables
        )
    )


def log_likelihoods(network: Network, table: TableLike) -> Floats:
    """The log-density of every row, natural logarithm; NaN for rows with missing values."""  # row
    rows = Rows.of(network, table)
    total = np.zeros(len(rows))
    for variable in network.variables:
        total += family_log_likelihoods(network, variable, rows)
    return total


def family_log_likelihoods(network: Network, variable: Variable, rows: Rows) -> Floats:
    """The log-density of a variable given its parents in every row; NaN where one of them is missing."""  # row
    part, known = rows.complete((variable.name, *variable.parents))
    found = np.full(len(rows), np.nan)
    given = configurations(network, network.discrete_parents(variable), part)
    values = part.columns[variable.name]
    parameters = variable.parameters
    if isinstance(parameters, ProbabilityTable):
        shares = parameters.probabilities.reshape(-1, parameters.probabilities.shape[-1])
        with np.errstate(divide="ignore"):
            found[known] = np.log(shares[given, values] / shares.sum(-1)[given])
    elif isinstance(parameters, LinearGaussian):
        deviation = parameters.deviation.ravel()[given]
        error = (values - means(network, variable, part, given)) / deviation
        found[known] = -0.5 * error**2 - np.log(deviation) - 0.5 * math.log(2 * math.pi)
    else:
        network.need_parameters()
    return found


def means(network: Network, variable: Variable, rows: Rows, given: Array) -> Floats:
    """The mean of a continuous variable in every row, given its parents; `given` numbers the discrete ones' states."""
    assert isinstance(variable.parameters, LinearGaussian)
    above = network.continuous_parents(variable)
    lines = variable.parameters.coefficients.reshape(variable.parameters.intercept.size, len(above))
    mean: Floats = variable.parameters.intercept.ravel()[given]
    for place, parent in enumerate(above):
        mean = mean + lines[given, place] * rows.columns[parent]
    return mean


def configurations(network: Network, names: tuple[str, ...], rows: Rows) -> Array:
    """The number of every row's joint configuration of discrete variables, the last one changing fastest."""
    numbers = np.zeros(len(rows), dtype=np.intp)
    for name, size in zip(names, network.sizes(names), strict=True):
        numbers = numbers * size + rows.columns[name]
    return numbers


def _table(network: Network, variable: Variable, rows: Rows, prior: float, per: Per) -> ProbabilityTable:
    shape = network.sizes((*variable.parents, variable.name))
    cells = math.prod(shape)
    if cells > MAX_CELLS:
        raise TaskError(
            f"the table of {variable.name!r} would have {cells:,} numbers, one for each combination of its "
            f"{len(variable.parents)} parents; at most {MAX_CELLS:,} are kept: give it fewer parents"
        )
    family = (*variable.parents, variable.name)
    part, _ = rows.complete(family)
    counts = np.bincount(configurations(network, family, part), part.weights, minlength=cells).reshape(shape)
    shares = counts + prior / (shape[-1] if per == "row" else cells)
    sums = shares.sum(-1, keepdims=True)
    return ProbabilityTable(np.where(sums > 0, shares / np.where(sums > 0, sums, 1), 1 / shape[-1]))


def _lines(network: Network, variable: Variable, rows: Rows) -> LinearGaussian:
    above, beside = network.continuous_parents(variable), network.discrete_parents(variable)
    part, _ = rows.complete((variable.name, *variable.parents))
    sizes = network.sizes(beside)
    if not len(part):
        raise TaskError(f"no row has values of {variable.name!r} and all its parents; there is nothing to fit it to")
    values = np.asarray(part.columns[variable.name], dtype=np.float64)
    matrix = np.stack([np.ones(len(part)), *(part.columns[parent] for parent in above)], axis=1)
    smallest = max(SMALLEST_DEVIATION * _deviation(values, part.weights), np.finfo(np.float64).tiny)
    whole = _line(matrix, values, part.weights, smallest)
    given = configurations(network, beside, part)
    found = np.tile(whole, (math.prod(sizes), 1))
    if beside:
        for number in np.unique(given):
            inside = given == number
            if part.weights[inside].sum() > len(above) + 1:
                found[number] = _line(matrix[inside], values[inside], part.weights[inside], smallest)
    shaped = found.reshape(*sizes, len(above) + 2)
    return LinearGaussian(shaped[..., 0], shaped[..., 1:-1], shaped[..., -1])


def _line(matrix: Floats, values: Floats, weights: Floats, smallest: float) -> Floats:
    """Intercept, coefficients and the residuals' deviation."""
    roots = np.sqrt(weights)
    # Columns of very different size would hide one another from the solver's rank.
    scale = np.maximum(np.abs(matrix).max(axis=0), np.finfo(np.float64).tiny)
    solution = np.linalg.lstsq(matrix / scale * roots[:, None], values * roots, rcond=None)[0] / scale
    freedom = max(weights.sum() - matrix.shape[1], 1.0)
    deviation = math.sqrt(float(weights @ (values - matrix @ solution) ** 2) / freedom)
    return np.array([*solution, max(deviation, smallest)])


def _deviation(values: Floats, weights: Floats) -> float:
    mean = float(np.average(values, weights=weights))
    return math.sqrt(float(np.average((values - mean) ** 2, weights=weights)))
