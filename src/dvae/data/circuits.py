"""The amplifiers of CktBench101, which come with the package (CC BY 4.0; `circuits.md` beside this file)."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources
from typing import Any

from dvae.dag import Dag, ScoredDag
from dvae.dag.columns import Column

FILE = "circuits.json.gz"
SCORE = "fom"


@cache
def amplifiers() -> tuple[ScoredDag, ...]:
    """All 8,500 amplifiers with their properties and their part of the data; the score is the figure of merit."""
    content = json.loads(gzip.decompress(resources.files("dvae.data").joinpath(FILE).read_bytes()))
    return tuple(_amplifier(content, row) for row in range(len(content["types"])))


def _amplifier(content: dict[str, Any], row: int) -> ScoredDag:
    """Node types are digits, edges pairs of hexadecimal digits, sub-circuits letters from `a`."""
    ends = [int(digit, 16) for digit in content["edges"][row]]
    columns: dict[str, Column] = {
        "subcircuit": tuple(f"s{ord(letter) - ord('a')}" for letter in content["subcircuit"][row]),
        "size": tuple(map(float, content["size"][row])),
    }
    dag = Dag(
        tuple(f"t{digit}" for digit in content["types"][row]),
        tuple(zip(ends[::2], ends[1::2], strict=True)),
        node=columns,
        properties={name: values[row] for name, values in content["properties"].items()},
    )
    return ScoredDag(dag, dag.properties[SCORE], "train" if row < content["train"] else "test")
