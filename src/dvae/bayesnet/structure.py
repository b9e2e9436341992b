"""Known answers of structure learning: the best network of all, and the best that respects a given order.

Both are exact. A set of variables is a bit mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations

import numpy as np

from dvae.bayesnet.counting import Floats, bits
from dvae.bayesnet.scores import MAX_TABULATED, NetworkScores, ScoreName, squeezed
from dvae.dag import Dag
from dvae.errors import TaskError


@dataclass(frozen=True)
class FoundNetwork:
    """A network over the variables of the data and its score."""

    dag: Dag
    score: float

    @classmethod
    def of(cls, scores: NetworkScores, name: ScoreName, parents: Sequence[int]) -> FoundNetwork:
        """The network of one bit mask of parents a variable."""
        terms = [scores.local_of(name, variable, mask) for variable, mask in enumerate(parents)]
        return cls(scores.dag(parents), sum(terms))


def exact_optimum(scores: NetworkScores, max_parents: int | None = None, *, name: ScoreName = "bic") -> FoundNetwork:
    """The best network of all, by dynamic programming over sets of variables (Silander and Myllymäki, UAI 2006).

    Of every set, the best network ends in some variable, its sink, with the best parents from the rest of the set.
    For up to about 20 variables: time and memory double with each.
    """
    size = len(scores.names)
    check_limit(max_parents)
    if size > MAX_TABULATED:
        raise TaskError(
            f"the exact optimum is computed for at most {MAX_TABULATED} variables, not {size}; use hill climbing"
        )
    return FoundNetwork.of(scores, name, best_network_of_tables(scores.local_tables(name, max_parents)))


def best_network_of_tables(local_tables: Sequence[Floats]) -> list[int]:
    """The parents in the best network of all, from every variable's score with every set of parents."""
    size = len(local_tables)
    tables = [best_of_subsets(table) for table in local_tables]
    sets = np.arange(2**size)
    sizes = np.bitwise_count(sets)
    best = np.full(2**size, -np.inf)
    best[0] = 0.0
    sink = np.zeros(2**size, dtype=np.int8)
    for count in range(1, size + 1):
        layer = sets[sizes == count]
        for variable in range(size):
            whole = layer[layer >> variable & 1 == 1]
            rest = whole ^ (1 << variable)
            low = rest & ((1 << variable) - 1)
            value = best[rest] + tables[variable][low | (rest >> variable + 1 << variable)]
            better = value > best[whole]
            best[whole[better]] = value[better]
            sink[whole[better]] = variable
    parents = [0] * size
    left = 2**size - 1
    while left:
        variable = int(sink[left])
        left ^= 1 << variable
        parents[variable] = _smallest_best(tables[variable], left, variable)
    return parents


def exact_in_order(
    scores: NetworkScores, order: Sequence[str], max_parents: int | None = None, *, name: ScoreName = "bic"
) -> FoundNetwork:
    """The best network in which parents come before their children in `order`: each variable's best parents.

    With more variables than can be tabulated, `max_parents` is needed.
    """
    size = len(scores.names)
    check_limit(max_parents)
    places = [scores.index_of[variable] for variable in checked_order(order, scores.names)]
    if size > MAX_TABULATED and max_parents is None:
        raise TaskError(f"with more than {MAX_TABULATED} variables, here {size}, give max_parents, e.g. 3")
    tables = scores.local_tables(name, max_parents) if size <= MAX_TABULATED else None
    parents = [0] * size
    before = 0
    for variable in places:
        if tables is not None:
            parents[variable] = _smallest_best(best_of_subsets(tables[variable]), before, variable)
        else:
            most = min(max_parents or 0, before.bit_count())
            sets = chain.from_iterable(combinations(bits(before), count) for count in range(most + 1))
            masks = (sum(1 << place for place in chosen) for chosen in sets)
            parents[variable] = max(masks, key=partial(scores.local_of, name, variable))
        before |= 1 << variable
    return FoundNetwork.of(scores, name, parents)


def checked_order(order: Sequence[str], variables: Sequence[str]) -> tuple[str, ...]:
    """`order`, if it names every variable once."""
    for variable in order:
        if variable not in variables:
            raise TaskError(f"the order names {variable!r}, which is none of the variables {', '.join(variables)}")
        if list(order).count(variable) > 1:
            raise TaskError(f"the order names {variable!r} twice")
    for variable in variables:
        if variable not in order:
            raise TaskError(f"the order leaves out the variable {variable!r}")
    return tuple(order)


def best_of_subsets(table: Floats) -> Floats:
    """For every set, the largest value of a table over its subsets."""
    best = table.copy()
    for place in range(len(table).bit_length() - 1):
        pairs = best.reshape(-1, 2, 2**place)
        np.maximum(pairs[:, 1], pairs[:, 0], out=pairs[:, 1])
    return best


def _smallest_best(best: Floats, candidates: int, variable: int) -> int:
    """A set of parents among `candidates` that has the best value, and no subset with the same."""
    chosen = candidates
    for place in bits(candidates):
        fewer = chosen ^ (1 << place)
        if best[squeezed(fewer, variable)] == best[squeezed(chosen, variable)]:
            chosen = fewer
    return chosen


def check_limit(max_parents: int | None) -> None:
    if max_parents is not None and max_parents < 0:
        raise TaskError(f"max_parents is {max_parents}; it must be 0 or more, or None for no limit")
