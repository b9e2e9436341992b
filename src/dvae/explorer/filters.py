"""Filters as they are written on the page: `score > 3, nodes <= 8, A -> B, not count(X) = 0, split = test`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from dvae.explorer.places import RequestError
from dvae.explorer.quantities import Mask, Quantities, Quantity

MAX_TEXT = 500  # characters of a filter
MAX_CLAUSES = 20
EXAMPLE = "nodes <= 8, A -> B"
_OUTSIDE = r'(?=(?:[^"]*"[^"]*")*[^"]*$)'  # quotation marks
_BETWEEN = re.compile(rf"(?:,|\s+and\s+){_OUTSIDE}", re.IGNORECASE)
_COMPARED = re.compile(rf"(.+?)\s*(<=|>=|!=|==|=|<|>){_OUTSIDE}\s*(.+)")
_ARROW = re.compile(rf"(.+?)\s*(?:->|→){_OUTSIDE}\s*(.+)")
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


def matches(text: object, quantities: Quantities) -> Mask:
    """Which DAGs a filter lets through; all of them where it is empty."""
    found = np.ones(len(quantities.dags), dtype=bool)
    if text is None:
        return found
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise RequestError(f"a filter is a text of at most {MAX_TEXT} characters, such as {EXAMPLE}")
    clauses = [clause for part in _BETWEEN.split(text) if (clause := part.strip())]
    if len(clauses) > MAX_CLAUSES:
        raise RequestError(f"a filter has at most {MAX_CLAUSES} parts, not {len(clauses)}")
    for clause in clauses:
        found &= _clause(clause, quantities)
    return found


def _clause(text: str, quantities: Quantities) -> Mask:
    negated = text.lower().startswith("not ")
    clause = text[4:].strip() if negated else text
    found = _edge_or_comparison(clause, quantities)
    return ~found if negated else found


def _edge_or_comparison(clause: str, quantities: Quantities) -> Mask:
    arrow = _ARROW.fullmatch(clause)
    if arrow is not None:
        return quantities.has_edge(_bare(arrow[1]), _bare(arrow[2]))
    compared = _COMPARED.fullmatch(clause)
    if compared is None:
        raise RequestError(f"{clause!r} is no filter; write a comparison or an edge, such as {EXAMPLE}")
    name, sign, value = _bare(compared[1]), compared[2], _bare(compared[3])
    if quantities.is_category(name) and sign in ("=", "==", "!="):
        found = quantities.has_value(name, value)
        return ~found if sign == "!=" else found
    return _compared(quantities.get(name), sign, value)


def _compared(quantity: Quantity, sign: str, value: str) -> Mask:
    if quantity.words:
        if sign not in ("=", "==", "!=") or value not in quantity.words:
            words = " or ".join(f"{quantity.name} = {word}" for word in quantity.words)
            raise RequestError(f"{quantity.name} is one of a few words: write {words}")
        number = float(quantity.words.index(value))
    else:
        try:
            number = float(value.replace("_", ""))
        except ValueError:
            raise RequestError(f"{quantity.name} is compared with a number, not with {value!r}") from None
    known = ~np.isnan(quantity.values)
    found: Mask = np.asarray(_OPERATORS[sign](quantity.values, number)) & known
    return found


def _bare(text: str) -> str:
    """A name without quotation marks around it."""
    stripped = text.strip()
    return stripped[1:-1] if len(stripped) > 1 and stripped[0] == stripped[-1] == '"' else stripped
