"""Rules that the DAGs of a task obey, beyond their types: written by the user, or inferred from data.

A file of rules is TOML; everything in it is optional:

    nodes = [3, 12]                      # fewest and most nodes
    single_source = true                 # exactly one node without predecessors
    single_sink = true
    source_types = ["input"]             # types that nodes without predecessors may have
    sink_types = ["output"]
    connected = true                     # in one piece, edges taken without their direction
    allowed_edges = [["input", "conv"]]  # pairs of types; without it all pairs are allowed
    forbidden_edges = [["conv", "conv"]]

    [in_degree]                          # fewest and most predecessors, by type
    conv = [1, 2]

    [out_degree]
    conv = [1, 4]
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dvae.config import load_toml
from dvae.dag import Dag, Label
from dvae.dag.value import joined
from dvae.errors import ConfigError
from dvae.registry import suggestion

Range = tuple[int, int | None]  # fewest and most; None is no limit
Pair = tuple[Label, Label]


@dataclass(frozen=True)
class GraphRules:
    """What every DAG obeys. Degrees are those of nodes by type; a type that is not named may have any."""

    nodes: Range = (1, None)
    single_source: bool = False
    single_sink: bool = False
    source_types: tuple[Label, ...] | None = None
    sink_types: tuple[Label, ...] | None = None
    connected: bool = False
    allowed_edges: tuple[Pair, ...] | None = None
    forbidden_edges: tuple[Pair, ...] = ()
    in_degree: tuple[tuple[Label, Range], ...] = ()
    out_degree: tuple[tuple[Label, Range], ...] = ()

    def __post_init__(self) -> None:
        for name, (low, high) in [("nodes", self.nodes), *((f"the degree of {t!r}", r) for t, r in self._degrees())]:
            if low < 0 or (high is not None and high < low):
                raise ConfigError(f"{name} is [{low}, {high}]; the first number must not be larger than the second")
        both = set(self.allowed_edges or ()) & set(self.forbidden_edges)
        if both:
            raise ConfigError(f"edges from {min(both)[0]!r} to {min(both)[1]!r} are both allowed and forbidden")

    def _degrees(self) -> Iterator[tuple[Label, Range]]:
        yield from self.in_degree
        yield from self.out_degree

    def allows_edge(self, source: Label, target: Label) -> bool:
        """Whether an edge may run between nodes of these types."""
        pair = (source, target)
        return pair not in self.forbidden_edges and (self.allowed_edges is None or pair in self.allowed_edges)

    def problem(self, dag: Dag) -> str | None:
        """The first rule that `dag` breaks, in words; None if it obeys all."""
        return next(self._problems(dag), None)

    def _problems(self, dag: Dag) -> Iterator[str]:
        low, high = self.nodes
        if len(dag) < low or (high is not None and len(dag) > high):
            yield f"nodes: it has {len(dag)} nodes, and {_range(self.nodes)} are allowed"
        yield from _ends("source", dag, dag.sources(), self.single_source, self.source_types)
        yield from _ends("sink", dag, dag.sinks(), self.single_sink, self.sink_types)
        for source, target in dag.edges:
            if not self.allows_edge(dag.types[source], dag.types[target]):
                rule = "allowed_edges" if self.allowed_edges is not None else "forbidden_edges"
                yield f"{rule}: an edge runs from {dag.types[source]!r} to {dag.types[target]!r}"
        for rule, limits, neighbours in (
            ("in_degree", degrees_by_name(self.in_degree), dag.predecessors()),
            ("out_degree", degrees_by_name(self.out_degree), dag.successors()),
        ):
            for label, others in zip(dag.types, neighbours, strict=True):
                least, most = limits.get(str(label), (0, None))
                if len(others) < least or (most is not None and len(others) > most):
                    what = "predecessors" if rule == "in_degree" else "successors"
                    yield f"{rule}: a {label!r} has {len(others)} {what}, and {_range((least, most))} are allowed"
        if self.connected and pieces(dag) > 1:
            yield f"connected: it is in {pieces(dag)} pieces"

    def to_mapping(self) -> dict[str, Any]:
        """The rules that say something, as plain values; `from_mapping` reads them."""
        found: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                found[field.name] = _plain(value)
        return found

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "rules") -> GraphRules:
        """Rules from plain values, as a file of rules or a saved task has them."""
        known: dict[str, Callable[[Any], Any]] = {
            "nodes": _read_range,
            "single_source": _read_bool,
            "single_sink": _read_bool,
            "source_types": _read_labels,
            "sink_types": _read_labels,
            "connected": _read_bool,
            "allowed_edges": _read_pairs,
            "forbidden_edges": _read_pairs,
            "in_degree": _read_degrees,
            "out_degree": _read_degrees,
        }
        values = {}
        for key, value in mapping.items():
            if key not in known:
                raise ConfigError(f"{where}: there is no rule {key!r}; {suggestion(key, known)}")
            try:
                values[key] = known[key](value)
            except ConfigError as error:
                raise ConfigError(f"{where}: {key}: {error}") from None
        try:
            return cls(**values)
        except ConfigError as error:
            raise ConfigError(f"{where}: {error}") from None

    @classmethod
    def read(cls, path: str | Path) -> GraphRules:
        """The rules of a TOML file."""
        return cls.from_mapping(load_toml(path), str(path))

    @classmethod
    def infer(cls, dags: Sequence[Dag], *, strict: bool = False) -> GraphRules:
        """Rules that all of `dags` obey: their ends, being in one piece; with `strict` sizes, degrees and pairs, too.

        What the data happen to have of these would forbid much that is merely new.
        """
        sources, sinks = [dag.sources() for dag in dags], [dag.sinks() for dag in dags]
        found = cls(
            single_source=all(len(ends) == 1 for ends in sources),
            single_sink=all(len(ends) == 1 for ends in sinks),
            source_types=_end_types(dags, sources),
            sink_types=_end_types(dags, sinks),
            connected=all(pieces(dag) == 1 for dag in dags),
        )
        if not strict:
            return found
        pairs = {(dag.types[u], dag.types[v]) for dag in dags for u, v in dag.edges}
        return cls(
            **{field.name: getattr(found, field.name) for field in fields(found)}
            | {
                "nodes": (min(map(len, dags)), max(map(len, dags))),
                "allowed_edges": tuple(sorted(pairs, key=_pair_order)),
                "in_degree": _degrees_of(dags, [dag.predecessors() for dag in dags]),
                "out_degree": _degrees_of(dags, [dag.successors() for dag in dags]),
            }
        )

    def rows(self) -> list[tuple[str, str]]:
        """The rules that say something, as words."""
        found = []
        for key, value in self.to_mapping().items():
            if key == "nodes":
                found.append((key, _range(self.nodes)))
            elif isinstance(value, dict):
                found.append((key, ", ".join(f"{label} {_range(tuple(r))}" for label, r in value.items())))
            elif isinstance(value, list) and value and isinstance(value[0], list):
                found.append((key, ", ".join(f"{a} -> {b}" for a, b in value)))
            elif isinstance(value, list):
                found.append((key, ", ".join(map(str, value))))
            else:
                found.append((key, "yes"))
        return found


def degrees_by_name(degrees: Iterable[tuple[Label, Range]]) -> dict[str, Range]:
    """Limits by the names of types: a TOML or JSON file has no other keys than strings."""
    return {str(label): limits for label, limits in degrees}


def pieces(dag: Dag) -> int:
    """How many pieces a DAG is in, edges taken without their direction."""
    return len(set(joined(len(dag), dag.edges)))


def _ends(
    noun: str, dag: Dag, ends: Sequence[int], single: bool, types: Iterable[Label] | None
) -> Iterator[str]:  # fmt: skip
    if single and len(ends) != 1:
        yield f"single_{noun}: it has {len(ends)} {noun}s"
    wrong = next((dag.types[node] for node in ends if types is not None and dag.types[node] not in types), None)
    if wrong is not None:
        yield f"{noun}_types: a {noun} has the type {wrong!r}"


def _end_types(dags: Sequence[Dag], ends: Sequence[Sequence[int]]) -> tuple[Label, ...] | None:
    """The types of all ends, where they are fewer than all types."""
    found = {dag.types[node] for dag, nodes in zip(dags, ends, strict=True) for node in nodes}
    every = {label for dag in dags for label in dag.types}
    return None if found == every else tuple(sorted(found, key=_label_order))


def _degrees_of(dags: Sequence[Dag], neighbours: Sequence[list[list[int]]]) -> tuple[tuple[Label, Range], ...]:
    seen: dict[Label, tuple[int, int]] = {}
    for dag, lists in zip(dags, neighbours, strict=True):
        for label, others in zip(dag.types, lists, strict=True):
            low, high = seen.get(label, (len(others), len(others)))
            seen[label] = (min(low, len(others)), max(high, len(others)))
    return tuple((label, seen[label]) for label in sorted(seen, key=_label_order))


def _range(limits: Sequence[int | None]) -> str:
    low, high = limits
    return f"at least {low}" if high is None else f"{low}" if low == high else f"{low} to {high}"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and value and isinstance(value[0], tuple) and isinstance(value[0][1], tuple):
        return {str(label): list(limits) for label, limits in value}  # degrees
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _read_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"expected true or false, not {value!r}")
    return value


def _read_range(value: Any) -> Range:
    whole = isinstance(value, list | tuple) and len(value) == 2
    if not whole or not _is_count(value[0]) or not (value[1] is None or _is_count(value[1])):
        raise ConfigError(f"expected two whole numbers, the fewest and the most, not {value!r}")
    return value[0], value[1]


def _read_labels(value: Any) -> tuple[Label, ...]:
    if not isinstance(value, list | tuple) or not value or not all(_is_label(item) for item in value):
        raise ConfigError(f"expected a list of types, not {value!r}")
    return tuple(value)


def _read_pairs(value: Any) -> tuple[Pair, ...]:
    good = isinstance(value, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(map(_is_label, pair)) for pair in value
    )
    if not good:
        raise ConfigError(f'expected a list of pairs of types such as ["a", "b"], not {value!r}')
    return tuple((pair[0], pair[1]) for pair in value)


def _read_degrees(value: Any) -> tuple[tuple[Label, Range], ...]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"expected a table of types with two numbers each, not {value!r}")
    return tuple((label, _read_range(limits)) for label, limits in value.items())


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_label(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _label_order(label: Label) -> tuple[bool, str]:
    return (isinstance(label, str), str(label))


def _pair_order(pair: Pair) -> tuple[Hashable, ...]:
    return (*_label_order(pair[0]), *_label_order(pair[1]))
