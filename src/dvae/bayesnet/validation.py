"""How well a way of learning explains rows that it has not seen, and what each edge of a network is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dvae.bayesnet.bootstrapping import LearnOptions
from dvae.bayesnet.comparison import Mean, row_log_likelihoods
from dvae.bayesnet.families import families, score_name
from dvae.bayesnet.network import Network
from dvae.bayesnet.parameters import PRIOR_COUNT, fit
from dvae.bayesnet.table import Table
from dvae.errors import TaskError
from dvae.progress import Progress

Pair = tuple[str, str]


@dataclass(frozen=True)
class CrossValidation:
    """Log-likelihoods of rows under networks that were learned without them."""

    learned: Mean
    independent: Mean  # of the network without edges
    gain: Mean  # learned - independent, row by row
    edges: tuple[int, ...]  # of the network of each fold


def cross_validate(
    table: Any,
    folds: int = 10,
    *,
    options: LearnOptions | None = None,
    prior: float = PRIOR_COUNT,
    seed: int = 0,
    progress: Progress | None = None,
) -> CrossValidation:
    """Learns structure and parameters `folds` times, each time without one part of the rows, and scores that part."""
    table, options = Table.of(table), options or LearnOptions()
    if not 2 <= folds <= table.num_rows:
        raise TaskError(f"{folds} folds were asked for; {table.num_rows:,} rows make 2 to {table.num_rows:,}")
    order = np.random.default_rng(seed).permutation(table.num_rows)
    learned, independent, sizes = np.zeros(table.num_rows), np.zeros(table.num_rows), []
    for fold in range(folds):
        held = np.sort(order[fold::folds])
        rest = table.take(np.setdiff1d(np.arange(table.num_rows), held))
        network = options.network(rest)
        alone = network.with_parents(dict.fromkeys(network.names, ()))
        learned[held] = row_log_likelihoods(fit(network, rest, prior=prior), table.take(held))
        independent[held] = row_log_likelihoods(fit(alone, rest, prior=prior), table.take(held))
        sizes.append(len(network.edges))
        if progress is not None:
            progress.update()
    ones = np.ones(table.num_rows)
    found, alone_found, gain = (Mean.of(values, ones) for values in (learned, independent, learned - independent))
    return CrossValidation(found, alone_found, gain, tuple(sizes))


def edge_strengths(table: Any, network: Network, score: str = "auto", iss: float | None = None) -> dict[Pair, float]:
    """How much of a score is lost when an edge is removed and all others stay; below 0 the score is better without."""
    table = Table.of(table)
    scores = families(table, score_name(table, score), iss)
    place = {name: number for number, name in enumerate(table.names)}
    if place.keys() != set(network.names):
        raise TaskError("the network and the table do not have the same variables")
    found = {}
    for variable in network.variables:
        mask = sum(1 << place[parent] for parent in variable.parents)
        whole = scores.local(place[variable.name], mask)
        for parent in variable.parents:
            found[parent, variable.name] = whole - scores.local(place[variable.name], mask ^ 1 << place[parent])
    return found
