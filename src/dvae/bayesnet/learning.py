"""A network from a table, in one call."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dvae.bayesnet.algorithms import ALGORITHMS, HillClimbing, check_exact
from dvae.bayesnet.conditional_gaussian import possible_edges
from dvae.bayesnet.counting import bits
from dvae.bayesnet.families import families, score_name
from dvae.bayesnet.knowledge import Edge, Knowledge
from dvae.bayesnet.missing import ROUNDS, drawn_from_columns, drawn_from_network
from dvae.bayesnet.network import Network, Variable
from dvae.bayesnet.parameters import fit
from dvae.bayesnet.rows import states_of
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
    completed: Table | None = field(
        default=None, repr=False, compare=False
    )  # what the score is of, if cells are missing

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

    The same seed gives the same network, unless `seconds` stop the search first. Missing values are drawn by
    structural EM (`dvae.bayesnet.missing`); the score is then that of the completed table.
    """
    table = Table.of(table)
    if seconds is not None and seconds <= 0:
        raise TaskError(f"seconds is {seconds}; it must be more than 0")
    check_learning(table, score, algorithm, knowledge or Knowledge())
    name, chosen = algorithm_for(len(table.columns), algorithm)
    job = _Job(table, score, knowledge or Knowledge(), seed, seconds, iss, progress)
    completed = job.completed() if table.num_missing else None
    search = job.search(table if completed is None else completed, chosen)
    return Learned(
        variables=table.names,
        parents=_names(table, search.best),
        score=search.best_score,
        score_name=score_name(table, score),
        algorithm=name,
        seconds=time.monotonic() - job.started,
        evaluations=search.gains.evaluations,
        trace=tuple(search.trace),
        proposals=dict(search.proposals),
        completed=completed,
    )


def check_learning(table: Table, score: str, algorithm: str | Algorithm, knowledge: Knowledge) -> None:
    """Refuses what cannot be learned, before any work is done."""
    score_name(table, score)
    name, _ = algorithm_for(len(table.columns), algorithm)
    if name == "exact":
        check_exact(len(table.columns))
    knowledge.constraints(table.names, possible_edges(np.array(table.is_discrete)))


class _Job:
    """One learning: its settings, when it began, and where the next search starts."""

    def __init__(
        self,
        table: Table,
        score: str,
        knowledge: Knowledge,
        seed: int,
        seconds: float | None,
        iss: float | None,
        progress: Progress | None,
    ) -> None:
        self.table, self.score, self.knowledge, self.seed = table, score, knowledge, seed
        self.seconds, self.iss, self.progress = seconds, iss, progress
        self.started = time.monotonic()
        self.before: tuple[int, ...] | None = None

    def search(self, table: Table, algorithm: Algorithm) -> Search:
        """A search at its end; it starts where the one before ended."""
        scores = families(table, self.score, self.iss)
        constraints = self.knowledge.constraints(table.names, scores.possible)
        if self.before is not None:
            constraints = constraints.starting_at(self.before)
        left = None if self.seconds is None else max(self.seconds - (time.monotonic() - self.started), 0.01)
        search = Search(scores, constraints, self.seed, left, self.progress)
        algorithm.run(search)
        self.before = search.best
        return search

    def completed(self) -> Table:
        """The table without gaps: structural EM, with the missing cells drawn."""
        generator = np.random.default_rng(self.seed)
        filled = drawn_from_columns(self.table, generator)
        for _ in range(ROUNDS):
            found = self.search(filled, HillClimbing())
            parents = dict(zip(self.table.names, _names(self.table, found.best), strict=True))
            empty = Network(tuple(Variable(name, states) for name, states in states_of(self.table).items()))
            network = fit(empty.with_parents(parents), filled)
            filled = drawn_from_network(self.table, filled, network, generator)
        return filled


def _names(table: Table, parents: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(table.names[place] for place in bits(mask)) for mask in parents)


def algorithm_for(size: int, algorithm: str | Algorithm) -> tuple[str, Algorithm]:
    """An algorithm and its name; `auto` chooses by the number of variables."""
    if not isinstance(algorithm, str):
        return type(algorithm).__name__, algorithm
    name = algorithm
    if algorithm == "auto":
        name = "exact" if size <= MAX_EXACT_BY_DEFAULT else "memetic"
    return name, ALGORITHMS.get(name)()
