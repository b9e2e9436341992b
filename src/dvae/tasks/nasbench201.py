"""NAS-Bench-201 (Dong and Yang, ICLR 2020): 15,625 cells with their true accuracies.

A cell has four vertices and an operation on each of its six edges. Here the operations are nodes: one for every edge
of the cell, fed by the operations that end where it begins.

        input -> 0~1, 0~2, 0~3;   0~1 -> 1~2, 1~3;   0~2, 1~2 -> 2~3;   0~3, 1~3, 2~3 -> output
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, ScoredDag
from dvae.data.cache import data_folder
from dvae.errors import FormatError, MissingError, TaskError
from dvae.tasks.base import packed_rows
from dvae.tasks.rules import FixedLengthRules
from dvae.tasks.tabular import HINTS, TabularTask
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
CELL_EDGES = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))  # in the order of the benchmark's strings
FILE = Path("nas/nb201.csv")
CELL_COLUMN = "cellstr"
DEFAULT_COLUMN = "cifar10-test_200ep_mean"
NAME = "nasbench201"


def _wiring() -> tuple[tuple[int, int], ...]:
    """The edges between operations, the same in every cell."""
    last = len(CELL_EDGES) + 1
    edges = []
    for node, (start, end) in enumerate(CELL_EDGES, start=1):
        edges += [(0, node)] if start == 0 else []
        edges += [(node, last)] if end == 3 else []
        edges += [(node, other) for other, (begin, _) in enumerate(CELL_EDGES, start=1) if begin == end]
    return tuple(sorted(edges))


WIRING = _wiring()


class NasBench201Task(TabularTask):
    """Cells, scored by one `column` of a table: accuracies in percent.

    Since all cells are wired alike, the types of the nodes say everything.
    """

    examples = (NAME,)
    vocabulary = Vocabulary(("input", "output", *OPERATIONS))
    max_nodes = len(CELL_EDGES) + 2
    hints = HINTS
    rules = FixedLengthRules(len(CELL_EDGES))

    def __init__(self, column: str = DEFAULT_COLUMN, file: str | None = None) -> None:
        self.column = column
        self.file = None if file is None else str(Path(file).absolute())
        shown = f":{column}" if column != DEFAULT_COLUMN else ""
        self.name = NAME + shown + (f"@{self.file}" if self.file else "")

    @classmethod
    def from_name(cls, name: str) -> NasBench201Task | None:
        """The task called `nasbench201`, `nasbench201:COLUMN` or `nasbench201:COLUMN@FILE.csv`."""
        found = re.fullmatch(rf"{NAME}(?::([^@]*))?(?:@(.+))?", name)
        return None if found is None else cls(found[1] or DEFAULT_COLUMN, found[2])

    def spec(self) -> dict[str, Any]:
        return {"column": self.column, "file": self.file}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> NasBench201Task:
        return cls(str(spec["column"]), None if spec["file"] is None else str(spec["file"]))

    def read_entries(self) -> list[ScoredDag]:
        path = data_folder() / FILE if self.file is None else Path(self.file)
        if not path.is_file():
            raise MissingError(
                f"the table of NAS-Bench-201 is not at {path}: set DVAE_DATA to the folder that holds {FILE}, or name "
                f"a CSV file with a column {CELL_COLUMN!r}: {NAME}:COLUMN@FILE.csv"
            )
        try:
            return self._entries(path)
        except UnicodeDecodeError as error:
            raise FormatError(f"{path}: not UTF-8 text (byte {error.start})") from None
        except csv.Error as error:
            raise FormatError(f"{path}: not comma-separated values ({error})") from None

    def _entries(self, path: Path) -> list[ScoredDag]:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            columns = rows.fieldnames or []
            for column in (CELL_COLUMN, self.column):
                if column not in columns:
                    raise FormatError.at(path, 1, f"there is no column {column!r}; there are {', '.join(columns)}")
            return [_entry(row[CELL_COLUMN], row[self.column], path, rows.line_num) for row in rows]

    def wrap(self, dag: Dag) -> Dag:
        if len(dag) != self.max_nodes or dag.edges != WIRING:
            raise TaskError("a cell of NAS-Bench-201 is an input, six operations and an output, wired as all are")
        return dag

    def unwrap(self, dag: Dag) -> Dag:
        if len(dag) != self.max_nodes or not _is_cell(dag.types):
            return dag
        return Dag(dag.types, WIRING)

    def valid(self, batch: DagBatch) -> Tensor:
        """Six operations between an input and an output."""
        ends = torch.tensor([START_INDEX, END_INDEX], device=batch.device)
        inner = ~torch.isin(batch.types[:, 1:-1], ends).any(1)
        framed = (batch.types[:, 0] == START_INDEX) & (batch.types[:, -1] == END_INDEX)
        return (batch.num_nodes == self.max_nodes) & framed & inner

    def keys(self, batch: DagBatch) -> list[Hashable]:
        """Cells by their operations; anything else by what it is."""
        valid = self.valid(batch)
        adjacency = torch.where(valid[:, None, None], torch.zeros_like(batch.adjacency), batch.adjacency)
        return packed_rows(batch.num_nodes[:, None], batch.types, adjacency)


def cell_dag(text: str) -> Dag:
    """The DAG of a cell written as the benchmark writes it: `|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`."""
    words = re.findall(r"\|([a-z0-9_]+)~(\d)(?=\|)", text)
    expected = "+".join("".join(f"|{{}}~{start}" for start in range(end)) + "|" for end in (1, 2, 3))
    operations = [word for word, _ in words]
    known = len(words) == len(CELL_EDGES) and all(word in OPERATIONS for word in operations)
    if not known or expected.format(*operations) != text:
        raise TaskError(f"{text!r} is not a cell such as |skip_connect~0|+|none~0|none~1|+|none~0|none~1|none~2|")
    return Dag(("input", *operations, "output"), WIRING)


def _entry(cell: str, score: str, path: Path, line: int) -> ScoredDag:
    try:
        value = float(score)
        if not math.isfinite(value):
            raise ValueError
    except (TypeError, ValueError):
        raise FormatError.at(path, line, f"{score!r} is not a number") from None
    try:
        return ScoredDag(cell_dag(cell or ""), value)
    except TaskError as error:
        raise FormatError.at(path, line, str(error)) from None


def _is_cell(types: tuple[object, ...]) -> bool:
    return types[0] == "input" and types[-1] == "output" and all(label in OPERATIONS for label in types[1:-1])
