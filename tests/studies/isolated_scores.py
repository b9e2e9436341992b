"""Scores that crash, exit, hang, start processes and count: for cells, which import them by name."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dvae import Dag

odd: Callable[[Dag], bool] = lambda dag: len(dag.edges) % 2 == 1  # noqa: E731


def mark(dag: Dag) -> None:
    """Leaves a file for every time that a candidate was begun."""
    name = "-".join(f"{source}.{target}" for source, target in dag.edges)
    (Path(os.environ["DVAE_TEST_MARKS"]) / f"{name}@{time.time_ns()}").touch()


def edges(dag: Dag) -> float:
    return -float(len(dag.edges))


def aborts(dag: Dag) -> float:
    mark(dag)
    if odd(dag):
        os.abort()
    return edges(dag)


def segfaults(dag: Dag) -> float:
    if odd(dag):
        ctypes.string_at(0)
    return edges(dag)


def exits(dag: Dag) -> float:
    if odd(dag):
        sys.exit(3)
    return edges(dag)


def leaves(dag: Dag) -> float:
    if odd(dag):
        os._exit(7)
    return edges(dag)


def is_killed(dag: Dag) -> float:
    if odd(dag):
        os.kill(os.getpid(), signal.SIGKILL)  # what the system does where memory runs out
    return edges(dag)


def hangs(dag: Dag) -> float:
    while odd(dag):
        pass
    return edges(dag)


def says(dag: Dag) -> float:
    print("a score speaks")
    return edges(dag)


def number(dag: Dag) -> float:
    """The process that scores."""
    return float(os.getpid())


def starts_another(dag: Dag) -> float:
    """Never ends, and has a child; both write their numbers down."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    marks = Path(os.environ["DVAE_TEST_MARKS"])
    (marks / "pids.tmp").write_text(f"{os.getpid()} {child.pid}")
    (marks / "pids.tmp").rename(marks / "pids")
    time.sleep(600)
    return 0.0


def reports(dag: Dag, report: Callable[[int, float], None]) -> float:
    for step in range(1, 4):
        report(step, edges(dag) * step)
    return edges(dag)


class Rounds:
    """Takes whole rounds; a round with a DAG of an odd number of edges kills it."""

    def __call__(self, dag: Dag) -> float:
        return aborts(dag)

    def many(self, dags: Sequence[Dag]) -> list[float]:
        return [float(os.getpid()) if not odd(dag) else aborts(dag) for dag in dags]
