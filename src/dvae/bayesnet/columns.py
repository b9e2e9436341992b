"""What the columns of a table are taken for, and why: discrete, continuous, an identifier or a constant."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from dvae.errors import TaskError

Kind: TypeAlias = Literal["discrete", "continuous", "identifier", "constant"]
Numbers: TypeAlias = npt.NDArray[np.float64]
Codes: TypeAlias = npt.NDArray[np.signedinteger]

MAX_LEVELS = 100  # of a discrete column that nobody asked for
MAX_CODES = 30_000  # levels of one that somebody did: codes have 16 bits
FEW_INTEGERS, FEW_FRACTIONS = 10, 5  # so many different numbers are categories
ROWS_PER_CATEGORY = 2
UNIQUE_SHARE = 0.9  # of different values, from which a column of words names its rows
MIN_ROWS = 10  # below which being different says nothing
ID_NAME = re.compile(r"(^|[\W_])(id|idx|index|uuid|key|rowid|row|no|nr|number)$", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class RawColumn:
    """Cells as they were read: codes into `levels` (-1: missing), or numbers (NaN: missing).

    Words that were too many to be kept have neither; `num_different` says how many there were at least.
    """

    name: str
    codes: Codes | None = None
    levels: tuple[str, ...] = ()
    numbers: Numbers | None = None
    num_different: int = 0


@dataclass(frozen=True, eq=False)
class Column:
    """One column: what it is taken for, why, and its values: codes of `levels`, or numbers; -1 or NaN is missing."""

    name: str
    kind: Kind
    why: str
    values: Codes | Numbers
    levels: tuple[str, ...] = ()

    @property
    def is_discrete(self) -> bool:
        """Whether its values are codes of levels."""
        return self.kind == "discrete"

    @cached_property
    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Which rows have no value."""  # row
        found: npt.NDArray[np.bool_] = np.isnan(self.values) if self.kind == "continuous" else self.values < 0
        return found

    @property
    def num_missing(self) -> int:
        """How many rows have no value."""
        return int(self.is_missing.sum())


def classified(raw: RawColumn, asked: Kind | None = None) -> Column:
    """The column as the kind that is asked for, or as what it seems to be."""
    if raw.codes is None and raw.numbers is None:
        return _words_without_codes(raw, asked)
    numbers = _as_numbers(raw)
    different = _different(raw, numbers)
    rows = len(raw.codes if raw.codes is not None else raw.numbers)  # type: ignore[arg-type]
    if asked == "identifier":
        return _left_out(raw, "identifier", "you asked to ignore it", rows)
    if different < 2:
        what = "it has no values" if different == 0 else f"it is {_only(raw, numbers)!r} in every row that has a value"
        return _left_out(raw, "constant", what, rows)
    if asked == "continuous":
        return _continuous(raw, numbers, "you said so")
    if asked == "discrete":
        return _discrete(raw, numbers, "you said so")
    if numbers is not None:
        return _of_numbers(raw, numbers, different, rows)
    return _of_words(raw, different, rows)


def _of_numbers(raw: RawColumn, numbers: Numbers, different: int, rows: int) -> Column:
    present = numbers[~np.isnan(numbers)]
    whole = bool((present == np.floor(present)).all())
    if whole and different == rows >= MIN_ROWS:
        if present.max() - present.min() == rows - 1:
            return _left_out(raw, "identifier", "it counts the rows", rows)
        if ID_NAME.search(raw.name):
            return _left_out(raw, "identifier", "it has another whole number in every row, and its name says so", rows)
    few = FEW_INTEGERS if whole else FEW_FRACTIONS
    if different <= few and different * ROWS_PER_CATEGORY <= len(present):
        return _discrete(raw, numbers, f"{different} different numbers")
    return _continuous(raw, numbers, f"{different:,} different numbers")


def _of_words(raw: RawColumn, different: int, rows: int) -> Column:
    present = int((raw.codes >= 0).sum()) if raw.codes is not None else rows
    if different >= UNIQUE_SHARE * present and present >= MIN_ROWS:
        return _left_out(raw, "identifier", f"{different:,} different values in {present:,} rows", rows)
    if different > MAX_LEVELS:
        why = f"{different:,} different values are too many categories (more than {MAX_LEVELS})"
        return _left_out(raw, "identifier", why, rows)
    return _discrete(raw, None, f"{different} different values")


