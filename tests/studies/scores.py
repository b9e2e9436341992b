"""Scores that worker processes import by name."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dvae import Dag


def slow_edges(dag: Dag) -> float:
    """Networks with few edges are better; takes a moment, and leaves a mark for every time it was asked."""
    marks = Path(os.environ["DVAE_TEST_MARKS"])
    (marks / f"{time.time_ns()}-{os.getpid()}").write_text(" ".join(f"{u}>{v}" for u, v in dag.edges))
    time.sleep(float(os.environ.get("DVAE_TEST_SECONDS", "0.05")))
    return -float(len(dag.edges))


def odd_fails(dag: Dag) -> float:
    if len(dag.edges) % 2:
        raise ValueError("odd")
    return float(len(dag.edges))
