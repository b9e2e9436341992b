"""The ledger of a search in Optuna's storage: SQLite or PostgreSQL, seen by optuna-dashboard, shared by many machines.

Optuna is used as a storage, not as a sampler. Two of its promises carry the rest: of all that try, one only turns a
waiting trial into a running one, and a finished trial is never written again. A trial whose worker has died (no
heartbeat for the grace period) is set waiting again, under its own number: whatever happens, each candidate is one
trial and is recorded once.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dvae import extras
from dvae.dag import Dag
from dvae.dag.jsonl import format_line
from dvae.errors import MissingError, StudyError
from dvae.passwords import scrubbed
from dvae.studies.ledger import LOST, Direction, Ledger, Outcome, State, Trial
from dvae.studies.reading import dag_from, plain_value, trial_from
from dvae.studies.storage import SQLITE, shown
from dvae.studies.worker import HEARTBEAT_SECONDS, MISSED_HEARTBEATS

SQLITE_PATIENCE = 60.0  # seconds to wait for another process's transaction
ATTEMPTS = 8  # of a transaction that met another: 6 s on average
SERVER_ATTEMPTS = 10  # where a server may be about to come back: 25 s
OPENINGS = 5  # of a storage that another process opens at the same moment
DAG, ERROR = "dag", "error"
MAX_REASON = 300  # characters of somebody else's error

T = TypeVar("T")


class OptunaLedger(Ledger):
    """One study of a storage; `create` makes it, if it is not there, with the better direction of its scores."""

    def __init__(
        self, url: str, name: str, *, create: Direction | None = None, heartbeat: int = HEARTBEAT_SECONDS
    ) -> None:
        self.url, self.name, self.heartbeat = url, name, heartbeat
        self._attempts = ATTEMPTS if url.startswith(SQLITE) else SERVER_ATTEMPTS
        self._storage, self._engine = _open(url, heartbeat, create is not None)
        self._study = self._study_id(create)
        self._ids: dict[int, int] = {}  # Optuna's own number of each trial
        self._dags: dict[int, Dag] = {}

    def close(self) -> None:
        self._storage.remove_session()
        self._engine.dispose()

    def describe(self, key: str, value: Any) -> None:
        self._patiently(self._storage.set_study_user_attr, self._study, key, value)

    def description(self) -> dict[str, Any]:
        return dict(self._patiently(self._storage.get_study_user_attrs, self._study))

    def claim(self, key: str, value: Any, free: Callable[[Any], bool]) -> Any:
        """Optuna has no such step: this is one transaction on its table, which holds the study meanwhile."""
        from sqlalchemy import column, exc, insert, select, table, update

        notes = table("study_user_attributes", column("study_id"), column("key"), column("value_json"))
        studies = table("studies", column("study_id"))
        here = (notes.c.study_id == self._study) & (notes.c.key == key)

        def attempt() -> Any:
            with self._engine.begin() as connection:
                # SQLite's transactions hold the whole file (`_one_at_a_time`), others this row.
                connection.execute(select(studies).where(studies.c.study_id == self._study).with_for_update())
                row = connection.execute(select(notes.c.value_json).where(here)).first()
                before = None if row is None else plain_value(row[0], f"{shown(self.url)}, {key}")
                if free(before):
                    values = {"value_json": json.dumps(value)}
                    known = {"study_id": self._study, "key": key}
                    change = insert(notes).values(**known, **values) if row is None else update(notes).where(here)
                    connection.execute(change if row is None else change.values(**values))
                return before

        try:
            return _again(attempt, self._attempts, lambda error: isinstance(error, exc.OperationalError))
        except exc.SQLAlchemyError as error:
            raise StudyError(f"{shown(self.url)} does not answer: {_first_line(error, self.url)}") from None

    def propose(self, dag: Dag, attributes: Mapping[str, Any]) -> int:
        from optuna.trial import TrialState, create_trial

        noted = {**attributes, DAG: format_line(dag).strip()}
        waiting = create_trial(state=TrialState.WAITING, user_attrs=noted)
        trial_id = self._patiently(self._storage.create_new_trial, self._study, waiting)
        number = int(self._patiently(self._storage.get_trial_number_from_id, trial_id))
        self._ids[number] = trial_id
        return number

    def take(self, worker: str) -> Trial | None:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        for waiting in self._frozen((TrialState.WAITING,)):
            if DAG not in waiting.user_attrs:
                continue  # somebody else's
            trial_id = self._ids[waiting.number]
            # The heartbeat comes first: a trial that runs without one would look like a dead worker's.
            self._patiently(self._storage.record_heartbeat, trial_id)
            try:
                if self._patiently(self._storage.set_trial_state_values, trial_id, TrialState.RUNNING):
                    self._attribute(waiting.number, "worker", worker)
                    return self._trial(waiting, "running")
            except UpdateFinishedTrialError:
                continue
        return None

    def alive(self, number: int) -> None:
        self._patiently(self._storage.record_heartbeat, self._id(number))

    def report(self, number: int, step: int, value: float) -> None:
        self._patiently(self._storage.set_trial_intermediate_value, self._id(number), step, value)

    def reports_of_finished(self) -> list[dict[int, float]]:
        return [dict(trial.intermediate_values) for trial in self._frozen() if trial.state.is_finished()]

    def finish(self, number: int, outcome: Outcome, attributes: Mapping[str, Any]) -> bool:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        states = {"complete": TrialState.COMPLETE, "failed": TrialState.FAIL, "pruned": TrialState.PRUNED}
        values = None if outcome.score is None else [outcome.score]
        noted = dict(attributes) if outcome.error is None else {**attributes, ERROR: outcome.error}
        set_state = self._storage.set_trial_state_values
        try:
            for key, value in noted.items():
                self._attribute(number, key, value)
            return bool(self._patiently(set_state, self._id(number), states[outcome.state], values))
        except UpdateFinishedTrialError:
            return False

    def release(self, number: int) -> None:
        self._set_waiting(self._id(number))

    def reclaim(self) -> list[int]:
        from optuna.exceptions import UpdateFinishedTrialError

        # Optuna's public function of the kind, `fail_stale_trials`, ends them; a test watches over this private one.
        stale = self._patiently(self._storage._get_stale_trial_ids, self._study)
        reclaimed = []
        for trial_id in stale:
            known = self._patiently(self._storage.get_trial, trial_id)
            self._ids[known.number] = trial_id
            with contextlib.suppress(UpdateFinishedTrialError):
                self._attribute(known.number, LOST, int(known.user_attrs.get(LOST, 0)) + 1)
            if self._set_waiting(trial_id):
                reclaimed.append(int(known.number))
        return reclaimed

    def _set_waiting(self, trial_id: int) -> bool:
        from optuna.exceptions import UpdateFinishedTrialError
        from optuna.trial import TrialState

        try:
            self._patiently(self._storage.set_trial_state_values, trial_id, TrialState.WAITING)
        except UpdateFinishedTrialError:
            return False
        return True

    def trials(self) -> list[Trial]:
        states: dict[str, State] = {
            "WAITING": "waiting", "RUNNING": "running", "COMPLETE": "complete", "FAIL": "failed", "PRUNED": "pruned",
        }  # fmt: skip
        return [self._trial(frozen, states[frozen.state.name]) for frozen in self._frozen() if DAG in frozen.user_attrs]

    def _trial(self, frozen: Any, state: State) -> Trial:
        noted = dict(frozen.user_attrs)
        text, error = noted.pop(DAG), noted.pop(ERROR, None)
        where = f"{shown(self.url)}, trial {frozen.number!r:.40}"
        if frozen.number not in self._dags:
            self._dags[frozen.number] = dag_from(text, where)
        score = frozen.values[0] if state == "complete" and frozen.values else None
        return trial_from(frozen.number, self._dags[frozen.number], score, state, error, noted, where)

    def _frozen(self, states: tuple[Any, ...] | None = None) -> list[Any]:
        found: list[Any] = self._patiently(self._storage.get_all_trials, self._study, False, states)
        self._ids |= {trial.number: trial._trial_id for trial in found}
        return sorted(found, key=lambda trial: trial.number)

    def _id(self, number: int) -> int:
        if number not in self._ids:
            self._frozen()
        return self._ids[number]

    def _attribute(self, number: int, key: str, value: Any) -> None:
        self._patiently(self._storage.set_trial_user_attr, self._id(number), key, value)

    def _study_id(self, create: Direction | None) -> int:
        from optuna.exceptions import DuplicatedStudyError
        from optuna.study import StudyDirection

        if create is not None:
            direction = StudyDirection.MAXIMIZE if create == "maximize" else StudyDirection.MINIMIZE
            try:
                return int(self._patiently(self._storage.create_new_study, [direction], self.name))
            except DuplicatedStudyError:
                pass
        try:
            return int(self._patiently(self._storage.get_study_id_from_name, self.name, signals=(KeyError,)))
        except KeyError:
            known = ", ".join(sorted(study_names(self.url))) or "none"
            raise StudyError(f"{shown(self.url)} holds no study {self.name!r} (it holds: {known})") from None

    def _patiently(self, work: Callable[..., T], *arguments: Any, signals: tuple[type[Exception], ...] = ()) -> T:
        """Does `work`, again if its transaction met another's; `signals` are answers, not mishaps."""
        from optuna.exceptions import DuplicatedStudyError, StorageInternalError, UpdateFinishedTrialError

        def attempt() -> T:
            try:
                return work(*arguments)
            except StorageInternalError:
                self._storage.remove_session()
                raise

        try:
            return _again(attempt, self._attempts, lambda error: isinstance(error, StorageInternalError))
        except StorageInternalError as error:
            raise StudyError(f"{shown(self.url)} does not answer: {_first_line(error, self.url)}") from None
        except Exception as error:  # what Optuna makes of a database that is damaged
            if isinstance(error, (DuplicatedStudyError, UpdateFinishedTrialError, *signals)):
                raise
            raise _damaged(error, self.url) from None


