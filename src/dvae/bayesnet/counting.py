"""Joint counts of discrete variables: how often each configuration of a set occurs. Sets are bit masks.

A configuration is a number in mixed radix, one digit a variable. Numbers are made dense where they would become large,
so that counting is one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.intp]
AnyIntegers: TypeAlias = npt.NDArray[np.integer]

CELLS_AT_ONCE = 2**19  # of counts and of codes, when many sets are counted in one pass
WORTH_GROUPING = 0.5  # groups of equal rows help where they are at most this share of the rows


def bits(mask: int) -> Iterator[int]:
    """The places of the ones in a bit mask, smallest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Extension(NamedTuple):
    """Joint counts of a set with each of some variables as one more."""

    places: Integers  # of the variables
    counts: AnyIntegers  # configuration level; zeros among them, the levels of all these variables beside each other
    firsts: Integers  # variable: its first level


class JointCounts:
    """Counts over rows of codes, `columns`; row r stands for `weights[r]` equal ones, or for itself."""

    def __init__(self, columns: Sequence[AnyIntegers], num_levels: Sequence[int], weights: Floats | None) -> None:
        self.columns, self.num_levels, self.weights = columns, num_levels, weights
        self.num_rows = len(columns[0])
        self._firsts = np.concatenate([[0], np.cumsum(num_levels)])  # of the levels, all in one row
        rare = [_rare(column) for column in columns]
        self._common = np.array([each.common for each in rare]) + self._firsts[:-1]
        self._rare_rows = np.concatenate([each.rows for each in rare])
        self._rare_levels = np.concatenate(
            [each.codes + first for each, first in zip(rare, self._firsts[:-1], strict=True)]
        )
        self._rare_ends = np.concatenate([[0], np.cumsum([len(each.rows) for each in rare])])

    def counts(self, mask: int) -> Floats:
        """How often each joint configuration of some variables occurs, those that never do left out."""
        codes, groups = self.configurations(mask)
        counts = self.counted(codes, groups)
        return counts[counts > 0]

    def configurations(self, mask: int) -> tuple[Integers, int]:
        """The number of each row's configuration, and a bound of these numbers."""  # row
        groups, codes = 1, np.zeros(self.num_rows, dtype=np.intp)
        most = 4 * len(codes) + 1024  # cells to count into, before codes are made dense again
        for place in bits(mask):
            if groups > 1 and groups * self.num_levels[place] > most:
                codes, groups = _dense(codes, groups)
            codes = codes * self.num_levels[place] + self.columns[place]
            groups *= self.num_levels[place]
        return codes, groups

    def _few_configurations(self, mask: int) -> tuple[Integers, int]:
        """The same with a bound that is no more than the rows."""
        codes, groups = self.configurations(mask)
        return (codes, groups) if groups <= self.num_rows else _dense(codes, groups)

    def counted(self, codes: Integers, groups: int) -> Floats:
        """The weight of the rows with each code."""
        return np.bincount(codes, self.weights, minlength=groups).astype(np.float64, copy=False)

    def extended(self, mask: int) -> Iterator[Extension]:
        """The counts of a set with each variable as one more, a few variables at a time."""
        return self._extensions(*self._few_configurations(mask))

    def extended_family(self, variable: int, parents: int) -> Iterator[tuple[Extension, Extension]]:
        """The same for the parents with the variable, and for the parents alone, in one pass."""
        codes, groups = self._few_configurations(parents)
        levels = self.num_levels[variable]
        for family in self._extensions(codes * levels + self.columns[variable], groups * levels):
            counts = family.counts.reshape(groups, levels, -1).sum(1)
            yield family, Extension(family.places, counts, family.firsts)

    def _extensions(self, codes: Integers, groups: int) -> Iterator[Extension]:
        """Only rows without a variable's commonest level are counted; the others are what is left of each group."""
        totals = self.counted(codes, groups).astype(np.intp)
        wide = self._firsts[-1] / len(self.num_levels)  # mean number of levels
        at_once = max(1, int(CELLS_AT_ONCE / max(self._rare_ends[-1] / len(self.num_levels), groups * wide)))
        for first in range(0, len(self.num_levels), at_once):
            places = np.arange(first, min(first + at_once, len(self.num_levels)))
            start, end = self._firsts[first], self._firsts[places[-1] + 1]
            firsts, levels = self._firsts[places] - start, int(end - start)
            entries = slice(self._rare_ends[first], self._rare_ends[places[-1] + 1])
            rows = self._rare_rows[entries]
            cells = (codes * levels - start)[rows]
            cells += self._rare_levels[entries]
            weights = None if self.weights is None else self.weights[rows]
            counts = np.bincount(cells, weights, minlength=groups * levels).astype(np.intp, copy=False)
            counts = counts.reshape(groups, levels)
            rare = np.add.reduceat(counts, firsts, axis=1)
            counts[:, self._common[places] - start] = totals[:, None] - rare
            yield Extension(places, counts, firsts)


class _Rare(NamedTuple):
    """The rows in which a variable is not at its commonest level."""

    common: int
    rows: Integers
    codes: Integers


def _rare(column: AnyIntegers) -> _Rare:
    common = int(np.bincount(column).argmax())
    rows = np.flatnonzero(column != common)
    return _Rare(common, rows, column[rows].astype(np.intp))


def grouped(codes: AnyIntegers, num_levels: Sequence[int]) -> tuple[AnyIntegers, Floats | None]:
    """Distinct rows and how often each occurs; the rows as they are, and None, where few are equal."""
    rows = len(codes)
    keys, groups = np.zeros(rows, dtype=np.intp), 1
    for place, levels in enumerate(num_levels):
        keys = keys * levels + codes[:, place]
        groups *= levels
        if groups > rows:
            keys, groups = _dense(keys, groups)
            if groups > WORTH_GROUPING * rows:
                return codes, None
    firsts = np.empty(groups, dtype=np.intp)
    firsts[keys[::-1]] = np.arange(rows)[::-1]
    counts = np.bincount(keys, minlength=groups).astype(np.float64)
    seen = counts > 0
    return codes[firsts[seen]], counts[seen]


def _dense(codes: Integers, groups: int) -> tuple[Integers, int]:
    """The same groups of rows, numbered without gaps and in the same order."""
    if groups > 8 * len(codes) + 1024:
        values, places = np.unique(codes, return_inverse=True)
        return places, len(values)
    seen = np.bincount(codes, minlength=groups) > 0
    return (np.cumsum(seen) - 1)[codes], int(seen.sum())
