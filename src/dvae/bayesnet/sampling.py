"""Rows drawn from a network, parents before children."""

from __future__ import annotations

import numpy as np

from dvae.bayesnet.network import Array, LinearGaussian, Network, ProbabilityTable
from dvae.bayesnet.parameters import configurations, means
from dvae.bayesnet.rows import Rows
from dvae.errors import TaskError


def sample(network: Network, count: int, seed: int = 0) -> Rows:
    """So many rows; `Rows.labels` has them in words."""
    if count < 1:
        raise TaskError(f"{count} rows were asked for; draw at least one")
    network.need_parameters()
    generator = np.random.default_rng(seed)
    columns: dict[str, Array] = {}
    rows = Rows(columns, np.ones(count))
    for name in network.order:
        variable = network[name]
        given = configurations(network, network.discrete_parents(variable), rows)
        parameters = variable.parameters
        if isinstance(parameters, ProbabilityTable):
            shares = parameters.probabilities.reshape(-1, parameters.probabilities.shape[-1])
            bounds = np.cumsum(shares / shares.sum(-1, keepdims=True), axis=-1)[:, :-1]
            chance = generator.random(count)
            codes = np.zeros(count, dtype=np.intp)
            for bound in bounds.T:  # a state at a time: no array of rows times states
                codes += chance >= bound[given]
            columns[name] = codes
        elif isinstance(parameters, LinearGaussian):
            noise = parameters.deviation.ravel()[given] * generator.standard_normal(count)
            columns[name] = means(network, variable, rows, given) + noise
    return Rows({name: columns[name] for name in network.names}, rows.weights)
