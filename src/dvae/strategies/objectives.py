"""Several objectives and constraints, in the data's units, and the one number that a search climbs.

A number x of an objective becomes u = (x - low) / (high - low), turned round where less is better. The augmented
Chebyshev scalarisation of weights w is min(w u) + 0.05 sum(w u) (Steuer and Choo, 1983; ParEGO, Knowles, 2006): with
other weights it is highest elsewhere on the Pareto front. What breaks a constraint is worse than all that does not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dvae.dag import Dag, DagSet, ScoredDag
from dvae.errors import ConfigError

Relation = Literal[">=", "<="]
AUGMENTED = 0.05  # the weight of the sum
_WORDS = re.compile(r"\s*(?P<name>[^<>=]+?)\s*(?P<relation>[<>]=?|=+)\s*(?P<bound>\S+)\s*")

Values = Mapping[str, float]
Range = tuple[float, float]


@dataclass(frozen=True)
class Constraint:
    """A bound on a property, such as pm >= 2."""

    name: str
    relation: Relation
    bound: float

    @classmethod
    def parse(cls, text: str) -> Constraint:
        """The constraint that `text` says: NAME>=NUMBER or NAME<=NUMBER."""
        found = _WORDS.fullmatch(text)
        try:
            bound = float(found["bound"]) if found else math.nan
        except ValueError:
            bound = math.nan
        if found is None or not math.isfinite(bound) or found["relation"] not in get_args(Relation):
            raise ConfigError(f"the constraint {text!r} is not of the form NAME>=NUMBER or NAME<=NUMBER, e.g. pm>=2")
        return cls(found["name"], ">=" if found["relation"] == ">=" else "<=", bound)

    def excess(self, values: Values) -> float:
        """By how much it is broken; 0 where it holds."""
        gap = self.bound - values[self.name] if self.relation == ">=" else values[self.name] - self.bound
        return max(0.0, gap)

    def __str__(self) -> str:
        return f"{self.name}{self.relation}{self.bound!r}".removesuffix(".0")


@dataclass(frozen=True)
class Objectives:
    """Properties to make large or small, and constraints; `ranges` say how much of a property is much."""

    maximize: tuple[str, ...] = ()
    minimize: tuple[str, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    ranges: tuple[tuple[str, Range], ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            raise ConfigError("a search for properties needs at least one to make large or small: --maximize NAME")
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice is not None:
            raise ConfigError(f"the property {twice!r} is named twice among the objectives")

    @property
    def names(self) -> tuple[str, ...]:
        """The objectives, those to maximise first."""
        return self.maximize + self.minimize

    @property
    def needed(self) -> tuple[str, ...]:
        """All properties that a score must give."""
        return tuple(dict.fromkeys([*self.names, *(each.name for each in self.constraints)]))

    def ranged(self, data: DagSet) -> Objectives:
        """The same with the ranges of the properties in `data`, where they are known."""
        known = {**data.properties}
        ranges = []
        for name in self.needed:
            values = known[name][known[name].isfinite()] if name in known else None
            if values is not None and len(values) and float(values.max()) > float(values.min()):
                ranges.append((name, (float(values.min()), float(values.max()))))
        return Objectives(self.maximize, self.minimize, self.constraints, tuple(ranges))

    def gains(self, values: Values) -> list[float]:
        """The objectives on a scale of their ranges, more is better."""
        return [self._shared(name, values[name]) for name in self.maximize] + [
            1 - self._shared(name, values[name]) for name in self.minimize
        ]

    def excess(self, values: Values) -> float:
        """By how much constraints are broken together, on a scale of their ranges."""
        return sum(each.excess(values) / self._width(each.name) for each in self.constraints)

    def feasible(self, values: Values) -> bool:
        """Whether all constraints hold."""
        return self.excess(values) == 0

    def score(self, values: Values, weights: Sequence[float] | None = None) -> float:
        """The augmented Chebyshev scalarisation; lower than that of all that is feasible where it is not."""
        weights = weights or [1 / len(self.names)] * len(self.names)
        parts = [weight * gain for weight, gain in zip(weights, self.gains(values), strict=True)]
        found = min(parts) + AUGMENTED * sum(parts)
        excess = self.excess(values)
        return found if excess == 0 else min(found, 0.0) - 1 - excess

    def scored(self, dag: Dag, weights: Sequence[float] | None = None) -> ScoredDag | None:
        """A DAG with the score of its own properties; None where it lacks one."""
        if any(name not in dag.properties for name in self.needed):
            return None
        return ScoredDag(dag, self.score(dag.properties, weights))

    def dominates(self, one: Values, other: Values) -> bool:
        """Whether `one` is at least as good in every objective, and better in one."""
        return _dominates(self._signed(one), self._signed(other))

    def front(self, values: Sequence[Values]) -> list[int]:
        """The places of all that is feasible and dominated by nothing feasible, the first objective falling."""
        feasible = [place for place, each in enumerate(values) if self.feasible(each)]
        signed = {place: self._signed(values[place]) for place in feasible}
        found: list[int] = []
        # Whatever dominates another comes before it in this order, and what is dominated is so by one of the front.
        for place in sorted(feasible, key=lambda place: signed[place], reverse=True):
            if not any(_dominates(signed[other], signed[place]) for other in found):
                found.append(place)
        return found

    def words(self) -> str:
        """What is searched for, in words."""
        parts = [f"maximize {name}" for name in self.maximize] + [f"minimize {name}" for name in self.minimize]
        subject = f", subject to {' and '.join(map(str, self.constraints))}" if self.constraints else ""
        return " and ".join(parts) + subject

    def to_mapping(self) -> dict[str, Any]:
        """Plain values; `from_mapping` reads them."""
        return {
            "maximize": list(self.maximize),
            "minimize": list(self.minimize),
            "subject_to": [str(each) for each in self.constraints],
            "ranges": {name: list(limits) for name, limits in self.ranges},
        }

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Objectives:
        """The objectives that `to_mapping` described."""
        ranges = tuple((name, (float(low), float(high))) for name, (low, high) in mapping["ranges"].items())
        constraints = tuple(Constraint.parse(text) for text in mapping["subject_to"])
        return cls(tuple(mapping["maximize"]), tuple(mapping["minimize"]), constraints, ranges)

    def _signed(self, values: Values) -> list[float]:
        """The objectives as they are, more is better: gains are rounded, and hide the smallest differences."""
        return [values[name] for name in self.maximize] + [-values[name] for name in self.minimize]

    def _width(self, name: str) -> float:
        low, high = dict(self.ranges).get(name, (0.0, 1.0))
        return high - low

    def _shared(self, name: str, value: float) -> float:
        low, _ = dict(self.ranges).get(name, (0.0, 1.0))
        return (value - low) / self._width(name)


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))
