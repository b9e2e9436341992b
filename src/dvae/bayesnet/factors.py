"""Tables over several discrete variables, and the order in which a product of many is best summed.

Variable elimination and its tree of buckets (Dechter, 1999): exact, and as large as the network is entangled.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dvae.bayesnet.network import Floats
from dvae.errors import TaskError

MAX_CELLS = 2**26  # of all tables of an elimination: half a gigabyte


@dataclass(frozen=True, eq=False)
class Factor:
    """Non-negative numbers, with an axis for each name."""

    names: tuple[str, ...]
    values: Floats

    def given(self, codes: Mapping[str, int]) -> Factor:
        """The part in which some variables have these values."""
        place = tuple(codes.get(name, slice(None)) for name in self.names)
        return Factor(tuple(name for name in self.names if name not in codes), self.values[place])

    def sum_to(self, names: Iterable[str]) -> Factor:
        """The sum over all variables but these."""
        kept = set(names)
        away = tuple(axis for axis, name in enumerate(self.names) if name not in kept)
        return Factor(tuple(name for name in self.names if name in kept), self.values.sum(axis=away))

    def in_order(self, names: Sequence[str]) -> Floats:
        """The numbers with their axes in this order; axes of length 1 for names that it lacks."""
        axes = [self.names.index(name) for name in names if name in self.names]
        shape = [self.values.shape[self.names.index(name)] if name in self.names else 1 for name in names]
        return self.values.transpose(axes).reshape(shape)


def product_of(factors: Sequence[Factor]) -> Factor:
    """The product of factors, over all their names."""
    names = tuple(dict.fromkeys(name for factor in factors for name in factor.names))
    values: Floats = np.ones((1,) * len(names))
    for factor in factors:
        values = values * factor.in_order(names)
    return Factor(names, values)


@dataclass(frozen=True)
class Buckets:
    """An order of elimination with the scope of the table that each step makes."""

    order: tuple[str, ...]
    scopes: tuple[frozenset[str], ...]
    cells: float  # of all tables together


def best_buckets(factors: Sequence[Factor], away: Iterable[str]) -> Buckets:
    """An order in which to sum variables away: the better of two greedy ones."""
    sizes = {name: size for factor in factors for name, size in zip(factor.names, factor.values.shape, strict=True)}
    scopes = [frozenset(factor.names) for factor in factors]
    away = [name for name in away if name in sizes]
    found = [_greedy(scopes, away, sizes, cost) for cost in (_weight, _fill)]
    best = min(found, key=lambda buckets: buckets.cells)
    if best.cells > MAX_CELLS:
        raise TaskError(
            f"an exact answer would need tables of {best.cells:,.0f} numbers together, more than {MAX_CELLS:,}: "
            f"the network is too entangled; give evidence for more variables, or draw samples instead"
        )
    return best


def eliminate(factors: Sequence[Factor], keep: Sequence[str]) -> tuple[Factor, float]:
    """The product summed to the variables that are kept, as shares of 1, and the logarithm of its whole sum."""
    names = {name for factor in factors for name in factor.names}
    left, scale = list(factors), 0.0
    for name in best_buckets(factors, sorted(names - set(keep))).order:
        inside = [factor for factor in left if name in factor.names]
        left = [factor for factor in left if name not in factor.names]
        whole = product_of(inside)
        summed, more = _shares(whole.sum_to(set(whole.names) - {name}))
        left.append(summed)
        scale += more
    answer, more = _shares(product_of(left))
    return Factor(tuple(keep), np.broadcast_to(answer.in_order(keep), answer.in_order(keep).shape)), scale + more


def all_marginals(factors: Sequence[Factor]) -> dict[str, Floats]:
    """The share of every value of every variable, by one walk through the tree of buckets and back."""
    buckets = best_buckets(factors, sorted({name for factor in factors for name in factor.names}))
    place = {name: number for number, name in enumerate(buckets.order)}
    waiting: list[list[Factor]] = [[] for _ in buckets.order]
    for factor in factors:
        if factor.names:
            waiting[min(place[name] for name in factor.names)].append(factor)
        else:
            _shares(factor)  # a family that is given as a whole must be possible
    tables: list[Factor] = []
    up: list[Factor] = []
    for number, name in enumerate(buckets.order):
        table, _ = _shares(product_of(waiting[number]))
        message, _ = _shares(table.sum_to(set(table.names) - {name}))
        tables.append(table)
        up.append(message)
        if message.names:
            waiting[min(place[other] for other in message.names)].append(message)
    for number in reversed(range(len(tables))):
        above = up[number]
        if above.names:
            parent = tables[min(place[name] for name in above.names)]
            belief = parent.sum_to(above.names).in_order(above.names)
            ratio = np.divide(belief, above.values, out=np.zeros_like(above.values), where=above.values > 0)
            tables[number], _ = _shares(product_of([tables[number], Factor(above.names, ratio)]))
    return {name: tables[place[name]].sum_to([name]).values for name in buckets.order}


def _shares(factor: Factor) -> tuple[Factor, float]:
    """The factor as shares of 1, and the logarithm of its sum."""
    total = float(factor.values.sum())
    if not total > 0:
        raise TaskError("the evidence cannot happen: the network gives it probability 0")
    return Factor(factor.names, factor.values / total), math.log(total)


def _greedy(
    scopes: Sequence[frozenset[str]],
    away: Sequence[str],
    sizes: Mapping[str, int],
    cost: Callable[[str, Mapping[str, set[str]], Mapping[str, int]], float],
) -> Buckets:
    """Always the variable that costs least next; of equal ones the first by name."""
    near: dict[str, set[str]] = {name: set() for name in sizes}
    for scope in scopes:
        for name in scope:
            near[name] |= scope - {name}
    costs = {name: cost(name, near, sizes) for name in sorted(away)}
    order, made, cells = [], [], 0.0
    while costs:
        name = min(costs, key=lambda each: costs[each])
        del costs[name]
        around = near.pop(name)
        for other in around:
            near[other] |= around - {other}
            near[other].discard(name)
        touched = around if cost is _weight else around.union(*(near[other] for other in around))
        costs |= {other: cost(other, near, sizes) for other in touched if other in costs}
        order.append(name)
        made.append(around | {name})
        cells += float(math.prod(sizes[other] for other in made[-1]))
    return Buckets(tuple(order), tuple(map(frozenset, made)), cells)


def _weight(name: str, near: Mapping[str, set[str]], sizes: Mapping[str, int]) -> float:
    return sum(math.log(sizes[other]) for other in (name, *near[name]))


def _fill(name: str, near: Mapping[str, set[str]], sizes: Mapping[str, int]) -> float:
    """How much the new links weigh that a product would make."""
    around = sorted(near[name])
    return float(
        sum(
            sizes[first] * sizes[second]
            for place, first in enumerate(around)
            for second in around[place + 1 :]
            if second not in near[first]
        )
    )
