"""Rows of a table as a network reads them: codes of states and numbers, column by column."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.network import Array, Floats, Network, Variable
from dvae.bayesnet.table import Table
from dvae.bayesnet.table_files import frame_columns, read_columns
from dvae.errors import FormatError, TaskError

TableLike: TypeAlias = Any  # a path, a frame, a mapping of columns, a matrix, Table, DiscreteData or Rows
NO_STATE = -1  # the code of a missing value


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns of codes (-1: missing) or numbers (NaN: missing), and how often each row occurs."""

    columns: Mapping[str, Array]
    weights: Floats

    @classmethod
    def of(cls, network: Network, table: TableLike, *, needed: Sequence[str] | None = None) -> Rows:
        """The columns of a table that a network knows: `needed` must be there, all of them by default."""
        if isinstance(table, Rows):
            return table
        raw, weights = _columns(table)
        try:
            absent = [name for name in (network.names if needed is None else needed) if name not in raw]
            if absent:
                raise TaskError(f"the table has no column {absent[0]!r}, which the network needs")
            columns = {name: _read(network[name], raw[name]) for name in network.names if name in raw}
            if not columns:
                raise TaskError(f"the table has none of the network's variables ({', '.join(network.names[:6])}, ...)")
        except TaskError as error:
            raise (
                FormatError(f"{os.fspath(table)}: {error}") if isinstance(table, str | os.PathLike) else error
            ) from None
        count = len(next(iter(columns.values())))
        return cls(columns, np.ones(count) if weights is None else weights)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def count(self) -> float:
        """How many rows there are, each as often as it occurs."""
        return float(self.weights.sum())

    @cached_property
    def present(self) -> dict[str, np.ndarray[Any, np.dtype[np.bool_]]]:
        """Where each column has a value."""
        return {
            name: values >= 0 if np.issubdtype(values.dtype, np.integer) else ~np.isnan(values)
            for name, values in ((name, np.asarray(values)) for name, values in self.columns.items())
        }

    def take(self, chosen: Array) -> Rows:
        """Some of the rows, by mask or by number."""
        return Rows({name: values[chosen] for name, values in self.columns.items()}, self.weights[chosen])

    def complete(self, names: Sequence[str]) -> tuple[Rows, Array]:
        """The rows in which all these columns have a value, these columns alone; and which rows those are."""
        known = np.ones(len(self), dtype=np.bool_)
        for name in names:
            known &= self.present[name]
        columns = {name: self.columns[name] for name in names}
        whole = Rows(columns, self.weights)
        return (whole if known.all() else whole.take(known)), known

    def labels(self, network: Network, name: str) -> list[Any]:
        """A column in words and numbers; None where a value is missing."""
        states, values = network[name].states, self.columns[name]
        if states is not None:
            return [states[code] if code >= 0 else None for code in values.tolist()]
        return [None if value != value else value for value in values.tolist()]


def states_of(table: DiscreteData | Table) -> dict[str, tuple[str, ...] | None]:
    """The states of the variables of a table; None for continuous ones."""
    if isinstance(table, DiscreteData):
        return dict(zip(table.names, table.levels, strict=True))
    return {column.name: column.levels if column.is_discrete else None for column in table.columns}


@dataclass(frozen=True, eq=False)
class _Coded:
    codes: Array
    levels: tuple[str, ...]


def _columns(table: Any) -> tuple[dict[str, Any], Floats | None]:
    """Words as codes, numbers as they are, and how often each row occurs if they are grouped."""
    if isinstance(table, DiscreteData):
        rows, weights = table.distinct
        pairs = zip(table.names, table.levels, strict=True)
        return {name: _Coded(rows[:, place], levels) for place, (name, levels) in enumerate(pairs)}, weights
    if isinstance(table, Table):
        return {
            column.name: _Coded(column.values, column.levels) if column.is_discrete else column.values
            for column in table.columns
        }, None
    raw = read_columns(table) if isinstance(table, str | os.PathLike) else frame_columns(table)
    return {
        column.name: _Coded(column.codes, column.levels) if column.codes is not None else column.numbers
        for column in raw
    }, None


def _read(variable: Variable, values: Any) -> Array:
    """A column as the variable has it."""
    if values is None:
        raise TaskError(f"the column {variable.name!r} has more different words than any variable of a network")
    if variable.states is None:
        if not isinstance(values, _Coded):
            return np.asarray(values, dtype=np.float64)
        numbers = np.array([*(_number(variable, level) for level in values.levels), math.nan])
        return numbers[values.codes]
    if not isinstance(values, _Coded):
        known, which = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True)
        levels = [None if number != number else repr(float(number)) for number in known]
        return np.array([_code(variable, level) for level in levels], dtype=np.intp)[which]
    codes = np.array([*(_code(variable, level) for level in values.levels), NO_STATE], dtype=np.intp)
    return codes[values.codes]


def _code(variable: Variable, word: str | None) -> int:
    """The code of a word; `1` and `1.0` are the same number."""
    states = variable.states or ()
    if word is None:
        return NO_STATE
    if word in states:
        return states.index(word)
    number = _float(word)
    for code, state in enumerate(states):
        if number is not None and number == _float(state):
            return code
    known = ", ".join(states[:12]) + (", ..." if len(states) > 12 else "")
    raise TaskError(f"the column {variable.name!r} holds {word!r}, which is no state of the network's ({known})")


def _number(variable: Variable, word: str) -> float:
    number = _float(word)
    if number is None:
        raise TaskError(f"the column {variable.name!r} holds {word!r} where a number is expected")
    return number


def _float(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
