"""The keeper of cells: a process that starts them, ends them and says how they died.

It is kept apart from the search for three reasons. It has no threads, so that it can fork: a new cell in place of a
dead one costs milliseconds, not the seconds that importing takes. It survives the search, by as long as it takes to
end every cell. And it knows which process numbers are its cells', so that it never signals a stranger.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
from collections.abc import Iterator
from typing import Any

from dvae.errors import StudyError
from dvae.studies.cell import Make, live, settled
from dvae.studies.channel import Channel
from dvae.studies.scoring import Score

ENDS = 2  # of conversations, that come with the wish for a cell: for work, and for its end


def keep(control: socket.socket, make: Make) -> None:
    """Starts a cell for each pair of conversations that arrives; ends with whoever holds the other end of `control`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which then ends its cells
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    cells: dict[int, Channel] = {}
    with selectors.DefaultSelector() as selector, _deaths() as deaths:
        for waited in (control, deaths):
            selector.register(waited, selectors.EVENT_READ, None)
        try:
            while True:
                for key, _ in selector.select():
                    if key.fileobj is control:
                        if not _begin(control, cells, selector, make):
                            return
                    elif key.fileobj is deaths:
                        deaths.recv(4096)
                        _bury(cells, selector)
                    elif key.data in cells:  # and not buried in this very turn: whoever asked for it wants it no more
                        selector.unregister(key.fileobj)
                        _kill(key.data)
        finally:
            for number in cells:
                _kill(number)


def _begin(control: socket.socket, cells: dict[int, Channel], selector: selectors.BaseSelector, make: Make) -> bool:
    _, ends, *_ = socket.recv_fds(control, 1, ENDS)
    if len(ends) != ENDS:
        return False
    work, fate = (Channel(socket.socket(fileno=end)) for end in ends)
    keeper = os.getpid()
    number = os.fork()
    if number == 0:
        try:
            signal.set_wakeup_fd(-1)
            for kind in (signal.SIGCHLD, signal.SIGINT):
                signal.signal(kind, signal.SIG_DFL)
            for other in (control, fate.end, *(each.end for each in cells.values())):
                other.close()
            live(work, keeper, make)
        except OSError:
            pass  # whom it could tell is gone
        finally:
            os._exit(0)
    work.end.close()
    cells[number] = fate
    selector.register(fate.end, selectors.EVENT_READ, number)
    return True


def _bury(cells: dict[int, Channel], selector: selectors.BaseSelector) -> None:
    """Tells of every cell that has died how."""
    for number in list(cells):
        died, status = os.waitpid(number, os.WNOHANG)
        if not died:
            continue
        _kill_group(number)  # what its score has started
        fate = cells.pop(number)
        with contextlib.suppress(KeyError):
            selector.unregister(fate.end)
        with contextlib.suppress(OSError):
            fate.send({"status": os.waitstatus_to_exitcode(status)})
        fate.end.close()


def _kill(number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)  # it may not have a group of its own yet
    _kill_group(number)


def _kill_group(number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


@contextlib.contextmanager
def _deaths() -> Iterator[socket.socket]:
    """Becomes readable when a child has died."""
    heard, told = socket.socketpair()
    for end in (heard, told):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # else the system says nothing
    signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(-1)
        heard.close()
        told.close()


def made_here(order: Any) -> Score:
    """The score of an order, by its name or of a task, in the surroundings of whoever asks."""
    from dvae import tasks
    from dvae.studies.scores import TaskScore, named_score

    settled(order)
    if "task" in order:
        return TaskScore(tasks.from_spec(order["task"]))
    if "score" not in order:
        raise StudyError("a score is named, or is a task's own")
    return named_score(order["score"])


def main(control: int) -> None:
    """A keeper in an interpreter of its own; `control` is an inherited socket."""
    keep(socket.socket(fileno=control), made_here)
