"""How sure a measured share is, where observations come in clusters.

A hundred decodings of one graph stand or fall together: the graph, and not the decoding, is what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from dvae.config import check

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """A measured number and its confidence interval; `low` and `high` are None where there is no honest one.

    `count` is the number of independent observations behind it: graphs or latents, not decodings.
    """

    value: float
    low: float | None
    high: float | None
    count: int

    def __post_init__(self) -> None:
        check((self.low is None) == (self.high is None), "an interval has both ends or none")
        check(self.count >= 1, f"an estimate needs at least one observation, not {self.count}")
        if self.low is not None and self.high is not None:
            check(self.low <= self.value <= self.high, f"{self.value} is not in [{self.low}, {self.high}]")

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high, "count": self.count}


def wilson(successes: float, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Wilson's score interval of `successes` in `trials` independent ones (Wilson, 1927)."""
    _check_confidence(confidence)
    check(trials >= 1, f"a share needs at least one trial, not {trials}")
    check(0 <= successes <= trials, f"{successes} successes in {trials} trials")
    z = float(ndtri(0.5 + confidence / 2))
    share = successes / trials
    scale = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / scale
    margin = z / scale * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    # At the ends the closed form is exact on paper and off by a rounding here.
    return Estimate(share, max(0.0, min(share, centre - margin)), min(1.0, max(share, centre + margin)), trials)


def clustered_proportion(
    per_graph_shares: Sequence[float],
    sizes: Sequence[int] | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The share over all graphs, from each graph's own share, with Student's t interval over the graphs.

    `sizes` are the observations behind each share where these differ; the value is then the share of all
    observations, and the interval that of a ratio estimator (Cochran, Sampling Techniques, section 6.3).
    Where all graphs agree, above all on 0 or 1, their spread says nothing, and Wilson's interval over graphs
    takes its place.
    """
    _check_confidence(confidence)
    shares = np.asarray(per_graph_shares, dtype=np.float64)
    weights = np.ones_like(shares) if sizes is None else np.asarray(sizes, dtype=np.float64)
    check(shares.shape == weights.shape, f"{len(shares)} shares have {len(weights)} sizes")
    check(bool(((shares >= 0) & (shares <= 1)).all()), "a share lies between 0 and 1")
    check(bool((weights >= 0).all()), "a size is not negative")
    shares, weights = shares[weights > 0], weights[weights > 0]
    count = len(shares)
    check(count >= 1, "a share needs at least one graph")
    if bool((shares == shares[0]).all()):
        return wilson(float(shares[0]) * count, count, confidence)
    value = float((shares * weights).sum() / weights.sum())
    residuals = weights * (shares - value)
    margin = _t(count, confidence) * math.sqrt(count / (count - 1) * (residuals**2).sum()) / float(weights.sum())
    return Estimate(value, max(0.0, value - margin), min(1.0, value + margin), count)


def mean_estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The mean of independent numbers with Student's t interval; a single number has none."""
    _check_confidence(confidence)
    numbers = np.asarray(values, dtype=np.float64)
    check(len(numbers) >= 1, "a mean needs at least one number")
    mean = float(numbers.mean())
    if len(numbers) == 1:
        return Estimate(mean, None, None, 1)
    margin = _t(len(numbers), confidence) * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return Estimate(mean, mean - margin, mean + margin, len(numbers))


def _t(count: int, confidence: float) -> float:
    return float(stdtrit(count - 1, 0.5 + confidence / 2))


def _check_confidence(confidence: float) -> None:
    check(0 < confidence < 1, f"confidence lies between 0 and 1, not {confidence}")
