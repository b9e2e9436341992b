"""Decoding Bayesian networks within what is known of them: edges, tiers and limits hold by construction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.bayesnet.knowledge import Constraints
from dvae.tasks.rules import EachOnceRules, EdgeRule, EdgeRules, PartialGraphs
from dvae.tasks.vocabulary import END_INDEX

VIRTUAL = 2  # types before those of the variables: start and end


@dataclass(frozen=True, eq=False)
class NetworkRules:
    """Each variable once, after its required parents; only allowed edges into it, no more than its limit."""

    allowed: Tensor  # type type, bool: source and target
    required: Tensor  # type type, bool
    max_parents: int

    @classmethod
    def of(cls, constraints: Constraints) -> NetworkRules:
        """The rules for variables that are the types of the model, in the constraints' order."""
        size = len(constraints.names) + VIRTUAL
        allowed, required = torch.ones(size, size, dtype=torch.bool), torch.zeros(size, size, dtype=torch.bool)
        allowed[VIRTUAL:, VIRTUAL:] = torch.from_numpy(constraints.allowed)
        required[VIRTUAL:, VIRTUAL:] = torch.from_numpy(constraints.required)
        return cls(allowed, required, constraints.max_parents)

    def next_types(self, graphs: PartialGraphs, num_types: int) -> Tensor:
        """Variables that are not there yet, and whose required parents are; then the end."""
        types = graphs.types
        free = EachOnceRules().allowed_types(types, num_types)
        placed = types.new_zeros(types.shape[0], num_types, dtype=torch.bool).scatter_(1, types, True)
        waiting = (~placed).float() @ self.required.to(types.device).float() > 0
        return free & ~waiting

    def next_edges(self, graphs: PartialGraphs) -> EdgeRules:
        """About the edges into the last node, the nearest first."""
        sources, target = graphs.types[:, :-1], graphs.types[:, -1:]
        required = self.required.to(sources.device)[sources, target]  # row source
        allowed = self.allowed.to(sources.device)[sources, target]
        is_end = target[:, 0] == END_INDEX

        def rule(source: int, chosen: Tensor) -> EdgeRule:
            after = chosen[:, source + 1 : sources.shape[1]]
            if source == 0:  # the virtual start feeds variables without parents
                return EdgeRule(is_end, ~after.any(1))
            room = self.max_parents - after.sum(1) - required[:, 1:source].sum(1)
            return EdgeRule(allowed[:, source] & ((room > 0) | is_end), required[:, source])

        return rule

    def cautious(self, attempt: int) -> NetworkRules:
        """The rules give valid networks at once."""
        return self
