"""JSONL, one DAG per line: `{"types": ["input", "conv3", "output"], "edges": [[0, 1], [1, 2]], "score": 0.73}`.

Nodes come in any order. `score` and `split` ("train", "valid" or "test") may be left out; a `name` of any form may
stand there and is not kept. Three more may be there, all optional: `node`, columns with a value for each node
(`{"size": [3, null, 5], "kind": ["a", "b", null]}`: a string is a category, a number a number, null absent), `edge`,
columns with a value for each edge, in the order of `edges`, and `properties`, numbers of the whole graph.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, get_args

from dvae.dag.columns import finite
from dvae.dag.limits import check_size
from dvae.dag.lines import FilePath, numbered_lines, write_lines
from dvae.dag.value import Dag
from dvae.errors import DagError, FormatError
from dvae.files import strict_json

_REQUIRED_KEYS = ("types", "edges")
_NAMED_KEYS = ("node", "edge", "properties")
_KNOWN_KEYS = (*_REQUIRED_KEYS, "score", "split", "name", *_NAMED_KEYS)

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, slots=True)
class ScoredDag:
    """A DAG and its score, a finite number, or None where it has none; `split` is the part of the data it is in."""

    dag: Dag
    score: float | None = None
    split: Split | None = None

    def __post_init__(self) -> None:
        if self.score is not None:
            object.__setattr__(self, "score", _finite(self.score))
        object.__setattr__(self, "split", _split(self.split))


def read_jsonl(path: FilePath, *, limit: int | None = None) -> Iterator[ScoredDag]:
    """The DAGs of a file, at most `limit` of them, read as they are asked for."""
    if limit is not None and limit < 0:
        raise ValueError(f"limit is {limit}; it must be 0 or more, or None for all")
    return islice(_all_of(path), limit)


def load_jsonl(path: FilePath) -> list[ScoredDag]:
    """All DAGs of a file; if one line is bad, none."""
    return list(read_jsonl(path))


def write_jsonl(path: FilePath, items: Iterable[Dag | ScoredDag]) -> int:
    """Writes one DAG per line, all or none, as gzip if the name ends in .gz. Returns how many."""
    return write_lines(path, map(format_line, items))


def to_plain(dag: Dag) -> dict[str, object]:
    """A DAG as JSON has it: its types and edges as lists, and its columns and properties where it has any."""
    plain: dict[str, object] = {"types": list(dag.types), "edges": [list(edge) for edge in dag.edges]}
    for key, columns in (("node", dag.node), ("edge", dag.edge)):
        if columns:
            plain[key] = {name: list(column) for name, column in columns.items()}
    if dag.properties:
        plain["properties"] = dict(dag.properties)
    return plain


def from_plain(plain: Mapping[str, Any]) -> Dag:
    """The DAG that `to_plain` described; other keys are passed over."""
    return Dag(plain["types"], plain["edges"], **{key: plain[key] for key in _NAMED_KEYS if key in plain})


def format_line(item: Dag | ScoredDag) -> str:
    """One DAG as JSON, without the line end."""
    scored = item if isinstance(item, ScoredDag) else ScoredDag(item)
    record: dict[str, object] = to_plain(scored.dag)
    if scored.score is not None:
        record["score"] = scored.score
    if scored.split is not None:
        record["split"] = scored.split
    return json.dumps(record)


def parse_line(text: str, where: str) -> ScoredDag:
    """The DAG of one line; `where` (file and line) opens the message of every error."""
    record = parse_json(text, where)
    try:
        return _scored_dag(record)
    except DagError as error:
        raise FormatError(f"{where}: {error}") from None


def parse_json(text: str, where: str) -> Any:
    """`json.loads`, without its tolerance for NaN, Infinity and repeated keys."""
    try:
        return strict_json(text)
    except json.JSONDecodeError as error:
        problem = f"not valid JSON ({error.msg}, column {error.colno})"
    except RecursionError:
        problem = "not a DAG (lists are nested too deeply)"
    except ValueError as error:  # from repeated keys and constants, or Python's limit on the digits of an integer
        problem = f"not valid JSON ({error})"
    raise FormatError(f"{where}: {problem}") from None


def _all_of(path: FilePath) -> Iterator[ScoredDag]:
    empty = True
    for number, text in numbered_lines(path):
        empty = False
        yield parse_line(text, f"{path}:{number}")
    if empty:
        raise FormatError.at(path, 1, "the file holds no DAG")


def _scored_dag(record: object) -> ScoredDag:
    if not isinstance(record, dict):
        raise DagError(f'a DAG is an object with "types" and "edges", not {reprlib.repr(record)}')
    for key in _REQUIRED_KEYS:
        if key not in record:
            raise DagError(f'the key "{key}" is missing')
        if not isinstance(record[key], list):
            raise DagError(f'"{key}" is {reprlib.repr(record[key])}; it must be a list')
    for key in record:
        if key not in _KNOWN_KEYS:
            raise DagError(f"the key {reprlib.repr(key)} is none of {', '.join(_KNOWN_KEYS)}")
    check_size(len(record["types"]), len(record["edges"]))
    dag = from_plain(record)
    return ScoredDag(dag, _finite(record["score"]) if "score" in record else None, _split(record.get("split")))


def _split(value: object) -> Split | None:
    found = next((split for split in SPLITS if split == value), None)
    if found is None and value is not None:
        raise DagError(f'"split" is {reprlib.repr(value)}; it must be one of {", ".join(SPLITS)}')
    return found


def _finite(score: object) -> float:
    number = finite(score)
    if number is not None:
        return float(number)
    raise DagError(f"the score is {reprlib.repr(score)}; it must be a finite number")
