"""Rows of a table as a network reads them: codes of states and numbers, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from dvae.bayesnet.discrete import MISSING, DiscreteData
from dvae.bayesnet.network import Array, Floats, Network, Variable
from dvae.errors import TaskError

TableLike: TypeAlias = "DiscreteData | Rows | Mapping[str, Sequence[Any] | Array] | Any"
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
        absent = [name for name in (network.names if needed is None else needed) if name not in raw]
        if absent:
            raise TaskError(f"the table has no column {absent[0]!r}, which the network needs")
        columns = {name: _read(network[name], raw[name]) for name in network.names if name in raw}
        count = len(next(iter(columns.values()))) if columns else 0
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

    def labels(self, network: Network, name: str) -> list[Any]:
        """A column in words and numbers; None where a value is missing."""
        states, values = network[name].states, self.columns[name]
        if states is not None:
            return [states[code] if code >= 0 else None for code in values.tolist()]
        return [None if value != value else value for value in values.tolist()]


def states_of(data: DiscreteData) -> dict[str, tuple[str, ...]]:
    """The states of the variables of a table."""
    return dict(zip(data.names, data.levels, strict=True))


def _columns(table: Any) -> tuple[dict[str, Any], Floats | None]:
    if isinstance(table, DiscreteData):
        rows, weights = table.distinct
        return {
            name: _Coded(rows[:, place], levels)
            for place, (name, levels) in enumerate(zip(table.names, table.levels, strict=True))
        }, weights
    if isinstance(table, Mapping):
        return {str(name): table[name] for name in table}, None
    if hasattr(table, "columns"):  # a frame of pandas or polars
        return {str(name): table[name].to_numpy() for name in table.columns}, None
    raise TaskError(f"{type(table).__name__} is no table; give columns by name, a frame, or DiscreteData")


@dataclass(frozen=True, eq=False)
class _Coded:
    codes: Array
    levels: tuple[str, ...]


def _read(variable: Variable, values: Any) -> Array:
    """A column as the variable has it."""
    if isinstance(values, _Coded):
        if variable.states is None:
            raise TaskError(f"the column {variable.name!r} holds words where the network has numbers")
        place = np.array([_code(variable, level) for level in (*values.levels, None)], dtype=np.intp)
        codes: Array = place[values.codes]
        return codes
    column = np.asarray(values)
    if variable.states is None:
        return _numbers(variable, column)
    words, which = np.unique(np.array([_word(value) for value in column.tolist()], dtype=object), return_inverse=True)
    codes = np.array([_code(variable, None if word in MISSING else word) for word in words], dtype=np.intp)
    return codes[which]


def _code(variable: Variable, word: str | None) -> int:
    states = variable.states or ()
    if word is None:
        return NO_STATE
    if word not in states:
        known = ", ".join(states[:12]) + (", ..." if len(states) > 12 else "")
        raise TaskError(f"the column {variable.name!r} holds {word!r}, which is no state of the network's ({known})")
    return states.index(word)


def _word(value: object) -> str:
    if value is None or value != value:
        return ""
    return str(value).strip()


def _numbers(variable: Variable, column: Array) -> Floats:
    if np.issubdtype(column.dtype, np.number) or column.dtype == np.bool_:
        return column.astype(np.float64)
    numbers = np.empty(len(column))
    for place, value in enumerate(column.tolist()):
        word = _word(value)
        try:
            numbers[place] = np.nan if word in MISSING else float(word)
        except ValueError:
            raise TaskError(f"the column {variable.name!r} holds {word!r} where a number is expected") from None
    return numbers
