"""One writer at a time in a folder, whatever became of the one before."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from dvae.errors import InUseError, StorageError
from dvae.processes import this_process
from dvae.training import lock
from dvae.training.lock import FILE, locked
from forks import forked
from training.runs import model, train


def owner(**facts: object) -> str:
    own = this_process()
    known = {"host": "here", "machine": own.machine, "pid": own.pid, "started": own.started, "since": time.time()}
    return json.dumps(known | facts)


def elsewhere(folder: Path) -> list[Exception]:
    """What another thread, which has a context of its own, is told."""
    told: list[Exception] = []

    def enter() -> None:
        try:
            with locked(folder):
                pass
        except Exception as error:
            told.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return told


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with locked(tmp_path), locked(tmp_path):
        (error,) = elsewhere(tmp_path)
    assert isinstance(error, InUseError)
    assert f"process {os.getpid()}, for 0 seconds now" in str(error)
    assert elsewhere(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_two_trainings_in_one_folder_are_refused(tmp_path: Path) -> None:
    def second() -> None:
        with pytest.raises(InUseError):
            train(model(), tmp_path, epochs=1)

    with locked(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
        assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_the_lock_of_a_killed_process_is_taken_over_and_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ready, write = os.pipe()
    process = forked()
    if process == 0:
        with locked(tmp_path):
            os.write(write, b"x")
            time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    assert isinstance(elsewhere(tmp_path)[0], InUseError)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with caplog.at_level(logging.WARNING, "dvae"), locked(tmp_path):
        pass
    assert f"process {process} left its lock behind when it ended; taken over" in caplog.text


@pytest.mark.parametrize("silent", [False, True])
def test_an_owner_on_another_machine_is_believed_while_it_is_heard_of(silent: bool, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(owner(machine="elsewhe", host="node7"))
    if silent:
        then = time.time() - 2 * lock.SILENCE
        os.utime(tmp_path / FILE, (then, then))
        with locked(tmp_path):
            pass
    else:
        with pytest.raises(InUseError, match="on 'node7'"), locked(tmp_path):
            pass


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "[" * 4096,
        owner(pid=-1),
        owner(pid=2**70),
        owner(pid="x"),
        owner(started=1),
        owner(pid=2**22 + 5),
        owner(since="x"),
    ],
    ids=["empty", "open", "list", "deep", "pid -1", "pid 2**70", "pid x", "another start", "no process", "since x"],
)
def test_a_stale_or_senseless_lock_blocks_nobody(content: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(content)
    with locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written: not a directory"), locked(tmp_path / "file" / "run"):
        pass


def test_an_owner_shows_that_it_is_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "TOUCHED_EVERY", 0.01)
    with locked(tmp_path):
        os.utime(tmp_path / FILE, (0, 0))
        deadline = time.monotonic() + 20
        while (tmp_path / FILE).stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (tmp_path / FILE).stat().st_mtime > 0