def study_names(url: str) -> list[str]:
    """The studies of a storage, in the order they were begun."""
    storage, engine = _open(url, HEARTBEAT_SECONDS, create=False)
    try:
        return [str(study.study_name) for study in storage.get_all_studies()]  # in the order they were created
    except Exception as error:  # as above
        raise _damaged(error, url) from None
    finally:
        storage.remove_session()
        engine.dispose()


def _damaged(error: Exception, url: str) -> StudyError:
    return StudyError(f"{shown(url)} cannot be read: {type(error).__name__}: {_first_line(error, url)}")


def _open(url: str, heartbeat: int, create: bool) -> tuple[Any, Any]:
    """The storage, and the engine that holds its connections."""
    try:
        import optuna
    except ImportError:
        raise extras.missing("optuna", "search", f"the storage {shown(url)}") from None
    import sqlalchemy.exc

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    engine: dict[str, Any] = {}
    if url.startswith(SQLITE):
        path = url.removeprefix(SQLITE).partition("?")[0]
        if not create and not Path(path).is_file():
            raise MissingError(f"{path} is not there: start a study with dvae search --storage {shown(url)}")
        engine = {"connect_args": {"timeout": SQLITE_PATIENCE}}
    elif url.startswith("postgresql://"):  # our driver is the current one
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # heartbeats, since 2021
            # Whoever opens it makes tables and writes a version into them; of two at the same moment, both may fail.
            is_file = url.startswith("sqlite:")
            server_errors = (sqlalchemy.exc.OperationalError, optuna.exceptions.StorageInternalError)

            def passes(error: Exception) -> bool:
                if isinstance(error, sqlalchemy.exc.IntegrityError | sqlalchemy.exc.ProgrammingError):
                    return True
                return "already exists" in str(error) if is_file else isinstance(error, server_errors)

            storage = _again(
                lambda: optuna.storages.RDBStorage(
                    url,
                    engine_kwargs=engine,
                    heartbeat_interval=heartbeat,
                    grace_period=heartbeat * MISSED_HEARTBEATS,
                    skip_table_creation=not create,
                ),
                OPENINGS if is_file else SERVER_ATTEMPTS,
                passes,
            )
        if url.startswith("sqlite:"):
            _one_at_a_time(storage.engine)
        return optuna.storages.get_storage(storage), storage.engine  # finished trials are read once
    except ImportError as error:
        raise MissingError(f"this storage needs a driver that is not installed ({scrubbed(str(error), url)})") from None
    except optuna.exceptions.StorageInternalError as error:
        if isinstance(error.__cause__, sqlalchemy.exc.OperationalError) and not url.startswith("sqlite:"):
            raise StudyError(f"{shown(url)} cannot be opened: {_first_line(error, url)}") from None
        raise StudyError(f"{shown(url)} holds no studies") from None
    except Exception as error:  # Optuna raises what it meets, whatever a file holds
        raise StudyError(f"{shown(url)} cannot be opened: {_first_line(error, url)}") from None


def _again(work: Callable[[], T], attempts: int, passes: Callable[[Exception], bool]) -> T:
    """Does `work`, and again after errors that pass, a little later each time; the last error is raised."""
    for attempt in range(attempts - 1):
        try:
            return work()
        except Exception as error:
            if not passes(error):
                raise
            time.sleep(0.05 * 2**attempt * (0.5 + random.random()))
    return work()


def _one_at_a_time(engine: Any) -> None:
    """Lets every transaction of SQLite hold the file from its beginning.

    Python's driver begins one at the first write: two processes could both read that a trial waits, and both take it.
    """
    from sqlalchemy import event

    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins nothing by itself

    def begun(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()  # connections made before know nothing of this
    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)


def _first_line(error: Exception, url: str) -> str:
    cause = error.__cause__ or error
    lines = scrubbed(str(cause), url).splitlines()
    return lines[0][:MAX_REASON] if lines else type(cause).__name__
