"""Named values beside a graph: columns of its nodes and edges, properties of the whole."""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dvae.errors import DagError

Value = str | int | float | None  # a category, a number, or absent
Column = tuple[Value, ...]
V = TypeVar("V")


class Named(Mapping[str, V]):
    """A mapping from names that never changes; equal ones have equal hashes, whatever the order of the names."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, V] | None = None) -> None:
        self._items: dict[str, V] = dict(items or {})

    def __getitem__(self, name: str) -> V:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Named):
            return self._items == other._items
        return self._items == other if isinstance(other, dict) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


NO_COLUMNS: Named[Column] = Named()
NO_PROPERTIES: Named[float] = Named()
NO_ATTRIBUTES: Named[Any] = Named()


def checked_columns(columns: object, what: str, count: int) -> Named[Column]:
    """Columns with `count` values each, strings or numbers, never both; `what` is "node" or "edge".

    A column without any value is the same as none, and left out.
    """
    if not isinstance(columns, Mapping):
        raise DagError(f'"{what}" is {reprlib.repr(columns)}; it must be an object of columns')
    checked = {_name(name, f"{what} column"): _column(name, columns[name], what, count) for name in columns}
    return Named({name: column for name, column in checked.items() if any(map(_there, column))})


def checked_properties(properties: object) -> Named[float]:
    """Properties, each a finite number; one that is null is left out."""
    if not isinstance(properties, Mapping):
        raise DagError(f'"properties" is {reprlib.repr(properties)}; it must be an object of numbers')
    found = {}
    for name, value in properties.items():
        if value is None:
            continue
        number = finite(value)
        if number is None:
            raise DagError(f"the property {_name(name, 'property')!r} is {reprlib.repr(value)}; {_FINITE}")
        found[_name(name, "property")] = float(number)
    return Named(found)


def finite(value: object) -> int | float | None:
    """The number that `value` is, as Python's own, if it is a finite one."""
    if type(value) is float:  # most are; asking for an abstract class takes long
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return None
    number: int | float = int(value) if isinstance(value, numbers.Integral) else float(value)
    try:
        return number if math.isfinite(float(number)) else None
    except OverflowError:
        return None


def taken(columns: Mapping[str, Column], order: Sequence[int | None]) -> Named[Column]:
    """The columns with the values at the places of `order`, absent ones where it has None."""
    if not columns:
        return NO_COLUMNS
    return Named({name: tuple(None if at is None else column[at] for at in order) for name, column in columns.items()})


def values_at(columns: Mapping[str, Column], place: int) -> dict[str, Value]:
    """The values of one node or edge, absent ones left out."""
    return {name: column[place] for name, column in columns.items() if column[place] is not None}


def columns_of(rows: Sequence[Mapping[Any, Any]], besides: Sequence[str] = ("type",)) -> dict[str, Column]:
    """The attributes of nodes or edges as columns; those with a value that no column holds are passed over."""
    names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str) and name not in besides)
    columns = {name: tuple(row.get(name) for row in rows) for name in names}
    return {name: column for name, column in columns.items() if all(map(_fits, column)) and any(map(_there, column))}


def _fits(value: object) -> bool:
    number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return value is None or isinstance(value, str) or number


def _there(value: object) -> bool:
    return value is not None


_FINITE = "it must be a finite number"


def _name(name: object, what: str) -> str:
    if not isinstance(name, str) or not name:
        raise DagError(f"the name of a {what} is {reprlib.repr(name)}; it must be a string that is not empty")
    return name


def _column(name: object, values: Any, what: str, count: int) -> Column:
    if not isinstance(values, list | tuple):
        raise DagError(f"the {what} column {name!r} is {reprlib.repr(values)}; it must be a list")
    if len(values) != count:
        raise DagError(f"the {what} column {name!r} has {len(values)} values for {count} {what}s")
    column = tuple(_value(name, value, what, place) for place, value in enumerate(values))
    first: dict[bool, Value] = {}
    for value in column:
        if value is not None:
            first.setdefault(isinstance(value, str), value)
    if len(first) > 1:
        raise DagError(
            f"the {what} column {name!r} has strings and numbers, such as {reprlib.repr(first[True])} and "
            f"{reprlib.repr(first[False])}; it must have one or the other"
        )
    return column


def _value(name: object, value: object, what: str, place: int) -> Value:
    if value is None or isinstance(value, str):
        return value
    number = finite(value)
    if number is None:
        raise DagError(
            f"the {what} column {name!r} has {reprlib.repr(value)} at {what} {place}; "
            "a value is a string, a finite number or null"
        )
    return number


def check_no_column(columns: Mapping[str, Column], reserved: str, where: str) -> None:
    """Raises where a column has the name that something else has in another format."""
    if reserved in columns:
        raise DagError(f"the node column {reserved!r} has the name of the node's type in {where}; rename it")
