"""The ledger of a search in an SQLite file, by Python's own driver: nothing to install, many processes at once.

Every change is one transaction that holds the file from its beginning (BEGIN IMMEDIATE), so that of all who try, one
only takes a waiting trial. A running trial whose worker has not been heard of for its patience waits again, under its
own number.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dvae.dag import Dag
from dvae.dag.jsonl import format_line
from dvae.errors import MissingError, StudyError
from dvae.studies.ledger import FINISHED, LOST, Direction, Ledger, Outcome, Trial
from dvae.studies.reading import dag_from, plain_value, trial_from
from dvae.studies.worker import HEARTBEAT_SECONDS, MISSED_HEARTBEATS

APPLICATION = 0x64766165  # "dvae", in the header of our files
VERSION = 1
LOCK_SECONDS = 60.0  # to wait for another process's transaction
HEADER_BYTES, APPLICATION_PLACE = 100, slice(68, 72)
TABLES = (
    "CREATE TABLE studies (study INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
    "CREATE TABLE notes (study INTEGER, key TEXT, value TEXT NOT NULL, PRIMARY KEY (study, key))",
    "CREATE TABLE trials (study INTEGER, number INTEGER, dag TEXT NOT NULL, score REAL, state TEXT NOT NULL, "
    "error TEXT, attributes TEXT NOT NULL, seen REAL, patience REAL, PRIMARY KEY (study, number))",
    "CREATE TABLE reports (study INTEGER, number INTEGER, step INTEGER, value REAL, PRIMARY KEY (study, number, step))",
)
NAMES = ("studies", "notes", "trials", "reports")
MAX_VALUE_BYTES = 256 * 2**20  # of one text in a file
SELECT = "SELECT number, dag, score, state, error, attributes FROM trials"
OF_TRIAL = "WHERE study = ? AND number = ?"


def is_ledger_file(path: Path) -> bool:
    """Whether `path` is a file of ours, by its header."""
    try:
        with path.open("rb") as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return False
    return header.startswith(b"SQLite format 3\0") and header[APPLICATION_PLACE] == APPLICATION.to_bytes(4, "big")


def study_names(path: Path) -> list[str]:
    """The studies of a file, in the order they were begun."""
    with _said(path), closing(_connect(path, create=False)) as connection:
        return [str(name) for (name,) in connection.execute("SELECT name FROM studies ORDER BY rowid")]


class SqliteLedger(Ledger):
    """One study of a file; `create` makes it if it is not there."""

    def __init__(
        self, path: Path, name: str, *, create: Direction | None = None, heartbeat: float = HEARTBEAT_SECONDS
    ) -> None:
        self.path, self.name, self.patience = path, name, heartbeat * MISSED_HEARTBEATS
        self._lock = threading.RLock()
        self._connection = _connect(path, create=create is not None)
        self._closing = weakref.finalize(self, self._connection.close)
        self._study = self._study_number(create is not None)
        self._finished: list[Trial] = []  # the first trials, up to one that is not finished

    def close(self) -> None:
        self._closing()

    def describe(self, key: str, value: Any) -> None:
        with self._transaction() as connection:
            self._write_note(connection, key, value)

    def description(self) -> dict[str, Any]:
        rows = self._rows("SELECT key, value FROM notes WHERE study = ?", self._study)
        return {str(key): plain_value(value, f"{self.path}, {key!s:.40}") for key, value in rows}

    def claim(self, key: str, value: Any, free: Callable[[Any], bool]) -> Any:
        with self._transaction() as connection:
            row = connection.execute("SELECT value FROM notes WHERE study = ? AND key = ?", (self._study, key))
            found = row.fetchone()
            before = None if found is None else plain_value(found[0], f"{self.path}, {key}")
            if free(before):
                self._write_note(connection, key, value)
            return before

    def propose(self, dag: Dag, attributes: Mapping[str, Any]) -> int:
        with self._transaction() as connection:
            (number,) = connection.execute(
                "SELECT coalesce(max(number) + 1, 0) FROM trials WHERE study = ?", (self._study,)
            ).fetchone()
            connection.execute(
                "INSERT INTO trials (study, number, dag, state, attributes) VALUES (?, ?, ?, 'waiting', ?)",
                (self._study, number, format_line(dag), json.dumps(dict(attributes))),
            )
        return int(number)

    def take(self, worker: str) -> Trial | None:
        with self._transaction() as connection:
            row = connection.execute(
                f"{SELECT} WHERE study = ? AND state = 'waiting' ORDER BY number LIMIT 1", (self._study,)
            ).fetchone()
            if row is None:
                return None
            number, dag, _, _, error, attributes = row
            taken = self._trial((number, dag, None, "running", error, attributes))
            noted = json.dumps({**taken.attributes, "worker": worker})
            connection.execute(
                f"UPDATE trials SET state = 'running', attributes = ?, seen = ?, patience = ? {OF_TRIAL}",
                (noted, time.time(), self.patience, self._study, number),
            )
        return replace(taken, attributes={**taken.attributes, "worker": worker})

    def alive(self, number: int) -> None:
        with self._transaction() as connection:
            connection.execute(f"UPDATE trials SET seen = ? {OF_TRIAL}", (time.time(), self._study, number))

    def report(self, number: int, step: int, value: float) -> None:
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO reports VALUES (?, ?, ?, ?)", (self._study, number, step, float(value))
            )

    def reports_of_finished(self) -> list[dict[int, float]]:
        rows = self._rows(
            "SELECT number, step, value FROM reports JOIN trials USING (study, number) WHERE study = ? "
            f"AND state IN {FINISHED} ORDER BY number, step",
            self._study,
        )
        found: dict[int, dict[int, float]] = {}
        for number, step, value in rows:
            if isinstance(step, int) and isinstance(value, float):  # NaN comes back as None
                found.setdefault(number, {})[step] = value
        return list(found.values())

    def finish(self, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> bool:
        with self._transaction() as connection:
            row = connection.execute(
                f"SELECT state, attributes FROM trials {OF_TRIAL}", (self._study, number)
            ).fetchone()
            if row is None:
                raise StudyError(f"{self.path} holds no trial {number} of {self.name!r} any more")
            if row[0] in FINISHED:
                return False
            noted = json.dumps({**self._noted(number, row[1]), **attributes})
            connection.execute(
                f"UPDATE trials SET state = ?, score = ?, error = ?, attributes = ? {OF_TRIAL}",
                (outcome.state, outcome.score, outcome.error, noted, self._study, number),
            )
        return True

    def release(self, number: int) -> None:
        with self._transaction() as connection:
            connection.execute(
                f"UPDATE trials SET state = 'waiting' {OF_TRIAL} AND state = 'running'", (self._study, number)
            )

    def reclaim(self) -> list[int]:
        # A clock that was set back must not keep a dead worker's trial for ever: both directions count.
        silent = "study = ? AND state = 'running' AND abs(? - seen) > patience"
        if not self._rows(f"SELECT 1 FROM trials WHERE {silent} LIMIT 1", self._study, time.time()):
            return []
        with self._transaction() as connection:
            rows = connection.execute(
                f"SELECT number, attributes FROM trials WHERE {silent} ORDER BY number", (self._study, time.time())
            ).fetchall()
            for number, noted in rows:
                known = self._noted(number, noted)
                counted = json.dumps({**known, LOST: _count(known.get(LOST, 0)) + 1})
                connection.execute(
                    f"UPDATE trials SET state = 'waiting', attributes = ? {OF_TRIAL}", (counted, self._study, number)
                )
        return [number for number, _ in rows]

    def trials(self) -> list[Trial]:
        with self._lock:
            known = len(self._finished)
            rows = self._rows(f"{SELECT} WHERE study = ? AND number >= ? ORDER BY number", self._study, known)
            newer = [self._trial(row) for row in rows]
            for trial in newer:
                if not trial.finished:
                    break
                self._finished.append(trial)
            return self._finished[:known] + newer

    def _trial(self, row: tuple[Any, ...]) -> Trial:
        number, text, score, state, error, attributes = row
        where = f"{self.path}, trial {number!r:.40}"
        return trial_from(number, dag_from(text, where), score, state, error, self._noted(number, attributes), where)

    def _noted(self, number: Any, attributes: Any) -> dict[str, Any]:
        where = f"{self.path}, trial {number!r:.40}"
        noted = plain_value(attributes, where)
        if not isinstance(noted, dict):
            raise StudyError(f"{where}: its attributes are not a table")
        return noted

    def _write_note(self, connection: sqlite3.Connection, key: str, value: Any) -> None:
        connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (self._study, key, json.dumps(value)))

    def _study_number(self, create: bool) -> int:
        if create:
            with self._transaction() as connection:
                connection.execute("INSERT OR IGNORE INTO studies (name) VALUES (?)", (self.name,))
        rows = self._rows("SELECT study FROM studies WHERE name = ?", self.name)
        if not rows:
            known = ", ".join(study_names(self.path)) or "none"
            raise StudyError(f"{self.path} holds no study {self.name!r} (it holds: {known})")
        if not isinstance(rows[0][0], int):
            raise StudyError(f"{self.path} is damaged: the study {self.name!r} has no number")
        return int(rows[0][0])

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock, _said(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _said(self.path), _immediate(self._connection):
            yield self._connection


def _connect(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection to a file of ours, which is made if it is not there and may be."""
    if not path.is_file():
        if not create:
            raise MissingError(f"{path} is not there: start a study with dvae search --storage dvae:///{path}")
        path.parent.mkdir(parents=True, exist_ok=True)
    with _said(path):
        # Autocommit: transactions begin where we say so. Threads share the connection under the ledger's lock.
        connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Makes the tables of an empty file, and refuses a file that is not ours or of a later version."""

    def known() -> bool:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        parts = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
        if parts and application != APPLICATION:
            raise StudyError(f"{path} is not a file of dvae's own studies; one of Optuna's is sqlite:///{path}")
        if version > VERSION:
            raise StudyError(f"{path} was written by a later version of dvae (format {version}, not {VERSION})")
        strange = [f"the {kind} {name}" for kind, name in parts if kind not in ("table", "index")]
        missing = [name for name in NAMES if parts and ("table", name) not in parts]
        if strange or missing:  # a view or a trigger is a program, which may never end
            problem = f"it holds {strange[0]}" if strange else f"it lacks the table {missing[0]}"
            raise StudyError(f"{path} is damaged: {problem}")
        return bool(parts)

    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
    if known():
        return
    with _immediate(connection):
        if not known():  # another process may have made them in the meantime
            for statement in (*TABLES, f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}"):
                connection.execute(statement)


@contextmanager
def _immediate(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")  # which a full disk may refuse
    except BaseException:
        if connection.in_transaction:  # some errors have ended it
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _said(path: Path) -> Iterator[None]:
    """What SQLite complains of is said with the file's name."""
    try:
        yield
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        problem = " ".join(str(error).splitlines())
        raise StudyError(f"{path} cannot be read or written: {problem:.300}") from None


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0
