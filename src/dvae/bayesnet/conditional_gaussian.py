"""Scores of networks with discrete and continuous variables (conditional Gaussian), as R's bnlearn defines them.

A discrete variable has discrete parents only, and the term of a discrete network. A continuous one is, for each of the
q configurations of its discrete parents, a linear function of its p continuous parents plus normal noise of its own
deviation, estimated as in `dvae.bayesnet.gaussian`:

    loglik-cg         the sum over the configurations that occur
    bic-cg, aic-cg    the same - c q (p + 2), c = ln(n) / 2 and 1

A configuration that occurs in too few rows for its regression (fewer than p + 2), or exactly determines the variable,
leaves nothing to estimate a deviation from: -inf, so that no search takes such a family.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from dvae.bayesnet.counting import Floats, JointCounts, bits
from dvae.bayesnet.table import Table
from dvae.errors import TaskError

MixedScoreName = Literal["bic-cg", "aic-cg", "loglik-cg"]

SINGULAR = 1e-10  # share of a variable's variance that its parents leave, below which nothing is left
MAX_TABULATED_CELLS = 2**18


class ConditionalGaussianFamilies:
    """Family scores of a table with both kinds of columns and nothing missing."""

    def __init__(self, table: Table, name: MixedScoreName) -> None:
        table.check_complete()
        self.names, self.name, self.num_rows = table.names, name, table.num_rows
        self.is_discrete = np.array(table.is_discrete)
        self.discrete_mask = sum(1 << place for place, discrete in enumerate(table.is_discrete) if discrete)
        self.num_levels = [len(column.levels) for column in table.columns]
        none = np.zeros(self.num_rows, dtype=np.int8)
        codes: list[npt.NDArray[np.integer]] = [
            column.values.astype(np.int16) if column.is_discrete else none for column in table.columns
        ]
        self._joint = JointCounts(codes, self.num_levels, None)
        self._values: dict[int, Floats] = {}
        for place, column in enumerate(table.columns):
            if not column.is_discrete:
                centred = column.values - column.values.mean()
                scale = float(np.sqrt((centred**2).mean()))
                if scale == 0:
                    raise TaskError(f"the column {column.name!r} has the same number in every row")
                self._values[place] = centred / scale
        self._log_scales = {place: float(np.log(table.columns[place].values.std())) for place in self._values}
        self._locals: dict[tuple[int, int], float] = {}

    @property
    def possible(self) -> npt.NDArray[np.bool_]:
        return possible_edges(self.is_discrete)

    def local(self, variable: int, parents: int) -> float:
        key = (variable, parents)
        if key not in self._locals:
            discrete = bool(self.is_discrete[variable])
            self._locals[key] = (self._of_discrete if discrete else self._of_continuous)(variable, parents)
        return self._locals[key]

    def additions(self, variable: int, parents: int) -> Floats:
        added = np.full(len(self.names), -math.inf)
        for place in np.flatnonzero(self.possible[:, variable]).tolist():
            if not parents >> place & 1:
                added[place] = self.local(variable, parents | 1 << place)
        return added

    def tables(self, max_parents: int) -> list[Floats]:
        size = len(self.names)
        tables = []
        for variable in range(size):
            table = np.full(2 ** (size - 1), -math.inf)
            low = (1 << variable) - 1
            for place in range(2 ** (size - 1)):
                parents = place & low | (place & ~low) << 1
                if place.bit_count() <= max_parents and not (
                    self.is_discrete[variable] and parents & ~self.discrete_mask
                ):
                    table[place] = self.local(variable, parents)
            tables.append(table)
        return tables

    @property
    def _price(self) -> float:
        return {"bic-cg": math.log(self.num_rows) / 2, "aic-cg": 1.0}.get(self.name, 0.0)

    def _of_discrete(self, variable: int, parents: int) -> float:
        if parents & ~self.discrete_mask:
            return -math.inf
        whole, given = self._joint.counts(parents | 1 << variable), self._joint.counts(parents)
        cells = math.prod(self.num_levels[place] for place in bits(parents))
        fit = whole @ np.log(whole) - given @ np.log(given)
        return float(fit - self._price * (self.num_levels[variable] - 1) * cells)

    def _of_continuous(self, variable: int, parents: int) -> float:
        above = [*bits(parents & ~self.discrete_mask), variable]
        codes, groups = self._joint.configurations(parents & self.discrete_mask)
        counts = np.bincount(codes, minlength=groups).astype(np.float64)
        seen = counts > 0
        free = counts[seen] - len(above)  # n - p - 1
        if (free < 1).any():
            return -math.inf
        left = _conditional_scatter(self._scatter(above, codes, groups)[seen])
        if (left < SINGULAR * counts[seen]).any():
            return -math.inf
        log_variance = np.log(left / free) + 2 * self._log_scales[variable]
        fit = -0.5 * (counts[seen] @ (math.log(2 * math.pi) + log_variance) + free.sum())
        cells = math.prod(self.num_levels[place] for place in bits(parents & self.discrete_mask))
        return float(fit - self._price * cells * (len(above) + 1))

    def _scatter(self, places: list[int], codes: npt.NDArray[np.intp], groups: int) -> Floats:
        """Sums of products about the means, for each group of rows."""  # group variable variable
        counts = np.maximum(np.bincount(codes, minlength=groups), 1)
        columns = []
        for place in places:
            values = self._values[place]
            columns.append(values - (np.bincount(codes, values, groups) / counts)[codes])
        scatter = np.empty((groups, len(places), len(places)))
        for row, left in enumerate(columns):
            for column, right in enumerate(columns[: row + 1]):
                scatter[:, row, column] = scatter[:, column, row] = np.bincount(codes, left * right, groups)
        return scatter


def possible_edges(is_discrete: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """All but those from continuous variables to discrete ones."""  # source target
    pairs = ~np.eye(len(is_discrete), dtype=np.bool_)
    pairs[np.ix_(~is_discrete, is_discrete)] = False
    return pairs


def _conditional_scatter(scatter: Floats) -> Floats:
    """What is left of the last variable's scatter, given the others; 0 where they leave nothing or are dependent."""
    inner, across, last = scatter[:, :-1, :-1], scatter[:, :-1, -1], scatter[:, -1, -1]
    if not across.shape[1]:
        return last
    scales = np.sqrt(np.maximum(np.diagonal(inner, axis1=1, axis2=2), 1e-300))
    unit = inner / (scales[:, :, None] * scales[:, None, :])
    values, vectors = np.linalg.eigh(unit)
    projected = np.einsum("gij,gi->gj", vectors, across / scales)
    explained = (projected**2 / np.maximum(values, 1e-300)).sum(1)
    return np.where(values[:, 0] > SINGULAR, last - explained, 0.0)