def _discrete(raw: RawColumn, numbers: Numbers | None, why: str) -> Column:
    if raw.codes is not None:
        used = np.flatnonzero(np.bincount(raw.codes[raw.codes >= 0], minlength=len(raw.levels)))
        words = [raw.levels[place] for place in used]
        by_value = (lambda place: float(words[place])) if numbers is not None else (lambda place: words[place])
        order = sorted(range(len(words)), key=by_value)
        code_of = np.full(len(raw.levels) + 1, -1)  # the last place is that of missing values, -1
        code_of[used[order]] = np.arange(len(words))
        codes, levels = code_of[raw.codes], tuple(words[place] for place in order)
    else:
        assert numbers is not None
        values = _distinct(numbers)
        codes = np.where(np.isnan(numbers), -1, np.searchsorted(values, numbers))
        levels = tuple(f"{value:g}" if not float(value).is_integer() else f"{value:.0f}" for value in values)
    if len(levels) > MAX_CODES:
        raise TaskError(f"the column {raw.name!r} has {len(levels):,} levels; no more than {MAX_CODES:,} can be used")
    if len(set(levels)) < len(levels):
        raise TaskError(f"the column {raw.name!r} has numbers that differ too little to be categories; round them")
    return Column(raw.name, "discrete", why, codes.astype(_smallest_type(len(levels))), levels)


def _continuous(raw: RawColumn, numbers: Numbers | None, why: str) -> Column:
    if numbers is None:
        word = next(word for word in raw.levels if _number(word) is None)
        raise TaskError(f"the column {raw.name!r} cannot be continuous: {word!r} is not a number")
    return Column(raw.name, "continuous", why, numbers)


def _left_out(raw: RawColumn, kind: Kind, why: str, rows: int) -> Column:
    if raw.numbers is not None:
        codes: Codes = np.where(np.isnan(raw.numbers), -1, 0).astype(np.int8)
    else:
        codes = np.zeros(rows, np.int8) if raw.codes is None else np.where(raw.codes < 0, -1, 0).astype(np.int8)
    return Column(raw.name, kind, why, codes)


def _words_without_codes(raw: RawColumn, asked: Kind | None) -> Column:
    if asked in ("discrete", "continuous"):
        raise TaskError(f"the column {raw.name!r} has more than {raw.num_different:,} different words; leave it out")
    why = "you asked to ignore it" if asked else f"more than {raw.num_different:,} different words"
    return Column(raw.name, "identifier", why, np.zeros(0, np.int8))


def _as_numbers(raw: RawColumn) -> Numbers | None:
    """The column's numbers, if all its values are numbers."""
    if raw.numbers is not None:
        return raw.numbers
    assert raw.codes is not None
    values = [_number(word) for word in raw.levels]
    if not values or any(value is None for value in values):
        return None
    return np.array([*values, math.nan], dtype=np.float64)[raw.codes]


def _number(word: str) -> float | None:
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in word else None


def _different(raw: RawColumn, numbers: Numbers | None) -> int:
    if numbers is not None:
        return len(_distinct(numbers))
    assert raw.codes is not None
    return int((np.bincount(raw.codes[raw.codes >= 0], minlength=1) > 0).sum())


def _distinct(numbers: Numbers) -> Numbers:
    """The different numbers, sorted; a few whole ones are found without sorting all."""
    present = numbers[~np.isnan(numbers)]
    if len(present) and present.max() - present.min() < MAX_CODES and (present == np.floor(present)).all():
        lowest = present.min()
        levels: Numbers = np.flatnonzero(np.bincount((present - lowest).astype(np.intp))) + lowest
        return levels
    return np.unique(present)


def _only(raw: RawColumn, numbers: Numbers | None) -> object:
    if raw.codes is not None:
        return raw.levels[int(raw.codes.max())]
    assert numbers is not None
    return float(numbers[~np.isnan(numbers)][0])


def _smallest_type(levels: int) -> type[np.signedinteger]:
    return np.int8 if levels <= 127 else np.int16
