"""A user's table: the columns that networks are learned from, those that are left out, and why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dvae.bayesnet.columns import Column, Kind, Numbers, RawColumn, classified
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.table_files import frame_columns, read_columns
from dvae.errors import FormatError, TaskError
from dvae.registry import suggestion


@dataclass(frozen=True, eq=False)
class Table:
    """Discrete and continuous columns, which are the variables of a network; `left_out` are the others."""

    columns: tuple[Column, ...]
    left_out: tuple[Column, ...] = ()

    def __post_init__(self) -> None:
        if len(self.columns) < 2:
            reasons = "; ".join(f"{column.name!r} is no variable: {column.why}" for column in self.left_out[:3])
            found = "no column" if not self.columns else f"one column, {self.columns[0].name!r},"
            raise TaskError(f"{found} can be used, and a network needs two variables" + (reasons and f" ({reasons})"))

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        discrete: Sequence[str] = (),
        continuous: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> Table:
        """A CSV (plain or gzip) or Parquet file; the three lists say what columns are, where guessing is wrong."""
        columns = read_columns(path)
        try:
            return _table(columns, discrete, continuous, ignore)
        except TaskError as error:
            raise FormatError(f"{os.fspath(path)}: {error}") from None

    @classmethod
    def of(
        cls,
        frame: Any,
        *,
        discrete: Sequence[str] = (),
        continuous: Sequence[str] = (),
        ignore: Sequence[str] = (),
    ) -> Table:
        """A pandas frame, a mapping of names to columns, a matrix, a `DiscreteData`, a path, or a table itself."""
        if isinstance(frame, Table):
            return frame
        if isinstance(frame, str | os.PathLike):
            return cls.read(frame, discrete=discrete, continuous=continuous, ignore=ignore)
        if isinstance(frame, DiscreteData):
            return cls(_of_discrete(frame))
        return _table(frame_columns(frame), discrete, continuous, ignore)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(column.name for column in self.columns)

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0].values)

    @property
    def num_missing(self) -> int:
        """How many cells of the variables have no value."""
        return sum(column.num_missing for column in self.columns)

    @property
    def is_discrete(self) -> tuple[bool, ...]:
        """Which variables are discrete."""
        return tuple(column.is_discrete for column in self.columns)

    @cached_property
    def discrete_data(self) -> DiscreteData:
        """The same as categories, where all variables are discrete and no value is missing."""
        self.check_complete()
        if not all(self.is_discrete):
            name = self.names[self.is_discrete.index(False)]
            raise TaskError(f"the column {name!r} is continuous; only discrete columns make a table of categories")
        widest = np.int8 if all(column.values.dtype == np.int8 for column in self.columns) else np.int16
        codes: npt.NDArray[np.integer] = np.empty((self.num_rows, len(self.columns)), dtype=widest)
        for place, column in enumerate(self.columns):
            codes[:, place] = column.values
        return DiscreteData(self.names, codes, tuple(column.levels for column in self.columns))

    def numbers(self, places: Sequence[int]) -> Numbers:
        """The values of continuous variables as a matrix."""  # row variable
        return np.stack([self.columns[place].values for place in places], axis=1).astype(np.float64, copy=False)

    def check_complete(self) -> None:
        """Refuses missing values."""
        column = next((column for column in self.columns if column.num_missing), None)
        if column is not None:
            raise TaskError(f"the column {column.name!r} has {column.num_missing:,} missing values")

    def take(self, rows: npt.NDArray[np.integer] | Sequence[int]) -> Table:
        """The table of these rows, in which levels stay what they were."""
        kept = [replace(column, values=column.values[np.asarray(rows)]) for column in self.columns]
        return replace(self, columns=tuple(kept), left_out=())

    def with_values(self, values: Sequence[npt.NDArray[Any]]) -> Table:
        """The table with other values in its columns, such as some for the missing ones."""
        kept = [replace(column, values=new) for column, new in zip(self.columns, values, strict=True)]
        return replace(self, columns=tuple(kept))

    def __repr__(self) -> str:
        return f"Table({len(self.columns)} variables, {self.num_rows:,} rows, {self.num_missing:,} missing)"


def _table(raw: list[RawColumn], discrete: Sequence[str], continuous: Sequence[str], ignore: Sequence[str]) -> Table:
    asked: dict[str, Kind] = {}
    names = [column.name for column in raw]
    lists: tuple[tuple[Kind, Sequence[str]], ...] = (
        ("discrete", discrete), ("continuous", continuous), ("identifier", ignore),
    )  # fmt: skip
    for kind, listed in lists:
        for name in listed:
            if name not in names:
                raise TaskError(f"there is no column {name!r}; {suggestion(name, names)}")
            if asked.get(name, kind) != kind:
                raise TaskError(f"the column {name!r} is asked to be two things at once")
            asked[name] = kind
    columns = [classified(column, asked.get(column.name)) for column in raw]
    used = tuple(column for column in columns if column.kind in ("discrete", "continuous"))
    return Table(used, tuple(column for column in columns if column.kind not in ("discrete", "continuous")))


def _of_discrete(data: DiscreteData) -> tuple[Column, ...]:
    return tuple(
        Column(name, "discrete", f"{len(levels)} levels", codes, levels)
        for name, levels, codes in zip(data.names, data.levels, data.codes.T, strict=True)
    )
