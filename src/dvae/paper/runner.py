"""Makes stage after stage, until all are done or the time is up."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dvae.errors import ConfigError, DvaeError, StorageError
from dvae.files import read_json, write_json
from dvae.paper.stage import OutOfTime, Stage
from dvae.paper.stage_store import StageStore

FAILURES, LOCK = "failed.json", ".lock"
Tell = Callable[[str], None]


@dataclass(frozen=True)
class StagesResult:
    """How a run of stages ended; `failed` gives the reason by the stage's title."""

    ended: Literal["done", "time"]
    total: int
    made: int
    found: int  # made by an earlier run
    failed: dict[str, str]
    seconds: float

    @property
    def waiting(self) -> int:
        """Stages that are still to be made."""
        return self.total - self.made - self.found - len(self.failed)


def run_stages(stages: Sequence[Stage[Any]], store: StageStore, tell: Tell) -> StagesResult:
    """Makes the stages that have no result yet.

    One that fails is noted with its reason, for the report, and the others continue; what needs it fails, too.
    """
    with _locked(store.root):
        return _run_stages(stages, store, tell)


def _run_stages(stages: Sequence[Stage[Any]], store: StageStore, tell: Tell) -> StagesResult:
    started = time.monotonic()
    known = failures(store)
    made = found = 0
    failed: dict[Stage[Any], str] = {}
    ended: Literal["done", "time"] = "done"
    for number, stage in enumerate(stages, start=1):
        place = f"[{number}/{len(stages)}]"
        if store.is_done(stage):
            found += 1
            known.pop(stage.title, None)
            continue
        broken = next((need for need in stage.needs() if need in failed), None)
        if broken is not None:
            failed[stage] = f"it needs '{broken.title}', which failed"
            tell(f"{place} not done: {stage.title}: {failed[stage]}")
            continue
        tell(f"{place} {stage.title} ...")
        began = time.monotonic()
        try:
            store.make(stage)
        except OutOfTime as error:
            tell(f"{place} stopped: {error}")
            ended = "time"
            break
        except StorageError:
            raise  # no other stage could keep its result either
        except DvaeError as error:
            failed[stage] = str(error)
            tell(f"{place} not done: {stage.title}: {error}")
        else:
            made += 1
            known.pop(stage.title, None)
            tell(f"{place} done in {time.monotonic() - began:.1f} s")
    reasons = {stage.title: reason for stage, reason in failed.items()}
    write_json(store.root / FAILURES, known | reasons)
    return StagesResult(ended, len(stages), made, found, reasons, time.monotonic() - started)


@contextlib.contextmanager
def _locked(run: Path) -> Iterator[None]:
    """Keeps other processes out of the folder; the system releases the lock however this one ends."""
    try:
        import fcntl
    except ImportError:  # not a Unix system: it is left to the user
        yield
        return
    run.mkdir(parents=True, exist_ok=True)
    with (run / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"another process is working in {run}; wait for it, or choose another --run") from None
        yield


def failures(store: StageStore) -> dict[str, str]:
    """Why stages could not be made, by title."""
    path = store.root / FAILURES
    if not path.is_file():
        return {}
    notes = read_json(path)
    return {str(title): str(reason) for title, reason in notes.items()} if isinstance(notes, dict) else {}
