"""A network from a table, in one call."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dvae.bayesnet.algorithms import ALGORITHMS
from dvae.bayesnet.counting import bits
from dvae.bayesnet.families import families, score_name
from dvae.bayesnet.knowledge import Edge, Knowledge
from dvae.bayesnet.search import Algorithm, Search, TracePoint
from dvae.bayesnet.table import Table
from dvae.dag import Dag
from dvae.errors import TaskError
from dvae.progress import Progress

MAX_EXACT_BY_DEFAULT = 12  # variables for which the exact optimum takes a second or two


@dataclass(frozen=True)
class Learned:
    """A learned structure: the parents of every variable, its score, and how it was found."""

    variables: tuple[str, ...]
    parents: tuple[tuple[str, ...], ...]
    score: float
    score_name: str
    algorithm: str
    seconds: float
    evaluations: int
    trace: tuple[TracePoint, ...]
    proposals: Mapping[str, tuple[int, int]]  # of a memetic search: how many, and how many led to a better network

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges, from parent to child, in the order of the children's columns."""
        pairs = zip(self.variables, self.parents, strict=True)
        return tuple((parent, child) for child, above in pairs for parent in above)

    @property
    def dag(self) -> Dag:
        """The structure as a DAG of the variables."""
        place = {name: index for index, name in enumerate(self.variables)}
        return Dag(self.variables, tuple((place[source], place[target]) for source, target in self.edges))


def learn(
    table: Any,
    *,
    score: str = "auto",
    algorithm: str | Algorithm = "auto",
    knowledge: Knowledge | None = None,
    seed: int = 0,
    seconds: float | None = None,
    iss: float | None = None,
    progress: Progress | None = None,
) -> Learned:
    """The network that an algorithm finds for a table: a path, a pandas frame, a mapping of columns or a `Table`.

    The same seed gives the same network, unless `seconds` stop the search first.
    """
    table = Table.of(table)
    knowledge = Knowledge() if knowledge is None else knowledge
    if seconds is not None and seconds <= 0:
        raise TaskError(f"seconds is {seconds}; it must be more than 0")
    started = time.monotonic()
    name, chosen = algorithm_for(len(table.columns), algorithm)
    scores = families(table, score, iss)
    search = Search(scores, knowledge.constraints(table.names, scores.possible), seed, seconds, progress)
    chosen.run(search)
    return Learned(
        variables=table.names,
        parents=tuple(tuple(table.names[place] for place in bits(mask)) for mask in search.best),
        score=search.best_score,
        score_name=score_name(table, score),
        algorithm=name,
        seconds=time.monotonic() - started,
        evaluations=search.gains.evaluations,
        trace=tuple(search.trace),
        proposals=dict(search.proposals),
    )


def algorithm_for(size: int, algorithm: str | Algorithm) -> tuple[str, Algorithm]:
    """An algorithm and its name; `auto` chooses by the number of variables."""
    if not isinstance(algorithm, str):
        return type(algorithm).__name__, algorithm
    name = algorithm
    if algorithm == "auto":
        name = "exact" if size <= MAX_EXACT_BY_DEFAULT else "memetic"
    return name, ALGORITHMS.get(name)()
