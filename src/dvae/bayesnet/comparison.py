"""How well networks explain rows that they were not fitted to, and how two of them differ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dvae.bayesnet.equivalence import network_class, structural_hamming_distance
from dvae.bayesnet.inference import Inference
from dvae.bayesnet.network import Floats, Network
from dvae.bayesnet.parameters import log_likelihoods
from dvae.bayesnet.prediction import Prediction
from dvae.bayesnet.rows import Rows, TableLike
from dvae.errors import TaskError

NORMAL_95 = 1.96


@dataclass(frozen=True)
class Mean:
    """A mean over rows and the half-width of its 95% interval."""

    value: float
    half_width: float
    rows: int

    @classmethod
    def of(cls, values: Floats, weights: Floats) -> Mean:
        """The weighted mean; a weight counts rows."""
        count = float(weights.sum())
        mean = float(weights @ values / count)
        if not math.isfinite(mean) or count < 2:
            return cls(mean, math.inf, round(count))
        variance = float(weights @ (values - mean) ** 2) / (count - 1)
        return cls(mean, NORMAL_95 * math.sqrt(variance / count), round(count))


@dataclass(frozen=True)
class Comparison:
    """Two networks over the same variables; the last three only where they were given rows."""

    distance: int  # structural Hamming distance of their equivalence classes
    shared: tuple[tuple[str, str], ...]  # edges of both, directions aside
    only_first: tuple[tuple[str, str], ...]
    only_second: tuple[tuple[str, str], ...]
    first: Mean | None = None  # log-likelihood of a row
    second: Mean | None = None
    difference: Mean | None = None  # second - first, row by row

    @property
    def equivalent(self) -> bool:
        """Whether no data can tell the two structures apart."""
        return self.distance == 0


def compare(first: Network, second: Network, table: TableLike | None = None) -> Comparison:
    """How two networks differ and, with a table that neither was fitted to, which one explains it better."""
    classes = network_class(first), network_class(second)
    distance = structural_hamming_distance(*classes)
    edges = [one.adjacencies for one in classes]
    parts = (edges[0] & edges[1], edges[0] - edges[1], edges[1] - edges[0])
    shared, only_first, only_second = (tuple(sorted(part)) for part in parts)
    found = Comparison(distance, shared, only_first, only_second)
    if table is None:
        return found
    rows = Rows.of(first, table)
    logs = [row_log_likelihoods(first, rows), row_log_likelihoods(second, Rows.of(second, table))]
    with np.errstate(invalid="ignore"):
        one, other, difference = (Mean.of(values, rows.weights) for values in (*logs, logs[1] - logs[0]))
    return replace(found, first=one, second=other, difference=difference)


def row_log_likelihoods(network: Network, table: TableLike) -> Floats:
    """The log-density of every row; missing values are summed out, exactly."""  # row
    rows = Rows.of(network, table)
    logs = log_likelihoods(network, rows)
    seen: dict[tuple[object, ...], float] = {}
    for row in np.flatnonzero(np.isnan(logs)).tolist():
        values = tuple(rows.columns[name][row].item() for name in network.names)
        key = tuple(None if value != value else value for value in values)
        if key not in seen:
            seen[key] = _with_missing(network, key)
        logs[row] = seen[key]
    return logs


def _with_missing(network: Network, values: tuple[object, ...]) -> float:
    evidence: dict[str, str | float] = {}
    for variable, value in zip(network.variables, values, strict=True):
        if variable.states is not None and isinstance(value, int) and value >= 0:
            evidence[variable.name] = variable.states[value]
        elif variable.states is None and isinstance(value, float):
            evidence[variable.name] = value
    return Inference(network, evidence).log_evidence if evidence else 0.0


def accuracy(network: Network, table: TableLike, prediction: Prediction) -> dict[str, float]:
    """How good a prediction is in the rows whose value is known: the share that is right, or the error of numbers."""
    rows = Rows.of(network, table, needed=[prediction.name])
    known = rows.present[prediction.name]
    truth, weights = rows.columns[prediction.name][known], rows.weights[known]
    if not len(truth):
        raise TaskError(f"no row has a value of {prediction.name!r} to compare with")
    if prediction.probabilities is not None:
        shares = prediction.probabilities[known]
        right = float(np.average(shares.argmax(-1) == truth, weights=weights))
        with np.errstate(divide="ignore"):
            loss = -float(np.average(np.log(shares[np.arange(len(truth)), truth]), weights=weights))
        return {"rows": float(weights.sum()), "accuracy": right, "log_loss": loss}
    assert prediction.mean is not None
    squares = float(np.average((prediction.mean[known] - truth) ** 2, weights=weights))
    spread = float(np.average((truth - np.average(truth, weights=weights)) ** 2, weights=weights))
    explained = 1 - squares / spread if spread > 0 else math.nan
    return {"rows": float(weights.sum()), "root_mean_squared_error": math.sqrt(squares), "explained": explained}
