"""Arithmetic expressions over x, to be brought close to 1/3 + x + sin(x * x) (Tripp et al., NeurIPS 2020).

x -> * -> sin -> +        1 / 3 + x + sin(x * x): every subterm is one node, however often it is used
x -> + -------> +
3 -> 1/ -> +
"""

from __future__ import annotations

import csv
import logging
import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch, DagSet, Dataset, DataSource, ScoredDag, load_dags
from dvae.dag.lines import numbered_lines
from dvae.data.cache import data_folder
from dvae.errors import DvaeError, FormatError, TaskError
from dvae.tasks.base import ExportFormat, ModelHints, Task
from dvae.tasks.ends import add_virtual_ends, drop_virtual_ends
from dvae.tasks.expression_sampler import random_expressions
from dvae.tasks.expression_scores import log_errors
from dvae.tasks.expression_terms import ARITY, LEAVES, arity_problem, is_expression, merged
from dvae.tasks.expression_text import format_expression, parse
from dvae.tasks.graph_rules import GraphRules
from dvae.tasks.growth import GraphGrowth
from dvae.tasks.vocabulary import END_INDEX, START_INDEX, Vocabulary

log = logging.getLogger("dvae")

NAME = "expressions"
FILE = Path("expressions/expressions.csv.gz")
COLUMN, ERROR_COLUMN = "expression", "log1p_mse"
DEFAULT_SIZE = 10_000  # where the published expressions are not there
MAX_NODES = 14  # the published ones have 12 at most
TABLE_ENDINGS = (".csv", ".csv.gz")
RULES = GraphRules(
    nodes=(1, MAX_NODES), single_sink=True, source_types=LEAVES, in_degree=tuple(ARITY.items())
)  # fmt: skip
OTHER_NOTATIONS = ("{", "[", "digraph", "strict", "graph")


