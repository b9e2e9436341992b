"""How large inputs may be: bounds that no honest data meet, each with a variable of the environment that raises it."""

from __future__ import annotations

import os

from dvae.errors import ConfigError, DagError

MAX_NODES = 2_000  # of one DAG: tensors grow with the square
MAX_EDGES = 200_000  # of one DAG
MAX_GIGABYTES = 4.0  # of all DAGs of a data set as tensors
NODES_VARIABLE, EDGES_VARIABLE, GIGABYTES_VARIABLE = "DVAE_MAX_NODES", "DVAE_MAX_EDGES", "DVAE_MAX_GB"


def check_size(nodes: int, edges: int) -> None:
    """Refuses a DAG that is too large, before anything is made of it."""
    for count, default, variable, what in (
        (nodes, MAX_NODES, NODES_VARIABLE, "nodes"),
        (edges, MAX_EDGES, EDGES_VARIABLE, "edges"),
    ):
        if count > default and count > _limit(variable, default):
            raise DagError(
                f"the DAG has {count:,} {what}, and {int(_limit(variable, default)):,} are allowed: set {variable} to "
                "allow more"
            )


def check_tensors(dags: int, nodes: int) -> None:
    """Refuses a batch that would take more memory than is good for anyone."""
    gigabytes = dags * nodes * (nodes + 8) / 1e9  # a byte for a possible edge, eight for a type
    if gigabytes > MAX_GIGABYTES and gigabytes > _limit(GIGABYTES_VARIABLE, MAX_GIGABYTES):
        raise DagError(
            f"{dags:,} DAGs with room for {nodes:,} nodes each take {gigabytes:,.1f} GB as tensors, and "
            f"{_limit(GIGABYTES_VARIABLE, MAX_GIGABYTES):g} GB are allowed: take fewer or smaller DAGs, or set "
            f"{GIGABYTES_VARIABLE}"
        )


def _limit(variable: str, default: float) -> float:
    text = os.environ.get(variable)
    if text is None:
        return default
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value > 0:
        raise ConfigError(f"the environment variable {variable} must be a positive number, not {text!r}")
    return value
