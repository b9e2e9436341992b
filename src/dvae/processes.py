"""Which process this is, and whether another one, here or elsewhere, is known to have ended."""

from __future__ import annotations

import functools
import hashlib
import os
import socket
import subprocess
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


def process_space() -> str | None:
    """The boot and the name space that process numbers belong to, where the system tells."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return None


def process_start(pid: int) -> str | None:
    """When a process began, in a form to be compared only; None where it does not run."""
    if Path("/proc/self/stat").exists():
        try:
            state, *fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except (OSError, ValueError):
            return None
        return None if state in "ZX" else fields[18]  # dead, though nobody has asked for its exit code
    asked = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout.strip() or None


@functools.cache
def _machine() -> str:
    facts = f"{host()}\0{process_space() or ''}"
    return hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _started(pid: int) -> int:
    found = process_start(pid)
    return int(found) if found is not None and found.isdecimal() else 0
