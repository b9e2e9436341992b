"""NAS-Bench-Graph (Qin et al., NeurIPS 2022): graph neural networks with their true accuracies on nine data sets.

An architecture is a tree of four operations: each is fed by the input or by another operation, and the output takes
those that feed nobody. Trees that differ in the order of branches are the same, and so are those from which the same
remains when `skip` operations that change nothing are moved to the front.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, ScoredDag
from dvae.errors import FormatError, TaskError
from dvae.extras import missing
from dvae.tasks.plain_pickle import read_table
from dvae.tasks.rules import FixedLengthRules
from dvae.tasks.tabular import HINTS, TabularTask
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

OPERATIONS = ("gat", "gcn", "gin", "cheb", "sage", "arma", "graph", "fc", "skip")
COUNT = 4  # operations in every architecture
DATA_SETS = ("arxiv", "citeseer", "computers", "cora", "cs", "photo", "physics", "proteins", "pubmed")
PREFIX = "nasbench-graph:"
SCORE = "perf"  # test accuracy; the tables also hold `valid_perf`
BASE = 10  # the tables number architectures by digits: the shape, then four operations
# Which vertex feeds each operation, in the order of the tables' numbers; 0 is the input.
SHAPES = (
    (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 1), (0, 0, 1, 2), (0, 0, 1, 3), (0, 1, 1, 1), (0, 1, 1, 2), (0, 1, 2, 2),
    (0, 1, 2, 3),
)  # fmt: skip


class NasBenchGraphTask(TabularTask):
    """Architectures, scored by their test accuracy on one data set."""

    examples = (PREFIX + "cora",)
    vocabulary = Vocabulary(("input", "output", *OPERATIONS))
    max_nodes = COUNT + 2
    hints = HINTS
    rules = FixedLengthRules(COUNT, idle=vocabulary.index_of["skip"])

    def __init__(self, data: str) -> None:
        if data not in DATA_SETS:
            raise TaskError(f"NAS-Bench-Graph has no data set {data!r}; choose one of {', '.join(DATA_SETS)}")
        self.data = data
        self.name = PREFIX + data

    @classmethod
    def from_name(cls, name: str) -> NasBenchGraphTask | None:
        """`nasbench-graph:cora`, or another of the data sets."""
        return cls(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None

    def spec(self) -> dict[str, Any]:
        return {"data": self.data}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> NasBenchGraphTask:
        return cls(str(spec["data"]))

    def read_entries(self) -> list[ScoredDag]:
        path = _folder() / f"{self.data}.bench"
        return [_entry(number, row, path) for number, row in read_table(path).items()]

    def wrap(self, dag: Dag) -> Dag:
        """The operations in an order of the DAG, the output last."""
        parents = _parents(dag)
        if parents is None or tree_dag(parents, dag.types[1:-1]).edges != dag.edges:
            raise TaskError(
                f"an architecture of NAS-Bench-Graph is an input, {COUNT} operations that one vertex each feeds, and "
                "an output that takes those which feed nobody"
            )
        return dag

    def unwrap(self, dag: Dag) -> Dag:
        parents = _parents(dag)
        return dag if parents is None else tree_dag(parents, dag.types[1:-1])

    def valid(self, batch: DagBatch) -> Tensor:
        """An input, four operations, not all of them `skip`, and an output."""
        inner = batch.types[:, 1:-1]
        ends = torch.tensor([START_INDEX, END_INDEX], device=batch.device)
        framed = (batch.types[:, 0] == START_INDEX) & (batch.types[:, -1] == END_INDEX)
        skip = self.vocabulary.index_of["skip"]
        fed = batch.adjacency[:, :, 1:-1].any(1).all(1)
        whole = (batch.num_nodes == self.max_nodes) & framed & fed
        return whole & ~torch.isin(inner, ends).any(1) & (inner != skip).any(1)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        """The tree with its branches in order and its idle skips in front; anything else by what it is."""
        found: list[Hashable] = []
        for dag, valid in zip(self.unbatch(batch), self.valid(batch).tolist(), strict=True):
            found.append(tree_key(dag) if valid else (dag.types, dag.edges))
        return found


def tree_dag(parents: tuple[int, ...], operations: tuple[Any, ...]) -> Dag:
    """The DAG of a tree: vertex k is the k-th operation, vertex 0 the input."""
    edges = [(parent, vertex) for vertex, parent in enumerate(parents, start=1)]
    leaves = set(range(1, len(parents) + 1)) - set(parents)
    return Dag(("input", *operations, "output"), (*edges, *((leaf, len(parents) + 1) for leaf in leaves)))


def tree_key(dag: Dag) -> Hashable:
    """Equal for trees that the benchmark does not tell apart."""
    parents = _parents(dag)
    assert parents is not None
    return _ordered(0, *_skips_in_front(parents, [str(label) for label in dag.types[1:-1]]))


def _ordered(vertex: int, parents: list[int], operations: list[str]) -> Hashable:
    branches = [
        _ordered(child, parents, operations) for child, parent in enumerate(parents, start=1) if parent == vertex
    ]
    return (operations[vertex - 1] if vertex else "input", *sorted(branches, key=repr))


def _skips_in_front(parents: tuple[int, ...], operations: list[str]) -> tuple[list[int], list[str]]:
    """Moves every skip that only passes something on between the input and all that the input feeds.

    A skip is left where it is if it is a leaf with siblings and something was computed above it: there it adds an
    earlier result to the output.
    """
    links, names = list(parents), list(operations)
    for vertex in range(1, len(links) + 1):
        if names[vertex - 1] != "skip":
            continue
        feeds = vertex in links
        siblings = links.count(links[vertex - 1]) > 1
        if feeds or not siblings or _is_input(vertex, links, names):
            links, names = _moved(vertex, links, names)
    return links, names


def _is_input(vertex: int, links: list[int], names: list[str]) -> bool:
    """Whether nothing but skips lies between the input and what the vertex gives out."""
    while vertex:
        if names[vertex - 1] != "skip":
            return False
        vertex = links[vertex - 1]
    return True


def _moved(vertex: int, links: list[int], names: list[str]) -> tuple[list[int], list[str]]:
    """The skip `vertex` taken out and put in as vertex 1, which the input feeds and which feeds what it fed."""
    spliced = [links[vertex - 1] if parent == vertex else parent for parent in links]
    # Vertices below the moved one shift by one, the input becomes vertex 1, and those above keep their numbers.
    shifted = [parent + 1 if parent < vertex else parent for parent in spliced]
    return [0, *shifted[: vertex - 1], *shifted[vertex:]], ["skip", *names[: vertex - 1], *names[vertex:]]


def _parents(dag: Dag) -> tuple[int, ...] | None:
    """The vertex that feeds each operation, the nearest where a model drew several; None if the DAG is no tree."""
    if len(dag) != COUNT + 2 or dag.types[0] != "input" or dag.types[-1] != "output":
        return None
    if any(label not in OPERATIONS for label in dag.types[1:-1]):
        return None
    before = dag.predecessors()[1:-1]
    return tuple(sources[-1] for sources in before) if all(before) else None


def _entry(number: int, row: Mapping[str, float], path: Path) -> ScoredDag:
    shape, codes = divmod(number, BASE**COUNT)
    digits = [codes // BASE**place % BASE for place in reversed(range(COUNT))]
    if not 0 <= shape < len(SHAPES) or max(digits) >= len(OPERATIONS) or SCORE not in row:
        raise FormatError(f"{path}: {number} is not the number of an architecture with a score")
    return ScoredDag(tree_dag(SHAPES[shape], tuple(OPERATIONS[digit] for digit in digits)), row[SCORE])


def _folder() -> Path:
    """Where the package keeps its tables; its code is not needed, and not imported."""
    from importlib.util import find_spec

    found = find_spec("nas_bench_graph")
    if found is None or found.origin is None:
        raise missing("nas-bench-graph", "nasbench-graph", "this task")
    return Path(found.origin).parent / "light"
