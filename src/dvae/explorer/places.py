"""How the page names a DAG: by its number among the known ones, by a latent, or by itself.

A place is small and says everything, so the page can keep it, send it back, and the server needs no memory of pages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dvae.dag import Dag, from_plain, to_plain
from dvae.errors import DagError, DvaeError
from dvae.tasks import Task

MAX_NODES = 1_500  # of a DAG that a page may send
MAX_EDGES = 20_000
MAX_TEXT = 100_000  # characters of a DAG that is typed
MAX_NAME = 300  # characters of what the page calls a DAG
MAX_CONDITIONS = 100
MAX = 1e300  # of a condition
MAX_LATENT = 1e4  # in absolute value; a posterior's means are of order one


class RequestError(DvaeError, ValueError):
    """The page, or something that speaks in its place, sent an impossible request."""


@dataclass(frozen=True)
class Known:
    """One of the DAGs the map is drawn from."""

    index: int


@dataclass(frozen=True)
class Latent:
    """Whatever DAG a latent decodes to."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Given:
    """A DAG somebody typed, edited or scored; `called` is what the page calls it, "Your DAG" where it is empty."""

    dag: Dag
    called: str = ""


@dataclass(frozen=True)
class Changed:
    """What the DAG of another place would be if it met these conditions, each a name and a number."""

    base: Known | Latent | Given
    given: tuple[tuple[str, float], ...]


Place = Known | Latent | Given | Changed


def to_json(place: Place) -> dict[str, Any]:
    match place:
        case Known(index):
            return {"known": index}
        case Latent(values):
            return {"latent": list(values)}
        case Given(dag, called):
            return to_plain(dag) | ({"called": called} if called else {})
        case Changed(base, given):
            return {"base": to_json(base), "given": dict(given)}


def from_json(payload: object, *, known: int, latent: int) -> Place:
    """The place a page sent, for a space of `known` DAGs and latents of `latent` numbers."""
    if not isinstance(payload, Mapping):
        raise RequestError("the page sent no DAG")
    if "base" in payload:
        base, given = payload["base"], payload.get("given")
        nested = isinstance(base, Mapping) and "base" in base
        if nested or not isinstance(given, Mapping) or len(given) > MAX_CONDITIONS:
            raise RequestError("the page sent conditions without a DAG")
        place = from_json(base, known=known, latent=latent)
        assert not isinstance(place, Changed)
        return Changed(place, tuple((str(name), number(value, -MAX, MAX, str(name))) for name, value in given.items()))
    if "known" in payload:
        return Known(whole_number(payload["known"], 0, known - 1, "the number of a known DAG"))
    if "latent" in payload:
        values = payload["latent"]
        if not isinstance(values, list) or len(values) != latent:
            raise RequestError(f"a latent of this model is a list of {latent} numbers")
        return Latent(tuple(number(value, -MAX_LATENT, MAX_LATENT, "an entry of a latent") for value in values))
    types, edges = payload.get("types"), payload.get("edges")
    if not isinstance(types, list) or not isinstance(edges, list):
        raise RequestError("the page sent something that is no DAG")
    _check_size(len(types), len(edges))
    called = payload.get("called", "")
    if not isinstance(called, str) or len(called) > MAX_NAME:
        raise RequestError(f"the name of a DAG is a text of at most {MAX_NAME} characters")
    try:
        return Given(from_plain(payload), called)
    except (DagError, TypeError) as error:
        raise RequestError(f"the page sent something that is no DAG: {error}") from None


def from_text(text: object, task: Task) -> Given:
    """The DAG that somebody typed or pasted, in a notation of the task."""
    if not isinstance(text, str) or not text.strip():
        raise RequestError("type or paste a DAG first")
    if len(text) > MAX_TEXT:
        raise RequestError(f"the text is longer than {MAX_TEXT:,} characters")
    dag = task.parse(text)
    _check_size(len(dag), len(dag.edges))
    return Given(dag)


def _check_size(nodes: int, edges: int) -> None:
    if nodes > MAX_NODES or edges > MAX_EDGES:
        raise RequestError(f"a DAG on this page has at most {MAX_NODES:,} nodes and {MAX_EDGES:,} edges")


def number(value: object, low: float, high: float, meaning: str) -> float:
    """A finite number between two bounds."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RequestError(f"{meaning} must be a number")
    if not low <= value <= high or not math.isfinite(value):
        raise RequestError(f"{meaning} must be from {low:g} to {high:g}")
    return float(value)


def whole_number(value: object, low: int, high: int, meaning: str) -> int:
    """An integer between two bounds."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise RequestError(f"{meaning} must be a whole number")
    if not low <= value <= high:
        raise RequestError(f"{meaning} must be from {low} to {high}, not {value}")
    return value


def choice(value: object, choices: tuple[str, ...], meaning: str) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise RequestError(f"{meaning} must be one of {', '.join(choices)}")
    return value
