"""Operational amplifiers (CktBench101 of CktGNN, Dong et al., ICLR 2023), which come with the package.

A node is a device: t0 a resistor, t1 a capacitor, t2 to t5 transconductors (+gm+, -gm+, +gm-, -gm-), t8 the input and
t9 the output. Its column `subcircuit` says which of 26 building blocks it belongs to (s0 the input, s1 the output), and
`size` how large it is, in 101 steps (102 for input and output). Properties: `gain`, phase margin `pm`, bandwidth `bw`
and figure of merit `fom` (also the score) in the data's units, the number of `stages`, and `valid`, 1 for all.

What all 8,500 amplifiers obey, and what is valid here:

- 4 to 16 nodes; t8 is the only source, t9 the only sink, and each is there once;
- resistors and transconductors with a negative second sign (t0, t4, t5) have one or two predecessors and successors; of
  these three only a resistor feeds another, never a resistor; other devices have up to seven predecessors and nine
  successors; the input feeds at most seven devices and never the output, which is fed by at most ten devices that feed
  nothing else;
- every node has a sub-circuit and a size; the input is of s0, the output of s1, a device of one of s2 to s25.

Two things more hold of the data, but decoding does not enforce them, so they are no rules here: the input and the
output have the size 102 and devices whole sizes from 1 to 101; and the devices of an amplifier, taken together, are
those of whole sub-circuits (s2 is a resistor, s10 a capacitor beside a +gm+, and so on). Which of the devices belongs
to which of the sub-circuits is less certain: in 1,956 of the 8,500 published amplifiers the column `subcircuit` is in
another order than the types, so that a resistor may be found with a sub-circuit that has none. The data are kept as
published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from dvae.dag import Dataset, DataSource, Schema
from dvae.data.circuits import amplifiers
from dvae.tasks.generic import GenericTask
from dvae.tasks.graph_rules import GraphRules, Pair, Range

NAME = "circuits"
INPUT, OUTPUT = "t8", "t9"
RESISTOR = "t0"
LEAVES = (RESISTOR, "t4", "t5")  # one or two neighbours on each side
HUBS = ("t1", "t2", "t3")


def _rules() -> GraphRules:
    inner = LEAVES + HUBS
    pairs: list[Pair] = [(INPUT, device) for device in inner]
    pairs += [(source, target) for source in HUBS for target in inner]
    pairs += [(source, target) for source in LEAVES for target in HUBS]
    pairs += [(RESISTOR, target) for target in LEAVES if target != RESISTOR]
    pairs += [(device, OUTPUT) for device in inner]
    return GraphRules(
        nodes=(4, 16),
        single_source=True,
        single_sink=True,
        source_types=(INPUT,),
        sink_types=(OUTPUT,),
        connected=True,
        allowed_edges=tuple(pairs),
        in_degree=_degrees((0, 0), (1, 2), (1, 7), (1, 10)),
        out_degree=_degrees((1, 7), (1, 2), (1, 9), (0, 0)),
    )


def _degrees(start: Range, leaf: Range, hub: Range, end: Range) -> tuple[tuple[str, Range], ...]:
    return (INPUT, start), *((name, leaf) for name in LEAVES), *((name, hub) for name in HUBS), (OUTPUT, end)


RULES = _rules()


@cache
def _schema() -> Schema:
    return Schema.infer([item.dag for item in amplifiers()])


class CircuitsTask(GenericTask):
    """Amplifiers with sub-circuits and sizes, under the rules above."""

    examples = (NAME,)

    def __init__(self) -> None:
        labels = (INPUT, OUTPUT, *sorted(LEAVES + HUBS))
        super().__init__(
            NAME, labels, RULES.nodes[1] or 0, virtual_start=False, virtual_end=False, graph_rules=RULES,
            schema=_schema(),
        )  # fmt: skip

    @classmethod
    def from_name(cls, name: str) -> CircuitsTask | None:
        """The task called `circuits`."""
        return cls() if name == NAME else None

    def spec(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> CircuitsTask:
        return cls()

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """The amplifiers; 8,000 for training, 500 for tests."""
        return replace(Dataset.split(self.name, amplifiers(), size), source=DataSource(size=size, seed=seed))
