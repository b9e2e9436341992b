"""What a task forbids and demands while a decoder builds a graph, one decision after another.

A decoder asks before each decision, for many partial graphs at once; following the answers makes every decoded
graph valid by construction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from dvae.tasks.vocabulary import END_INDEX, START_INDEX


class PartialGraphs(NamedTuple):
    """Graphs under construction, all with the same number of nodes so far."""

    types: Tensor  # row node
    adjacency: Tensor  # row source target, bool


class EdgeRule(NamedTuple):
    """What is known of one edge before it is chosen."""

    allowed: Tensor | None  # row, bool; None: everywhere
    required: Tensor  # row, bool

    def applied(self, drawn: Tensor, row_of: Tensor | slice = slice(None)) -> Tensor:
        """The edges that come of drawn ones; `row_of` maps those to the rows of the rule."""
        kept = drawn if self.allowed is None else drawn & self.allowed[row_of]
        return kept | self.required[row_of]


EdgeRules = Callable[[int, Tensor], EdgeRule]
"""The rule for the edge from a source, given those chosen from the nodes after it (row source); nearest first."""


class DecodingRules(Protocol):
    """Answers about the next decision. `types` holds the types of nodes 0..position-1."""

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        """Which types the next node may have."""  # batch node -> batch type, bool
        ...

    def required_edge(self, source: int, target: int, has_predecessor: Tensor) -> Tensor:
        """Where the edge source -> target must be there; asked from source = target - 1 down to 0."""  # batch
        ...


@runtime_checkable
class GrowthRules(Protocol):
    """Rules that look at the partial graphs, too. They may miss what only later nodes show: the result is checked."""

    def next_types(self, graphs: PartialGraphs, num_types: int) -> Tensor:
        """Which types the next node may have."""  # row type, bool
        ...

    def next_edges(self, graphs: PartialGraphs) -> EdgeRules:
        """About the edges into the last node of `graphs`, of which the adjacency says nothing yet."""
        ...

    def cautious(self, attempt: int) -> GrowthRules:
        """The rules for another attempt at graphs that came out invalid."""
        ...


@dataclass(frozen=True)
class PlainRules:
    """`DecodingRules` asked as `GrowthRules` are; they always give valid graphs, so nothing is attempted twice."""

    rules: DecodingRules

    def next_types(self, graphs: PartialGraphs, num_types: int) -> Tensor:
        return self.rules.allowed_types(graphs.types, num_types)

    def next_edges(self, graphs: PartialGraphs) -> EdgeRules:
        target = graphs.types.shape[1] - 1

        def rule(source: int, chosen: Tensor) -> EdgeRule:
            return EdgeRule(None, self.rules.required_edge(source, target, chosen[:, source + 1 :].any(1)))

        return rule

    def cautious(self, attempt: int) -> PlainRules:
        return self


def as_growth_rules(rules: DecodingRules | GrowthRules) -> GrowthRules:
    """Rules of either kind, as decoders ask them."""
    return rules if isinstance(rules, GrowthRules) else PlainRules(rules)


@dataclass(frozen=True)
class ConnectedRules:
    """Any node types; every node has a predecessor (the start, if it chose none); at least one inner node."""

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        allowed = types.new_ones(types.shape[0], num_types, dtype=torch.bool)
        allowed[:, START_INDEX] = False
        if types.shape[1] < 2:
            allowed[:, END_INDEX] = False
        return allowed

    def required_edge(self, source: int, target: int, has_predecessor: Tensor) -> Tensor:
        return ~has_predecessor if source == 0 else torch.zeros_like(has_predecessor)


@dataclass(frozen=True)
class ChainRules(ConnectedRules):
    """As `ConnectedRules`, and every node is fed by the one just before it (the ENAS main path)."""

    def required_edge(self, source: int, target: int, has_predecessor: Tensor) -> Tensor:
        return torch.full_like(has_predecessor, source == target - 1)


@dataclass(frozen=True)
class EachOnceRules(ConnectedRules):
    """Every inner type exactly once (the variables of a Bayesian network), then the end."""

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        used = types.new_zeros(types.shape[0], num_types, dtype=torch.bool)
        used.scatter_(1, types, True)
        used[:, START_INDEX] = True
        used[:, END_INDEX] = types.shape[1] < num_types - 1
        return ~used


@dataclass(frozen=True)
class FixedLengthRules(ConnectedRules):
    """As `ConnectedRules`, and exactly `inner` nodes between start and end, not all of them of the type `idle`."""

    inner: int
    idle: int | None = None

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        allowed = types.new_ones(types.shape[0], num_types, dtype=torch.bool)
        ends = types.shape[1] > self.inner
        allowed[:, :] = not ends
        allowed[:, START_INDEX] = False
        allowed[:, END_INDEX] = ends
        if self.idle is not None and types.shape[1] == self.inner:
            allowed[:, self.idle] &= (types[:, 1:] != self.idle).any(1)
        return allowed
