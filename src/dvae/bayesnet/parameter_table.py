"""The parameters of one variable as a table: a row for each configuration of its discrete parents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from dvae.bayesnet.network import Floats, Network, ProbabilityTable
from dvae.errors import TaskError


@dataclass(frozen=True, eq=False)
class ParameterTable:
    """Names of the discrete parents and of the numbers, the parents' states by row, and the numbers."""

    given: tuple[str, ...]
    header: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]  # of each parent
    numbers: Floats  # row column

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self) -> Iterator[tuple[tuple[str, ...], list[float]]]:
        """The parents' states and the numbers of every row."""
        for words, row in zip(product(*self.states), self.numbers, strict=True):
            yield words, row.tolist()


def parameter_table(network: Network, name: str) -> ParameterTable:
    """The probabilities of a discrete variable, or the lines of a continuous one."""
    variable = network[name]
    given = network.discrete_parents(variable)
    states = tuple(network[parent].states or () for parent in given)
    parameters = variable.parameters
    if parameters is None:
        raise TaskError(f"the parameters of {name!r} are not known; fit the network to a table first")
    if isinstance(parameters, ProbabilityTable):
        shares = parameters.probabilities
        return ParameterTable(given, variable.states or (), states, shares.reshape(-1, shares.shape[-1]))
    above = network.continuous_parents(variable)
    slopes = parameters.coefficients.reshape(parameters.intercept.size, len(above))
    columns = [parameters.intercept.reshape(-1, 1), slopes, parameters.deviation.reshape(-1, 1)]
    return ParameterTable(
        given, ("intercept", *(f"× {parent}" for parent in above), "deviation"), states, np.concatenate(columns, axis=1)
    )
