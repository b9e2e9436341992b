"""What a task forbids and demands while a decoder builds a graph, one decision after another.

A decoder asks before each decision, for many partial graphs at once; following the answers makes every decoded
graph valid by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dvae.tasks.vocabulary import END_INDEX, START_INDEX


class DecodingRules(Protocol):
    """Answers about the next decision. `types` holds the types of nodes 0..position-1."""

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        """Which types the next node may have."""  # batch node -> batch type, bool
        ...

    def required_edge(self, source: int, target: int, has_predecessor: Tensor) -> Tensor:
        """Where the edge source -> target must be there; asked from source = target - 1 down to 0."""  # batch
        ...


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
