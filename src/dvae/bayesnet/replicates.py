"""The work of a bootstrap, in this process or in several others."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for
from typing import Protocol

import numpy as np

from dvae.bayesnet.network import Network
from dvae.bayesnet.table import Table

Edges = list[list[int]]
PATIENCE = 3.0  # seconds of work before other processes are started
QUEUED = 2  # replicates that wait for each process


class Learner(Protocol):
    """What learns a network from a table; it travels to other processes."""

    @property
    def seed(self) -> int: ...

    def network(self, table: Table) -> Network: ...


def run_replicates(table: Table, learner: Learner, numbers: Sequence[int], workers: int) -> Iterator[tuple[int, Edges]]:
    """Each number with the edges of its network, as they are done.

    Other processes take seconds to start, so they are called only for work that takes longer.
    """
    left = list(reversed(numbers))
    started = time.monotonic()
    while left and (workers == 1 or not _takes_long(time.monotonic() - started, len(numbers) - len(left), len(left))):
        number = left.pop()
        yield number, replicate(table, learner, number)
    if not left:
        return
    context = multiprocessing.get_context("spawn")
    count = min(workers, len(left))
    with ProcessPoolExecutor(count, context, _begin, (table, learner)) as pool:
        try:
            running = {pool.submit(_work, left.pop()) for _ in range(min(QUEUED * count, len(left)))}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    if left:
                        running.add(pool.submit(_work, left.pop()))
                    yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _takes_long(elapsed: float, done: int, left: int) -> bool:
    """Whether what is left is worth other processes."""
    return elapsed >= PATIENCE and (done == 0 or elapsed * left / done > 3 * PATIENCE)


def replicate(table: Table, learner: Learner, number: int) -> Edges:
    """The edges of the network of one resampled table, by the places of its columns."""
    generator = np.random.default_rng([learner.seed, number])
    network = learner.network(table.take(generator.integers(table.num_rows, size=table.num_rows)))
    return sorted([network.index_of[source], network.index_of[target]] for source, target in network.edges)


_here: tuple[Table, Learner] | None = None


def _begin(table: Table, learner: Learner) -> None:
    """Runs first in each process: keeps what all replicates share, and ends the process when its parent is gone."""
    global _here
    _here = (table, learner)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_with, args=(parent.sentinel,), daemon=True).start()


def _leave_with(sentinel: int) -> None:
    wait_for([sentinel])
    os._exit(1)


def _work(number: int) -> tuple[int, Edges]:
    assert _here is not None
    return number, replicate(*_here, number)
