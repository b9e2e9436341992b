"""What is known of a network before learning: edges, tiers, limits, where to start. Contradictions are refused by name.

As a TOML file, everything optional:

    required = [["smoke", "lung"]]         # edges that must be there
    forbidden = [["lung", "smoke"]]        # edges that must not
    tiers = [["age", "sex"], ["smoke"]]    # nothing points to an earlier tier; variables in no tier are free
    max_parents = 4
    start = [["smoke", "bronc"]]           # the edges of the network to start from
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from dvae.bayesnet.counting import bits
from dvae.bayesnet.scores import Booleans
from dvae.config import load_toml
from dvae.errors import ConfigError, TaskError
from dvae.registry import suggestion

Edge: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class Knowledge:
    """Required and forbidden edges, tiers of variables, the most parents of a variable, a network to start from."""

    required: tuple[Edge, ...] = ()
    forbidden: tuple[Edge, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    max_parents: int | None = None
    start: tuple[Edge, ...] | None = None

    def __post_init__(self) -> None:
        if self.max_parents is not None and self.max_parents < 0:
            raise ConfigError(f"max_parents is {self.max_parents}; it must be 0 or more")
        listed = [name for tier in self.tiers for name in tier]
        for name in listed:
            if listed.count(name) > 1:
                raise ConfigError(f"the variable {name!r} stands in two tiers")
        for source, target in sorted(set(self.required) & set(self.forbidden)):
            raise ConfigError(f"the edge {_edge(source, target)} is both required and forbidden")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Knowledge:
        """The knowledge in a TOML file."""
        return cls.from_mapping(load_toml(path), os.fspath(path))

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "knowledge") -> Knowledge:
        """Knowledge from plain values, as a TOML file has them."""
        known = [field.name for field in fields(cls)]
        values: dict[str, Any] = {}
        for key, value in mapping.items():
            if key not in known:
                raise ConfigError(f"{where}: there is no {key!r} in knowledge; {suggestion(key, known)}")
            try:
                values[key] = value if key == "max_parents" else _lists(value, pairs=key != "tiers")
            except TypeError:
                shape = "lists of names" if key == "tiers" else "pairs of names"
                raise ConfigError(f'{where}: {key} is a list of {shape}, as in [["a", "b"]]') from None
        limit = values.get("max_parents")
        if limit is not None and type(limit) is not int:
            raise ConfigError(f"{where}: max_parents is {limit!r}; it must be a whole number")
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    def to_mapping(self) -> dict[str, Any]:
        """What is known, as plain values; `from_mapping` reads them."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {
            key: value if key == "max_parents" else [list(inner) for inner in value or ()]
            for key, value in known.items()
        }
        return {key: value for key, value in plain.items() if known[key] not in ((), None)}

    def merged(self, other: Knowledge) -> Knowledge:
        """Both together; tiers, limit and start are the other's where it has them."""
        return Knowledge(
            tuple(dict.fromkeys(self.required + other.required)),
            tuple(dict.fromkeys(self.forbidden + other.forbidden)),
            other.tiers or self.tiers,
            self.max_parents if other.max_parents is None else other.max_parents,
            self.start if other.start is None else other.start,
        )

    def constraints(self, names: Sequence[str], possible: Booleans | None = None) -> Constraints:
        """The same for these variables; `possible` are the edges that the data allow at all."""
        place = {name: index for index, name in enumerate(names)}
        for what, listed in self._mentioned():
            for name in listed:
                if name not in place:
                    raise ConfigError(f"{what} names {name!r}, which is no variable; {suggestion(name, names)}")
        size = len(names)
        allowed = ~np.eye(size, dtype=np.bool_) if possible is None else possible.copy()
        for source, target in self.forbidden:
            allowed[place[source], place[target]] = False
        for later, tier in enumerate(self.tiers):
            before = [place[name] for earlier in self.tiers[:later] for name in earlier]
            allowed[np.ix_([place[name] for name in tier], before)] = False
        required = np.zeros((size, size), dtype=np.bool_)
        for source, target in self.required:
            self._check_required(source, target, allowed[place[source], place[target]], possible, place)
            required[place[source], place[target]] = True
        limit = size - 1 if self.max_parents is None else min(self.max_parents, size - 1)
        self._check_count(names, required, limit)
        if (cycle := _cycle(required)) is not None:
            raise ConfigError(f"the required edges go in a circle: {' -> '.join(names[node] for node in cycle)}")
        constraints = Constraints(tuple(names), allowed, required, limit, (0,) * size)
        return constraints if self.start is None else constraints.starting_at(self._start_masks(place, size))

    def _mentioned(self) -> Iterable[tuple[str, Iterable[str]]]:
        for what, edges in (("required", self.required), ("forbidden", self.forbidden), ("start", self.start or ())):
            yield from ((f"the {what} edge {_edge(*edge)}", edge) for edge in edges)
        yield from ((f"tier {number}", tier) for number, tier in enumerate(self.tiers, start=1))

    def _check_required(
        self, source: str, target: str, allowed: bool, possible: Booleans | None, place: Mapping[str, int]
    ) -> None:
        if allowed:
            return
        edge = f"the edge {_edge(source, target)} is required"
        if source == target:
            raise ConfigError(f"{edge}, but no variable is its own parent")
        if possible is not None and not possible[place[source], place[target]]:
            raise ConfigError(f"{edge}, but {source!r} is continuous and {target!r} discrete, which the score excludes")
        raise ConfigError(f"{edge}, but the tiers put {target!r} before {source!r}")

    @staticmethod
    def _check_count(names: Sequence[str], required: Booleans, limit: int) -> None:
        counts = required.sum(0)
        worst = int(counts.argmax())
        if counts[worst] > limit:
            raise ConfigError(
                f"{int(counts[worst])} edges into {names[worst]!r} are required, and max_parents is {limit}"
            )

    def _start_masks(self, place: Mapping[str, int], size: int) -> list[int]:
        masks = [0] * size
        for source, target in self.start or ():
            masks[place[target]] |= 1 << place[source]
        return masks


