"""Scores of Gaussian networks, as R's bnlearn defines them; higher is better.

A variable is a linear function of its parents plus normal noise. With p parents and n rows:

    loglik-g        sum of log N(x; fitted, s), s^2 = SSE / (n - p - 1), the unbiased estimate, as in lm()
    bic-g, aic-g    the same - c (p + 2), c = ln(n) / 2 and 1: intercept, slopes and deviation
    bge             log of the marginal likelihood under a normal-Wishart prior (Geiger and Heckerman, 2002;
                    corrected by Kuipers, Moffa and Heckerman, 2014), a difference of two sets' terms

For bge the prior mean is the columns' mean, its weight a_m = 1, the degrees of freedom a_w = number of variables + 2,
and the scale T = t I, t = a_m (a_w - variables - 1) / (a_m + 1). A family that the parents determine exactly has no
density: -inf. SSE is a ratio of determinants of the covariance matrix, so each set of variables is decomposed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import multigammaln

from dvae.bayesnet.counting import Floats, bits
from dvae.errors import TaskError

GaussianScoreName = Literal["bic-g", "aic-g", "loglik-g", "bge"]

SINGULAR = 1e-10  # share of a variable's variance that its parents leave, below which nothing is left
SETS_AT_ONCE = 20_000


class GaussianFamilies:
    """Family scores of continuous variables; `values` has one column a variable and nothing missing."""

    def __init__(self, names: Sequence[str], values: Floats, name: GaussianScoreName, iss: float = 1.0) -> None:
        self.names, self.name = tuple(names), name
        rows, size = values.shape
        if rows < 3:
            raise TaskError(f"continuous columns need at least 3 rows, not {rows}")
        if not (math.isfinite(iss) and iss > 0):
            raise TaskError(f"the imaginary sample size is {iss}; it must be a positive number")
        self.num_rows, self.iss, self.freedom = rows, iss, size + 2
        centred = values - values.mean(0)
        scatter = centred.T @ centred
        if name == "bge":
            scatter = scatter + np.eye(size) * self._prior_scale
        self.scales = np.sqrt(np.maximum(scatter.diagonal(), np.finfo(np.float64).tiny))
        self.unit = scatter / np.outer(self.scales, self.scales)  # a correlation matrix: well conditioned
        self.log_scales = np.log(self.scales)
        self._logs: dict[int, float] = {0: 0.0}
        self._locals: dict[tuple[int, int], float] = {}

    @property
    def _prior_scale(self) -> float:
        return float(self.iss * (self.freedom - len(self.names) - 1) / (self.iss + 1))

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return ~np.eye(len(self.names), dtype=np.bool_)

    def local(self, variable: int, parents: int) -> float:
        key = (variable, parents)
        if key not in self._locals:
            whole = parents | 1 << variable
            if self.name == "bge":
                self._locals[key] = self._bge(whole) - self._bge(parents)
            else:
                self._locals[key] = self._value(variable, parents, whole)
        return self._locals[key]

    def additions(self, variable: int, parents: int) -> Floats:
        whole = parents | 1 << variable
        more = [place for place in range(len(self.names)) if not whole >> place & 1]
        self._decompose([parents | 1 << place for place in more])
        self._decompose([whole | 1 << place for place in more])
        added = np.full(len(self.names), -math.inf)
        added[more] = [self.local(variable, parents | 1 << place) for place in more]
        return added

    def tables(self, max_parents: int) -> list[Floats]:
        size = len(self.names)
        for count in range(min(max_parents, size - 1) + 2):
            self._decompose([sum(1 << place for place in chosen) for chosen in combinations(range(size), count)])
        tables = []
        for variable in range(size):
            table = np.full(2 ** (size - 1), -math.inf)
            low = (1 << variable) - 1
            for place in range(2 ** (size - 1)):
                if place.bit_count() <= max_parents:
                    table[place] = self.local(variable, place & low | (place & ~low) << 1)
            tables.append(table)
        return tables

    def _log_determinant(self, mask: int) -> float:
        if mask not in self._logs:
            self._decompose([mask])
        return self._logs[mask]

    def _decompose(self, masks: Sequence[int]) -> None:
        """The log determinants of sets of one size."""
        wanted = sorted({mask for mask in masks if mask not in self._logs})
        for start in range(0, len(wanted), SETS_AT_ONCE):
            part = wanted[start : start + SETS_AT_ONCE]
            places = np.array([list(bits(mask)) for mask in part])
            signs, logs = np.linalg.slogdet(self.unit[places[:, :, None], places[:, None, :]])
            self._logs.update(zip(part, np.where(signs > 0, logs, -math.inf).tolist(), strict=True))

    def _value(self, variable: int, parents: int, whole: int) -> float:
        left = self._log_determinant(whole) - self._log_determinant(parents)  # share of scatter that parents leave, log
        count = parents.bit_count()
        free = self.num_rows - count - 1
        if free < 1 or not left > math.log(SINGULAR) or self.scales[variable] < SINGULAR:
            return -math.inf
        log_variance = left + 2 * self.log_scales[variable] - math.log(free)
        fit = -0.5 * (self.num_rows * (math.log(2 * math.pi) + log_variance) + free)
        price = {"bic-g": math.log(self.num_rows) / 2, "aic-g": 1.0}.get(self.name, 0.0)
        return float(fit - price * (count + 2))

    def _bge(self, mask: int) -> float:
        """The log marginal likelihood of the columns of a set, under the prior's marginal."""
        size, rows = mask.bit_count(), self.num_rows
        if not size:
            return 0.0
        before = self.freedom - len(self.names) + size
        log_scatter = self._log_determinant(mask) + 2 * sum(self.log_scales[place] for place in bits(mask))
        shrunk = size / 2 * (math.log(self.iss / (rows + self.iss)) - rows * math.log(math.pi))
        gammas = multigammaln((rows + before) / 2, size) - multigammaln(before / 2, size)
        return float(
            shrunk + gammas + before / 2 * size * math.log(self._prior_scale) - (rows + before) / 2 * log_scatter
        )
