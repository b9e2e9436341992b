"""Scores for processes that are stopped and killed: each leaves a mark when it begins, by candidate and process."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dvae import Dag


def slow_edges(dag: Dag) -> float:
    """Networks with few edges are better; takes a moment."""
    name = "-".join(f"{source}.{target}" for source, target in dag.edges)
    (Path(os.environ["DVAE_TEST_MARKS"]) / f"{name}@{time.time_ns()}@{os.getpid()}").touch()
    time.sleep(float(os.environ.get("DVAE_TEST_SECONDS", "0.1")))
    return -float(len(dag.edges))