class ExpressionsTask(Task):
    """Expressions with shared subterms; the score is minus log(1 + MSE), and 0 is the best."""

    examples = (NAME,)
    name = NAME
    vocabulary = Vocabulary.with_virtual_ends(tuple(ARITY))
    max_nodes = MAX_NODES + 2
    hints = ModelHints()
    notation = "an expression such as 1 / 3 + x + sin(x * x), a JSONL line or DOT"

    def __init__(self) -> None:
        self.rules = GraphGrowth.of(
            RULES, self.vocabulary, self.max_nodes, virtual_start=True, virtual_end=True, end_chooses=False
        )

    @classmethod
    def from_name(cls, name: str) -> ExpressionsTask | None:
        return cls() if name == NAME else None

    @property
    def can_score(self) -> bool:
        return True

    def log_errors(self, dags: Sequence[Dag]) -> list[float]:
        """log(1 + MSE) of each expression on 1,000 points of [-10, 10], lower is better, 7 at worst."""
        for number, dag in enumerate(dags):
            problem = self.why_invalid(dag)
            if problem is not None:
                raise TaskError(f"DAG {number} is no expression: {problem}")
        return log_errors(dags)

    def scores(self, dags: Sequence[Dag]) -> list[float]:
        """Minus log(1 + MSE): searches maximise."""
        return [-error + 0.0 for error in self.log_errors(dags)]

    def known_optimum(self) -> float:
        """That of the target itself."""
        return 0.0

    def wrap(self, dag: Dag) -> Dag:
        """Equal subterms are one node, and the order of nodes says nothing."""
        return add_virtual_ends(merged(dag) if is_expression(dag) else dag, self.vocabulary)

    def unwrap(self, dag: Dag) -> Dag:
        inner = drop_virtual_ends(dag, self.vocabulary)
        return merged(inner) if is_expression(inner) else inner

    def valid(self, batch: DagBatch) -> Tensor:
        """Every node has as many operands as it must, and one node is used by none: the result."""
        mask, device = batch.node_mask(), batch.device
        last = batch.types.gather(1, (batch.num_nodes - 1).clamp(min=0)[:, None])[:, 0]
        framed = (batch.types[:, 0] == START_INDEX) & (last == END_INDEX) & (batch.num_nodes >= 3)
        ends = (batch.types == START_INDEX) | (batch.types == END_INDEX)
        framed &= (ends & mask).sum(1) == 2
        inner = mask & ~ends
        between = batch.adjacency & inner[:, :, None] & inner[:, None, :]
        limits = torch.tensor([(0, 0), (0, 0), *ARITY.values()], device=device)[batch.types]  # batch node 2
        operands = between.sum(1)
        fed = (operands >= limits[..., 0]) & (operands <= limits[..., 1]) | ~inner
        return framed & fed.all(1) & ((inner & ~between.any(2)).sum(1) == 1)

    def keys(self, batch: DagBatch) -> list[Hashable]:
        return list(self.unbatch(batch))

    def keys_of(self, dags: Sequence[Dag]) -> list[Hashable]:
        """Expressions with their subterms merged: operands may be swapped."""
        found: list[Hashable] = []
        for dag in dags:
            if not self.is_valid(dag):
                self.batch([dag])  # says what is none of the task at all
            found.append(merged(dag) if is_expression(dag) else dag)
        return found

    def is_valid(self, dag: Dag) -> bool:
        return self.why_invalid(dag) is None

    def why_invalid(self, dag: Dag) -> str | None:
        problem = arity_problem(dag)
        if problem is not None:
            return problem
        if len(dag.sinks()) != 1:
            return f"{len(dag.sinks())} nodes are used by no other, and an expression has one result"
        size = len(dag) if len(dag) <= MAX_NODES else len(merged(dag))
        return None if size <= MAX_NODES else f"it has {size} distinct subterms, and {NAME} allows {MAX_NODES}"

    def parse(self, text: str, where: str = "your text") -> Dag:
        """The DAG of an expression, or of one of the notations for all DAGs."""
        if text.strip().startswith(OTHER_NOTATIONS):
            return super().parse(text, where)
        return parse(text, where)

    def format(self, dag: Dag) -> str:
        return format_expression(merged(dag)) if is_expression(dag) else super().format(dag)

    def exports(self) -> tuple[ExportFormat, ...]:
        return (ExportFormat("text", "expression", ".txt", lambda dag: self.format(dag) + "\n"),)

    def read(self, path: str | Path) -> list[ScoredDag]:
        """A table with a column `expression` (and `log1p_mse`), a .txt file of expressions, or a file of DAGs."""
        name = Path(path).name.lower()
        if name.endswith(TABLE_ENDINGS):
            return list(_entries(Path(path)))
        if name.endswith(".txt"):
            return [ScoredDag(self.parse(text, f"{path}:{number}")) for number, text in numbered_lines(path)]
        return load_dags(path)

    def sample(self, count: int, seed: int) -> list[Dag]:
        """Random expressions of the grammar."""
        return list(islice(random_expressions(seed, MAX_NODES), count))

    def sample_batch(self, count: int, seed: int) -> DagBatch:
        return self.batch(self.sample(count, seed))

    def dataset(self, size: int | None = None, seed: int = 0) -> Dataset:
        """The published expressions, each distinct one once; where they are not there, random ones."""
        path = data_folder() / FILE
        source = DataSource(size=size, seed=seed)
        if path.is_file():
            items = list(islice(_distinct(path), size))
            return replace(Dataset.split(self.name, items), source=source)
        log.warning("the published expressions are not at %s (DVAE_DATA): random ones are drawn", path)
        drawn = self.sampled_dataset(size or DEFAULT_SIZE, seed)
        everything = DagSet.of(drawn.everything.dags, self.scores(drawn.everything.dags))
        return replace(drawn, everything=everything, source=source)


def _distinct(path: Path) -> Iterator[ScoredDag]:
    """The expressions of a table in a fixed random order, each DAG once; read no further than they are asked for."""
    rows = list(_rows(path))
    random.Random(0).shuffle(rows)
    seen: set[Dag] = set()
    for number, row in rows:
        item = _entry(path, number, row)
        if item.dag not in seen:
            seen.add(item.dag)
            yield item


def _entries(path: Path) -> Iterator[ScoredDag]:
    return (_entry(path, number, row) for number, row in _rows(path))


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table by the names of its columns, with their line numbers."""
    lines = numbered_lines(path)
    _, head = next(lines, (1, ""))
    columns = _cells(path, 1, head)
    if COLUMN not in columns:
        raise FormatError.at(path, 1, f"there is no column {COLUMN!r}; there are {', '.join(columns) or 'none'}")
    for number, text in lines:
        cells = _cells(path, number, text)
        if len(cells) != len(columns):
            raise FormatError.at(path, number, f"there are {len(cells)} cells where the head has {len(columns)}")
        yield number, dict(zip(columns, cells, strict=True))


def _cells(path: Path, number: int, text: str) -> list[str]:
    try:
        return next(csv.reader([text]), [])
    except csv.Error as error:
        raise FormatError.at(path, number, f"not CSV: {error}") from None


def _entry(path: Path, number: int, row: dict[str, str]) -> ScoredDag:
    dag, error = parse(row[COLUMN], f"{path}:{number}"), row.get(ERROR_COLUMN, "")
    if not error.strip():
        return ScoredDag(dag)
    try:
        return ScoredDag(dag, 0.0 - float(error))
    except (ValueError, DvaeError):
        raise FormatError.at(path, number, f"{error!r} is not a finite number") from None
