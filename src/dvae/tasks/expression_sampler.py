"""Random expressions of the grammar that the published data were drawn from.

S -> S + T | S * T | S / T | T
T -> (S) | sin(S) | exp(S) | x | 1 | 2 | 3
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from dvae.dag import Dag
from dvae.tasks.expression_terms import LEAVES, PRODUCT, SUM, Term, Terms

MIN_RULES, MAX_RULES = 11, 15  # of the grammar, in one derivation
LEAF_SHARE = 0.65  # of the times that T is derived
CALLS = ("sin", "exp", None)  # None: brackets


def random_expressions(seed: int, most_nodes: int) -> Iterator[Dag]:
    """Expressions one after another, without an end; none has more than `most_nodes` nodes."""
    chance = random.Random(seed)
    while True:
        derivation = _Derivation(chance)
        try:
            dag = derivation.terms.dag(derivation.whole())
        except _TooLong:
            continue
        if derivation.rules >= MIN_RULES and len(dag) <= most_nodes:
            yield dag


class _TooLong(Exception):
    """A derivation has used more rules than an expression of the data."""


class _Derivation:
    def __init__(self, chance: random.Random) -> None:
        self.chance, self.terms, self.rules = chance, Terms(), 0

    def whole(self) -> Term:
        """S: one T or several, joined from the left."""
        self._use()
        found = self._part()
        while self.chance.random() < 0.5:
            self._use()
            kind, other = self.chance.choice("+*/"), self._part()
            if kind == "/":
                found = self.terms.quotient(found, other)
            else:
                found = self.terms.add(SUM if kind == "+" else PRODUCT, found, other)
        return found

    def _part(self) -> Term:
        """T."""
        self._use()
        if self.chance.random() < LEAF_SHARE:
            return self.terms.add(self.chance.choice(LEAVES))
        call, inside = self.chance.choice(CALLS), self.whole()
        return inside if call is None else self.terms.add(call, inside)

    def _use(self) -> None:
        self.rules += 1
        if self.rules > MAX_RULES:
            raise _TooLong
