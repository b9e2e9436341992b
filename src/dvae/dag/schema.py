"""What the columns and properties of some DAGs hold: kinds, categories, ranges, and which types have which column."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from dvae.dag.columns import Column, Value
from dvae.dag.number_grid import NO_NUMBERS, NumberGrid
from dvae.dag.value import Dag, Label
from dvae.errors import DagError, MisfitError, TaskError

Kind = Literal["category", "number"]
Place = Literal["node", "edge"]
Owner = Label | tuple[Label, Label]  # the type of a node, or those of an edge's ends
PLACES: tuple[Place, ...] = ("node", "edge")
MAX_CATEGORIES = 1_000
_SHOWN = 8


@dataclass(frozen=True)
class Holder:
    """A type (of an edge: two types) that has a column: in which categories, and whether some lack a value."""

    owner: Owner
    categories: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class ColumnSchema:
    """One column: its categories or the `grid` of its numbers, and the types that have it."""

    name: str
    kind: Kind
    categories: tuple[str, ...] = ()
    grid: NumberGrid = NO_NUMBERS
    holders: tuple[Holder, ...] = ()
    bare: tuple[Owner, ...] = ()  # pairs of types whose edges never have a value

    @cached_property
    def index_of(self) -> dict[str, int]:
        """The number of each category, from 1; 0 is absent."""
        return {category: index for index, category in enumerate(self.categories, start=1)}

    @cached_property
    def holder_of(self) -> dict[Owner, Holder]:
        """What is known of a type that has the column, by type."""
        return {holder.owner: holder for holder in self.holders}

    def problem(self, value: Value, owner: Owner) -> str | None:
        """What is wrong with a value at a node of the type `owner`, or at an edge between such types."""
        if value is None:
            return None
        if isinstance(value, str) != (self.kind == "category"):
            came, expected = ("string", "numbers") if isinstance(value, str) else ("number", "strings")
            return f"has the {came} {reprlib.repr(value)} where {expected} are expected"
        if isinstance(value, str) and value not in self.index_of:
            known = ", ".join(self.categories[:_SHOWN]) + (", ..." if len(self.categories) > _SHOWN else "")
            return f"has the unknown category {reprlib.repr(value)} (known: {known})"
        if not isinstance(owner, tuple) and owner not in self.holder_of:
            return f"has the value {reprlib.repr(value)} at a node of type {owner!r}, a type without this column"
        return None

    def rounded(self, value: Value) -> Value:
        """The value that stands for all that count as the same."""
        return value if value is None or isinstance(value, str) else self.grid.rounded(value)

    def to_mapping(self) -> dict[str, Any]:
        """Plain values; `from_mapping` reads them."""
        return {
            "name": self.name,
            "kind": self.kind,
            **({"categories": list(self.categories)} if self.categories else {}),
            **({"grid": self.grid.to_mapping()} if self.kind == "number" else {}),
            "holders": [[_plain(one.owner), list(one.categories), one.optional] for one in self.holders],
            **({"bare": [_plain(owner) for owner in self.bare]} if self.bare else {}),
        }

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> ColumnSchema:
        """The column that `to_mapping` described."""
        holders = (Holder(_owner(of), tuple(some), bool(optional)) for of, some, optional in mapping["holders"])
        grid = NumberGrid.from_mapping(mapping["grid"]) if "grid" in mapping else NO_NUMBERS
        bare = tuple(_owner(plain) for plain in mapping.get("bare", ()))
        return cls(mapping["name"], mapping["kind"], tuple(mapping.get("categories", ())), grid, tuple(holders), bare)


@dataclass(frozen=True)
class PropertyRange:
    """The smallest and the largest value of a property, and how many DAGs have it."""

    name: str
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Schema:
    """The columns of nodes and edges, and the properties. Without columns it is false."""

    node: tuple[ColumnSchema, ...] = ()
    edge: tuple[ColumnSchema, ...] = ()
    properties: tuple[PropertyRange, ...] = ()

    @classmethod
    def infer(cls, dags: Sequence[Dag]) -> Schema:
        """The schema of all columns and properties of `dags`; a `MisfitError` names the first that disagrees."""
        ranges: dict[str, list[float]] = {}
        for dag in dags:
            for name, value in dag.properties.items():
                ranges.setdefault(name, []).append(value)
        properties = (PropertyRange(name, min(some), max(some), len(some)) for name, some in ranges.items())
        found = Schema(properties=tuple(properties))
        if any(dag.has_columns for dag in dags):
            found = replace(found, node=_inferred(dags, "node"), edge=_inferred(dags, "edge"))
        return found

    def __bool__(self) -> bool:
        return bool(self.node or self.edge)

    def columns(self) -> Iterator[tuple[Place, ColumnSchema]]:
        """All columns, those of nodes first."""
        for place in PLACES:
            for column in getattr(self, place):
                yield place, column

    def problem(self, dag: Dag) -> str | None:
        """The first thing about the columns of `dag` that does not fit, as a predicate; None if all fit."""
        if not dag.has_columns:
            return None
        for place in PLACES:
            known = {column.name: column for column in getattr(self, place)}
            for name, values in getattr(dag, place).items():
                if name not in known:
                    names = ", ".join(known) or "none"
                    return f"has the unknown {place} column {name!r} (known: {names})"
                for owner, value in zip(owners(dag, place), values, strict=True):
                    problem = known[name].problem(value, owner)
                    if problem is not None:
                        return f"{problem}, in the {place} column {name!r}"
        return None

    def rounded(self, dag: Dag) -> Dag:
        """The DAG that stands for all whose columns count as the same; it has every column."""
        if not self:
            return dag.plain()
        columns = {place: {} for place in PLACES}  # type: dict[str, dict[str, Column]]
        for place, column in self.columns():
            values: Column = getattr(dag, place).get(column.name) or (None,) * len(owners(dag, place))
            columns[place][column.name] = tuple(column.rounded(value) for value in values)
        return Dag(dag.types, dag.edges, columns["node"], columns["edge"])

    def to_mapping(self) -> dict[str, Any]:
        """Plain values; `from_mapping` reads them."""
        found: dict[str, Any] = {
            place: [column.to_mapping() for column in getattr(self, place)] for place in PLACES if getattr(self, place)
        }
        if self.properties:
            found["properties"] = [[one.name, one.low, one.high, one.count] for one in self.properties]
        return found

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Schema:
        """The schema that `to_mapping` described."""
        node, edge = (tuple(map(ColumnSchema.from_mapping, mapping.get(place, ()))) for place in PLACES)
        return cls(node, edge, tuple(PropertyRange(*values) for values in mapping.get("properties", ())))


def owners(dag: Dag, place: Place) -> list[Owner]:
    """The types of the nodes, or those of the ends of the edges."""
    if place == "node":
        return list(dag.types)
    return [(dag.types[source], dag.types[target]) for source, target in dag.edges]


def _inferred(dags: Sequence[Dag], place: Place) -> tuple[ColumnSchema, ...]:
    names = dict.fromkeys(name for dag in dags for name in getattr(dag, place))
    return tuple(_column(dags, place, name) for name in names)


def _column(dags: Sequence[Dag], place: Place, name: str) -> ColumnSchema:
    kinds: dict[bool, int] = {}  # whether a value is a string -> the first DAG with such a value
    counts: Counter[Value] = Counter()
    held: dict[Owner, set[Value]] = {}
    for number, dag in enumerate(dags):
        column: Column = getattr(dag, place).get(name, ())
        if not column:
            column = (None,) * len(owners(dag, place))
        for owner, value in zip(owners(dag, place), column, strict=True):
            held.setdefault(owner, set()).add(value)
            if value is not None:
                kinds.setdefault(isinstance(value, str), number)
                counts[value] += 1
        if len(kinds) > 1:
            came, expected = ("a string", "numbers") if kinds[True] == number else ("a number", "strings")
            raise MisfitError(number, f"has {came} in the {place} column {name!r}, where those before have {expected}")
    bare = (
        tuple(sorted((owner for owner, values in held.items() if values == {None}), key=str)) if place == "edge" else ()
    )
    if kinds.get(True) is None:
        grid = NumberGrid.of(counts)  # type: ignore[arg-type]
        return ColumnSchema(name, "number", (), grid, _holders(held, strings=False), bare)
    categories = tuple(sorted(value for value in counts if isinstance(value, str)))
    if len(categories) > MAX_CATEGORIES:
        raise TaskError(
            f"the {place} column {name!r} has {len(categories):,} categories, where {MAX_CATEGORIES:,} can be learnt; "
            "leave out a column of names or numbers written as strings"
        )
    return ColumnSchema(name, "category", categories, NO_NUMBERS, _holders(held, strings=True), bare)


def _holders(held: Mapping[Owner, set[Value]], *, strings: bool) -> tuple[Holder, ...]:
    found = []
    for owner, values in sorted(held.items(), key=lambda item: str(item[0])):
        there = values - {None}
        if there:
            categories = tuple(sorted(map(str, there))) if strings else ()
            found.append(Holder(owner, categories, None in values))
    return tuple(found)


def _plain(owner: Owner) -> Any:
    return list(owner) if isinstance(owner, tuple) else owner


def _owner(plain: Any) -> Owner:
    if isinstance(plain, list):
        source, target = plain
        return source, target
    if not isinstance(plain, str | int):
        raise DagError(f"{reprlib.repr(plain)} is no type of a node")
    return plain
