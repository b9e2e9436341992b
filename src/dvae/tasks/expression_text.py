"""Expressions as text: `1 / 3 + x + sin(x * x)`, with the precedence of Python. Read by hand, never evaluated."""

from __future__ import annotations

import re

from dvae.dag import Dag
from dvae.errors import FormatError
from dvae.tasks.expression_terms import FUNCTIONS, LEAVES, PRODUCT, RECIPROCAL, SUM, Term, Terms

CALLS = tuple(name for name in FUNCTIONS if name != RECIPROCAL)
TOKEN = re.compile(r"\s*(sin|exp|[x123+*/()])")
MAX_TOKENS = 10_000
DEEPEST = 100  # brackets within brackets
WHOLE, FACTOR, ATOM = range(3)  # how tightly a text holds together: a sum, a product, anything else


def parse(text: str, where: str) -> Dag:
    """The DAG of an expression; errors open with `where`."""
    reader = _Reader(_tokens(text, where), where)
    root = reader.sum_of_products()
    reader.end()
    return reader.terms.dag(root)


def _tokens(text: str, where: str) -> list[str]:
    found, place, text = [], 0, text.rstrip()
    while place < len(text):
        token = TOKEN.match(text, place)
        if token is None:
            rest = text[place:].strip()[:20]
            raise FormatError(f"{where}: {rest!r} is no part of an expression; it has x, 1, 2, 3, +, *, /, sin, exp")
        found.append(token[1])
        place = token.end()
        if len(found) > MAX_TOKENS:
            raise FormatError(f"{where}: the expression has more than {MAX_TOKENS:,} parts")
    return found


class _Reader:
    def __init__(self, tokens: list[str], where: str) -> None:
        self.tokens, self.where, self.place, self.depth = tokens, where, 0, 0
        self.terms = Terms()

    def sum_of_products(self) -> Term:
        total = self._product()
        while self._next() == "+":
            self.place += 1
            total = self.terms.add(SUM, total, self._product())
        return total

    def end(self) -> None:
        if self._next() is not None:
            raise self._error("the end")

    def _product(self) -> Term:
        found = self._atom()
        while self._next() in ("*", "/"):
            divides = self._take() == "/"
            other = self._atom()
            found = self.terms.quotient(found, other) if divides else self.terms.add(PRODUCT, found, other)
        return found

    def _atom(self) -> Term:
        token = self._next()
        if token in LEAVES:
            return self.terms.add(self._take())
        if token in CALLS:
            self.place += 1
            if self._next() != "(":
                raise self._error(f"( after {token}")
            return self.terms.add(token, self._bracket())
        if token == "(":
            return self._bracket()
        raise self._error("x, 1, 2, 3, sin(, exp( or (")

    def _bracket(self) -> Term:
        self.place += 1
        self.depth += 1
        if self.depth > DEEPEST:
            raise FormatError(f"{self.where}: more than {DEEPEST} brackets are open at once")
        inside = self.sum_of_products()
        if self._next() != ")":
            raise self._error(")")
        self.place += 1
        self.depth -= 1
        return inside

    def _next(self) -> str | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _take(self) -> str:
        self.place += 1
        return self.tokens[self.place - 1]

    def _error(self, expected: str) -> FormatError:
        token = self._next()
        came = "the expression ends" if token is None else f"part {self.place + 1} is {token!r}"
        return FormatError(f"{self.where}: {came} where {expected} was expected")


def format_expression(dag: Dag) -> str:
    """The text of an expression; `parse` gives back an equal DAG."""
    return _texts(dag)[dag.sinks()[0]][0]


def _texts(dag: Dag) -> list[tuple[str, int]]:
    """The text of every node, and how tightly it holds together."""
    found: list[tuple[str, int]] = []
    inputs = dag.predecessors()
    for label, operands in zip(dag.types, inputs, strict=True):
        if label in LEAVES:
            found.append((str(label), ATOM))
        elif label == RECIPROCAL:
            found.append((f"1 / {_held(found[operands[0]], ATOM)}", FACTOR))
        elif label in CALLS:
            found.append((f"{label}({found[operands[0]][0]})", ATOM))
        elif label == SUM:
            left, right = _looser_first(operands, found)
            found.append((f"{found[left][0]} + {_held(found[right], FACTOR)}", WHOLE))
        else:
            left, right = _dividend_first(operands, dag) or _looser_first(operands, found)
            divides = dag.types[right] == RECIPROCAL
            last = found[inputs[right][0] if divides else right]
            found.append((f"{_held(found[left], FACTOR)} {'/' if divides else '*'} {_held(last, ATOM)}", FACTOR))
    return found


def _looser_first(operands: list[int], found: list[tuple[str, int]]) -> tuple[int, int]:
    """What would need brackets on the right stands on the left."""
    first, second = operands[0], operands[-1]
    return (second, first) if found[second][1] < found[first][1] else (first, second)


def _dividend_first(operands: list[int], dag: Dag) -> tuple[int, int] | None:
    """A product with a reciprocal is a quotient, unless its dividend is 1: that would be the reciprocal alone."""
    first, second = operands[0], operands[-1]
    if dag.types[first] == RECIPROCAL and dag.types[second] != RECIPROCAL:
        first, second = second, first
    if dag.types[second] != RECIPROCAL:
        return None
    return (second, first) if dag.types[first] == "1" else (first, second)


def _held(text: tuple[str, int], tightness: int) -> str:
    return text[0] if text[1] >= tightness else f"({text[0]})"
