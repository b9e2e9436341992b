"""Tables of discrete variables: what Bayesian networks are scored on."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dvae.bayesnet.counting import AnyIntegers, Floats, grouped
from dvae.dag.lines import FilePath, numbered_lines
from dvae.errors import FormatError, TaskError

MISSING = ("", "NA", "NaN", "nan")
"""Cells that stand for no value. None is not among them: it is a category of the insurance data."""


@dataclass(frozen=True, eq=False)
class DiscreteData:
    """Rows of categories: `levels[v][codes[row, v]]` is the value of variable v."""

    names: tuple[str, ...]
    codes: AnyIntegers  # row variable
    levels: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        rows, columns = self.codes.shape
        if not len(self.names) == len(self.levels) == columns:
            raise TaskError(f"{columns} columns have {len(self.names)} names and {len(self.levels)} sets of levels")
        if len(set(self.names)) < columns:
            raise TaskError("a table of data names every variable once")
        if rows == 0:
            raise TaskError("a table of data needs at least one row")
        for name, values, column in zip(self.names, self.levels, self.codes.T, strict=True):
            if len(values) < 2:
                raise TaskError(f"the variable {name!r} has {len(values)} level; it needs at least two")
            if column.min() < 0 or column.max() >= len(values):
                raise TaskError(f"the variable {name!r} has codes outside its {len(values)} levels")

    @classmethod
    def read_csv(cls, path: FilePath) -> DiscreteData:
        """A file with a header and one category a cell, comma-separated; gzip is known by content.

        Space around a cell is no part of it.
        """
        lines = _cells(path)
        top, header = next(lines, (1, []))
        _check_header(path, top, header)
        rows = []
        for number, row in lines:
            if len(row) != len(header):
                problem = f"the row has {len(row)} cells where the header names {len(header)} columns"
                raise FormatError.at(path, number, problem)
            for name, cell in zip(header, row, strict=True):
                if cell in MISSING:
                    problem = f"the value of column {name!r} is missing ({cell!r}); drop the row or fill it in"
                    raise FormatError.at(path, number, problem)
            rows.append(row)
        if not rows:
            raise FormatError.at(path, top, "the table has no rows under its header")
        columns = list(zip(*rows, strict=True))
        for number, (name, column) in enumerate(zip(header, columns, strict=True), start=1):
            if len(set(column)) < 2:
                problem = f"column {number}, {name!r}, is {column[0]!r} in every row; leave it out"
                raise FormatError.at(path, top, problem)
        return cls.from_columns(header, columns)

    @classmethod
    def from_columns(cls, names: Sequence[str], columns: Sequence[Sequence[str]]) -> DiscreteData:
        """The table of these columns, of equal length; the levels of each are the values it takes, sorted."""
        levels = [tuple(sorted(set(column))) for column in columns]
        codes = np.empty((len(columns[0]), len(columns)), dtype=np.intp)
        for place, (column, values) in enumerate(zip(columns, levels, strict=True)):
            code_of = {value: code for code, value in enumerate(values)}
            codes[:, place] = [code_of[value] for value in column]
        return cls(tuple(names), codes, tuple(levels))

    @property
    def num_rows(self) -> int:
        """The number of rows of the table."""
        return len(self.codes)

    @property
    def num_levels(self) -> list[int]:
        """How many levels each variable has."""
        return [len(values) for values in self.levels]

    @cached_property
    def distinct(self) -> tuple[AnyIntegers, Floats]:
        """The distinct rows and how often each occurs."""  # row variable; row
        rows, counts = np.unique(self.codes, axis=0, return_counts=True)
        return rows, counts.astype(np.float64)

    @cached_property
    def grouped(self) -> tuple[AnyIntegers, Floats | None]:
        """As `distinct`, in any order, where many rows are equal; else all rows, and None for their weights."""
        return grouped(self.codes, self.num_levels)

    def __repr__(self) -> str:
        return f"DiscreteData({len(self.names)} variables, {self.num_rows:,} rows)"


def _cells(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """The cells of every line that is not blank, and its number."""
    for number, text in numbered_lines(path):
        text = text.removeprefix("\ufeff") if number == 1 else text
        try:
            (row,) = csv.reader([text], strict=True)
        except csv.Error as error:
            raise FormatError.at(path, number, f"not a line of comma-separated values ({error})") from None
        yield number, [cell.strip() for cell in row]


def _check_header(path: FilePath, line: int, header: Sequence[str]) -> None:
    if len(header) < 2:
        raise FormatError.at(path, line, "the header names fewer than two columns; they are separated by commas")
    for number, name in enumerate(header, start=1):
        if not name:
            raise FormatError.at(path, line, f"column {number} has no name")
        if name in header[: number - 1]:
            raise FormatError.at(path, line, f"the column {name!r} is named twice")