@dataclass(frozen=True, eq=False)
class Constraints:
    """Knowledge about the variables of one table, as matrices; parents are bit masks."""

    names: tuple[str, ...]
    allowed: Booleans  # source target
    required: Booleans  # source target
    max_parents: int
    start: tuple[int, ...]  # the parents that a search begins with

    def __post_init__(self) -> None:
        object.__setattr__(self, "allowed_masks", _masks(self.allowed))
        object.__setattr__(self, "required_masks", _masks(self.required))
        if not any(self.start):
            object.__setattr__(self, "start", tuple(self.required_masks))

    allowed_masks: tuple[int, ...] = ()
    required_masks: tuple[int, ...] = ()

    def starting_at(self, parents: Sequence[int]) -> Constraints:
        """The same with another network to start from, which must keep to them."""
        problem = self.problem(parents)
        if problem is not None:
            raise ConfigError(f"the start network cannot be used: {problem}")
        return Constraints(self.names, self.allowed, self.required, self.max_parents, tuple(parents))

    def problem(self, parents: Sequence[int]) -> str | None:
        """What a network breaks, in words; None if it keeps to everything."""
        for target, mask in enumerate(parents):
            for source in bits(mask & ~self.allowed_masks[target]):
                return f"its edge {_edge(self.names[source], self.names[target])} is not allowed"
            for source in bits(self.required_masks[target] & ~mask):
                return f"it lacks the required edge {_edge(self.names[source], self.names[target])}"
            if mask.bit_count() > self.max_parents:
                return f"{self.names[target]!r} has {mask.bit_count()} parents, and max_parents is {self.max_parents}"
        cycle = _cycle(adjacency_of(parents))
        return None if cycle is None else f"it has the cycle {' -> '.join(self.names[node] for node in cycle)}"

    def repaired(self, parents: Sequence[int]) -> list[int]:
        """The parents cut and completed until they keep to everything; required edges win over cycles."""
        kept = [
            (mask & allowed) | required
            for mask, allowed, required in zip(parents, self.allowed_masks, self.required_masks, strict=True)
        ]
        for target, required in enumerate(self.required_masks):
            for source in bits(kept[target] & ~required):
                if kept[target].bit_count() > self.max_parents:
                    kept[target] ^= 1 << source
        while (cycle := _cycle(adjacency_of(kept))) is not None:
            for source, target in pairwise(cycle):
                if not self.required_masks[target] >> source & 1:
                    kept[target] ^= 1 << source
                    break
        return kept


def adjacency_of(parents: Sequence[int]) -> Booleans:
    """A network as a matrix."""  # source target
    edges = np.zeros((len(parents), len(parents)), dtype=np.bool_)
    for target, mask in enumerate(parents):
        edges[list(bits(mask)), target] = True
    return edges


def parents_of(adjacency: Booleans) -> list[int]:
    """A matrix as one bit mask of parents a variable."""
    return list(_masks(adjacency))


def _masks(matrix: Booleans) -> tuple[int, ...]:
    return tuple(sum(1 << int(source) for source in np.flatnonzero(column)) for column in matrix.T)


def _cycle(edges: Booleans) -> list[int] | None:
    """The nodes of some cycle, the first one again at the end; None if there is none."""
    left = np.ones(len(edges), dtype=np.bool_)
    while left.any():
        fed = (edges & left[:, None] & left[None, :]).any(0) & left
        if (fed == left).all():
            break
        left = fed
    if not left.any():
        return None
    node, walked = int(left.argmax()), []
    while node not in walked:
        walked.append(node)
        node = int((edges[:, node] & left).argmax())  # backwards: every node left has a predecessor left
    return [node, *reversed(walked[walked.index(node) :])]


def _lists(value: Any, pairs: bool) -> tuple[tuple[str, ...], ...]:
    if not isinstance(value, list | tuple):
        raise TypeError
    for inner in value:
        if not isinstance(inner, list | tuple) or not all(isinstance(name, str) for name in inner):
            raise TypeError
        if pairs and len(inner) != 2:
            raise TypeError
    return tuple(tuple(inner) for inner in value)


def _edge(source: str, target: str) -> str:
    return f"{source} -> {target}"


def parse_edge(text: str) -> Edge:
    """`smoke -> lung` as a pair of names."""
    source, arrow, target = text.partition("->")
    if not arrow or not source.strip() or not target.strip():
        raise TaskError(f"an edge is written 'smoke -> lung', not {text!r}")
    return source.strip(), target.strip()
