"""The rules of DAGs by the indices of a model's types, as tensors: what decoding within them looks up."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache

import torch
from torch import Tensor

from dvae.dag import Label
from dvae.tasks.graph_rules import GraphRules, Range, degrees_by_name
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

UNLIMITED = 1 << 20  # more than any degree, node count or distance


@dataclass(frozen=True, eq=False)
class RuleTables:
    """What the rules say of each type. Virtual nodes have no rules, and no pairs with others."""

    min_in: Tensor  # type
    max_in: Tensor  # type
    min_out: Tensor  # type
    max_out: Tensor  # type
    pair: Tensor  # source-type target-type, bool: whether an edge may run between them
    source: Tensor  # type, bool: whether one may have no predecessor
    ends: Tensor  # type, bool: whether one may have no successor but the model's end node
    inner_room: Tensor  # type: most successors that are not the end node
    beyond: Tensor  # type: fewest nodes to come until something behind it can end
    distance: Tensor  # type: the same, and 0 where it can end itself

    @classmethod
    def of(cls, rules: GraphRules, vocabulary: Vocabulary, *, virtual_start: bool, virtual_end: bool) -> RuleTables:
        labels, count = vocabulary.labels, len(vocabulary)
        min_in, max_in = _limits(labels, rules.in_degree)
        min_out, max_out = _limits(labels, rules.out_degree)
        pair = torch.tensor([[rules.allows_edge(source, target) for target in labels] for source in labels])
        pair[:, START_INDEX] = pair[END_INDEX] = False
        pair[START_INDEX] &= not virtual_start
        pair[:, END_INDEX] &= not virtual_end
        pair &= (max_out > 0)[:, None] & (max_in > 0)
        sinks = _among(labels, rules.sink_types)
        ends = sinks & (min_out == 0) if virtual_end else pair[:, END_INDEX] & (min_out <= 1)
        inner = torch.ones(count, dtype=torch.bool)
        inner[START_INDEX] = inner[END_INDEX] = False
        onward = pair & inner
        beyond, distance = _distances(onward, ends)
        inner_room = torch.where(onward.any(1), max_out, 0)
        source = _among(labels, rules.source_types) & (min_in == 0) & virtual_start
        return cls(min_in, max_in, min_out, max_out, pair, source, ends, inner_room, beyond, distance)


@lru_cache(maxsize=16)
def tables_on(tables: RuleTables, device: torch.device) -> RuleTables:
    """The same tables on another device."""
    return replace(tables, **{field.name: getattr(tables, field.name).to(device) for field in fields(tables)})


def _limits(labels: tuple[Label, ...], degrees: tuple[tuple[Label, Range], ...]) -> tuple[Tensor, Tensor]:
    by_name = degrees_by_name(degrees)
    found = [by_name.get(str(label), (0, None)) for label in labels]
    high = [UNLIMITED if most is None else min(most, UNLIMITED) for _, most in found]
    return torch.tensor([least for least, _ in found]), torch.tensor(high)


def _among(labels: tuple[Label, ...], chosen: tuple[Label, ...] | None) -> Tensor:
    return torch.tensor([chosen is None or label in chosen for label in labels])


def _distances(onward: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    distance = torch.where(ends, 0, UNLIMITED)
    for _ in range(len(ends)):
        beyond = torch.where(onward, distance, UNLIMITED).amin(1).clamp(max=UNLIMITED - 1) + 1
        distance = torch.where(ends, 0, beyond)
    return beyond, distance
