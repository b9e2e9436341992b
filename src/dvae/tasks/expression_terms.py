"""Expressions as DAGs: every distinct subterm is one node, and no node cares about the order of its operands.

A quotient a / b is the product of a and the reciprocal of b, so that sums and products, whose operands may be swapped,
are all there is with two operands. Where both operands are the same subterm, the node has one predecessor: `*` fed by
x alone is x * x. Equal subterms are found by digests, which cost the same however often a subterm is shared.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from dvae.dag import Dag

LEAVES = ("x", "1", "2", "3")
RECIPROCAL = "1/"
FUNCTIONS = ("sin", "exp", RECIPROCAL)
SUM, PRODUCT = "+", "*"
PAIRS = (SUM, PRODUCT)
ARITY = {**dict.fromkeys(LEAVES, (0, 0)), **dict.fromkeys(FUNCTIONS, (1, 1)), **dict.fromkeys(PAIRS, (1, 2))}

Term = int  # the place of a subterm among those of its expression


@dataclass
class Terms:
    """The distinct subterms of an expression that is being built, operands before what uses them."""

    labels: list[str] = field(default_factory=list)
    operands: list[tuple[Term, ...]] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    known: dict[bytes, Term] = field(default_factory=dict)

    def add(self, label: str, *operands: Term) -> Term:
        """The subterm `label` of these operands, found again where it is there."""
        distinct = sorted(set(operands), key=lambda term: (self.depths[term], self.digests[term]))
        digest = hashlib.blake2b(label.encode(), digest_size=16)
        for term in distinct:
            digest.update(self.digests[term])
        found = digest.digest()
        if found not in self.known:
            self.known[found] = len(self.labels)
            self.labels.append(label)
            self.operands.append(tuple(distinct))
            self.digests.append(found)
            self.depths.append(1 + max((self.depths[term] for term in distinct), default=0))
        return self.known[found]

    def quotient(self, dividend: Term, divisor: Term) -> Term:
        """dividend / divisor; 1 / divisor is the reciprocal itself."""
        inverse = self.add(RECIPROCAL, divisor)
        return inverse if self.labels[dividend] == "1" else self.add(PRODUCT, dividend, inverse)

    def dag(self, root: Term) -> Dag:
        """The DAG of a subterm: operands first, the deeper of two before the other."""
        place: dict[Term, int] = {}
        waiting = [root]
        while waiting:
            term = waiting[-1]
            missing = [operand for operand in self.operands[term] if operand not in place]
            if missing:
                waiting.append(missing[-1])
                continue
            waiting.pop()
            place.setdefault(term, len(place))
        edges = [(place[operand], place[term]) for term in place for operand in self.operands[term]]
        return Dag(tuple(self.labels[term] for term in place), tuple(edges))


def is_expression(dag: Dag) -> bool:
    """Whether every node has as many operands as it must, and there is one result."""
    return arity_problem(dag) is None and len(dag.sinks()) == 1


def arity_problem(dag: Dag) -> str | None:
    """What is wrong with the operands of a node, in words."""
    for label, operands in zip(dag.types, dag.predecessors(), strict=True):
        low, high = ARITY.get(str(label), (0, -1))
        if high < 0:
            return f"{label!r} is no part of an expression"
        if not low <= len(operands) <= high:
            allowed = f"{low}" if low == high else f"{low} or {high}"
            return f"a node {label!r} has {len(operands)} operands, and {allowed} are allowed"
    return None


def merged(dag: Dag) -> Dag:
    """The expression with equal subterms merged, in the order of nodes that depends on nothing but what it means."""
    terms, place = Terms(), list[Term]()
    for label, operands in zip(dag.types, dag.predecessors(), strict=True):
        place.append(terms.add(str(label), *(place[operand] for operand in operands)))
    return terms.dag(place[dag.sinks()[0]])
