"""Which process this is, and whether another one, here or elsewhere, is known to have ended."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn


@dataclass(frozen=True)
class Identity:
    """A process among all that were and are: `machine` stands for host, start of the system and its count of pids."""

    machine: str
    pid: int
    started: int  # in ticks of the system, so that a number that is used again tells itself apart; 0 if unknown


def this_process() -> Identity:
    """The process that asks."""
    return Identity(_machine(), os.getpid(), _started(os.getpid()))


def is_dead(process: Identity) -> bool:
    """Whether a process has ended for sure; of one on another machine nothing is known."""
    if os.name != "posix" or process.machine != _machine():
        return False
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    now = _started(process.pid)
    return bool(now and process.started and now != process.started)


def host() -> str:
    """The name of this machine, for people."""
    return socket.gethostname()


def as_ctrl_c(number: int, frame: FrameType | None) -> NoReturn:
    """A handler of SIGTERM for programs: it ends them as Ctrl-C does."""
    raise KeyboardInterrupt


@functools.cache
def _machine() -> str:
    facts = [host()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            facts.append(str(Path(path).stat().st_ino) if path.endswith("pid") else Path(path).read_text().strip())
        except OSError:
            facts.append("")
    return hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _started(pid: int) -> int:
    try:
        # The name of the program, in brackets, may hold anything; what follows does not.
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
