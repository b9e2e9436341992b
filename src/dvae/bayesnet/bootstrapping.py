"""Networks learned from resampled tables, in parallel; what is done stays done when the process is killed.

Each replicate depends on the seed and its own number alone, so the result is the same however often it was stopped,
however many processes worked on it, and whether it was begun with fewer replicates.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from dvae.bayesnet.confidence import Confidence
from dvae.bayesnet.equivalence import network_class
from dvae.bayesnet.knowledge import Knowledge
from dvae.bayesnet.learning import learn
from dvae.bayesnet.network import Network
from dvae.bayesnet.parameters import PRIOR_COUNT, fit
from dvae.bayesnet.replicates import run_replicates
from dvae.bayesnet.rows import states_of
from dvae.bayesnet.table import Table
from dvae.dag import Dag
from dvae.errors import ConfigError, DvaeError, StorageError, TaskError
from dvae.files import strict_json
from dvae.progress import Progress

FORMAT = "dvae-bootstrap/1"


@dataclass(frozen=True)
class LearnOptions:
    """How `learn` is called: the same for every resampled table."""

    score: str = "auto"
    algorithm: str = "hill-climbing"
    knowledge: Knowledge = field(default_factory=Knowledge)
    iss: float | None = None
    seed: int = 0

    def network(self, table: Table) -> Network:
        """The structure that is learned from a table."""
        found = learn(
            table,
            score=self.score,
            algorithm=self.algorithm,
            knowledge=self.knowledge,
            iss=self.iss,
            seed=self.seed,
        )
        return Network.of(found.dag, states_of(table), table.names)


def bootstrap(
    table: Any,
    replicates: int = 200,
    *,
    options: LearnOptions | None = None,
    workers: int = 1,
    store: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Confidence:
    """The confidence of every edge, from networks of `replicates` tables of rows drawn with replacement.

    `store` is a file that keeps each network as it is learned; a later call with the same table and options goes on
    from there. `workers` processes share the work.
    """
    if replicates < 1 or workers < 1:
        raise TaskError(f"{replicates} replicates by {workers} workers were asked for; both must be at least 1")
    table, options = Table.of(table), options or LearnOptions()
    with _opened(store, _identity(table, options)) as book:
        if progress is not None:
            progress.skip(sum(number < replicates for number in book.found))
        waiting = [number for number in range(replicates) if number not in book.found]
        for number, edges in run_replicates(table, options, waiting, workers):
            book.add(number, edges)
            if progress is not None:
                progress.update()
        networks = [_network(table, book.found[number]) for number in range(replicates)]
    return Confidence.of_classes(table.names, (network_class(each, options.knowledge) for each in networks))


def averaged_network(
    table: Any,
    confidence: Confidence,
    threshold: float | None = None,
    *,
    knowledge: Knowledge | None = None,
    prior: float = PRIOR_COUNT,
) -> Network:
    """The network of the edges that are sure enough, with parameters from the table.

    It keeps to the directions that are allowed; required edges are in every network, so in this one, too.
    """
    table = Table.of(table)
    place = {name: number for number, name in enumerate(table.names)}
    numbers = np.array([not discrete for discrete in table.is_discrete])
    possible = ~np.eye(len(place), dtype=np.bool_) & ~(numbers[:, None] & ~numbers[None, :])
    allowed = (knowledge or Knowledge()).constraints(table.names, possible).allowed
    edges = confidence.averaged(threshold, lambda source, target: bool(allowed[place[source], place[target]]))
    dag = Dag(table.names, tuple((place[source], place[target]) for source, target in edges))
    return fit(Network.of(dag, states_of(table), table.names), table, prior=prior)


def replicates_done(table: Any, store: str | os.PathLike[str], *, options: LearnOptions | None = None) -> int:
    """How many replicates a file of `bootstrap` holds; one that was made from anything else is refused."""
    path = Path(store)
    if not path.is_file():
        return 0
    found, _ = _read(path.read_bytes(), path, _identity(Table.of(table), options or LearnOptions()))
    return len(found or {})


def _network(table: Table, edges: list[list[int]]) -> Network:
    dag = Dag(table.names, tuple((source, target) for source, target in edges))
    return Network.of(dag, states_of(table), table.names)


def _identity(table: Table, options: LearnOptions) -> dict[str, Any]:
    """What a file of replicates was made from."""
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(json.dumps([column.name, column.kind, column.levels]).encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    settings = json.loads(json.dumps(asdict(options)))
    return {"format": FORMAT, "table": digest.hexdigest(), "options": settings}


class _Book:
    """The replicates that are done, by number, and the file that keeps them."""

    def __init__(self, found: dict[int, list[list[int]]], file: FileIO | None, path: Path | None = None) -> None:
        self.found, self._file, self._path = found, file, path

    def add(self, number: int, edges: list[list[int]]) -> None:
        self.found[number] = edges
        if self._file is not None:
            with _said(self._path):
                _append(self._file, [number, edges])
                os.fsync(self._file.fileno())


@contextmanager
def _opened(store: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> Iterator[_Book]:
    if store is None:
        yield _Book({}, None)
        return
    path = Path(store)
    with _said(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b", buffering=0)  # a buffer would write again, on closing, what the disk refused
    with file, _alone(file, path):
        with _said(path):
            file.seek(0)
            found, whole = _read(file.read(), path, identity)
            file.truncate(whole)
            if found is None:
                _append(file, identity)
        yield _Book(found or {}, file, path)


def _append(file: FileIO, value: object) -> None:
    line = json.dumps(value).encode() + b"\n"
    while line:
        line = line[file.write(line) :]


@contextmanager
def _said(path: Path | None) -> Iterator[None]:
    """A disk that is full or may not be written to, with the name of the file."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DvaeError):
            raise
        problem = (error.strerror or str(error)).lower()
        raise StorageError(f"{path}: cannot be written: {problem}; what it holds is kept") from error


def _read(content: bytes, path: Path, identity: Mapping[str, Any]) -> tuple[dict[int, list[list[int]]] | None, int]:
    """What a file holds and how long it is without a line cut off by a kill; None if not even its first is whole."""
    *lines, tail = content.split(b"\n")
    whole = len(content) - len(tail)
    if not lines:
        return None, 0
    try:
        head, *rest = [strict_json(line.decode()) for line in lines]
        found = {int(number): [[int(u), int(v)] for u, v in edges] for number, edges in rest}
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise ConfigError(f"{path}: this is no file of replicates; choose another, or remove it") from None
    if head != identity:
        raise ConfigError(f"{path}: its replicates were made from another table or with other options; remove it first")
    return found, whole


@contextmanager
def _alone(file: FileIO, path: Path) -> Iterator[None]:
    """Refuses a second process that would write the same file; a killed one holds nothing."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # not a system of the Unix family
        pass
    except OSError:
        raise ConfigError(f"{path}: another process is writing these replicates; wait for it, or stop it") from None
    yield
