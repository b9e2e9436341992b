"""Networks that no data can tell apart: the equivalence class of a DAG, and the distance of two classes.

Two DAGs are equivalent when they have the same edges, directions aside, and the same v-structures (Verma and Pearl,
1990). A class is drawn as a partially directed graph (CPDAG): an edge has an arrow where all its members agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dvae.bayesnet.knowledge import Knowledge
from dvae.bayesnet.network import Network
from dvae.dag import Dag
from dvae.errors import TaskError

Pair = tuple[str, str]


@dataclass(frozen=True)
class Cpdag:
    """An equivalence class: edges with one direction in all of its members, and edges with both."""

    names: tuple[str, ...]
    directed: frozenset[Pair]
    undirected: frozenset[Pair]  # each once, the names in sorted order

    def mark(self, first: str, second: str) -> str:
        """What lies between two variables: `->`, `<-`, `-` or nothing."""
        if (first, second) in self.directed:
            return "->"
        if (second, first) in self.directed:
            return "<-"
        return "-" if _sorted_pair(first, second) in self.undirected else ""

    @property
    def adjacencies(self) -> frozenset[Pair]:
        """All edges, directions aside."""
        return self.undirected | {_sorted_pair(*pair) for pair in self.directed}


def cpdag_of(dag: Dag) -> Cpdag:
    """The equivalence class of a DAG whose labels are the names of its variables."""
    names = tuple(str(label) for label in dag.types)
    if len(set(names)) < len(names):
        raise TaskError("a network names every variable once")
    return cpdag_of_edges(names, [(names[source], names[target]) for source, target in dag.edges])


def network_class(network: Network, knowledge: Knowledge | None = None) -> Cpdag:
    """The equivalence class of a network: all its members keep to what is known beside the data.

    None of them turns an edge from a discrete to a continuous variable round.
    """
    fixed = {edge for edge in network.edges if network[edge[0]].is_discrete and not network[edge[1]].is_discrete}
    if knowledge is not None:
        known = knowledge.constraints(network.names, ~np.eye(len(network), dtype=np.bool_))
        for source, target in network.edges:
            there, back = network.index_of[source], network.index_of[target]
            if known.required[there, back] or not known.allowed[back, there]:
                fixed.add((source, target))
    return cpdag_of_edges(network.names, network.edges, fixed)


def cpdag_of_edges(names: Sequence[str], edges: Iterable[Pair], fixed: Iterable[Pair] = ()) -> Cpdag:
    """The equivalence class of the network with these edges, of which the fixed ones have their direction anyway.

    Edges of v-structures are directed, and then those that a cycle or a new v-structure would follow from otherwise
    (the four rules of Meek, UAI 1995).
    """
    edges = list(edges)
    parents: dict[str, set[str]] = {name: set() for name in names}
    adjacent: dict[str, set[str]] = {name: set() for name in names}
    for source, target in edges:
        parents[target].add(source)
        adjacent[source].add(target)
        adjacent[target].add(source)
    directed: set[Pair] = set(fixed)
    for child, above in parents.items():
        for first, second in combinations(above, 2):
            if second not in adjacent[first]:
                directed |= {(first, child), (second, child)}
    waiting = [edge for edge in edges if edge not in directed]
    moved = True
    while moved:
        moved = False
        for edge in list(waiting):
            if _compelled(edge, directed, adjacent):
                directed.add(edge)
                waiting.remove(edge)
                moved = True
    return Cpdag(tuple(names), frozenset(directed), frozenset(_sorted_pair(*edge) for edge in waiting))


def structural_hamming_distance(first: Dag | Cpdag, second: Dag | Cpdag) -> int:
    """How many pairs of variables two equivalence classes join differently (as R's bnlearn counts it).

    An edge that is missing, that is too many, or that points otherwise counts once.
    """
    one = cpdag_of(first) if isinstance(first, Dag) else first
    other = cpdag_of(second) if isinstance(second, Dag) else second
    if set(one.names) != set(other.names):
        raise TaskError("the two networks have different variables; only networks over the same ones can be compared")
    return sum(one.mark(*pair) != other.mark(*pair) for pair in one.adjacencies | other.adjacencies)


def _compelled(edge: Pair, directed: set[Pair], adjacent: dict[str, set[str]]) -> bool:
    """Whether the directed edges leave this one, which a member of the class has, no other direction."""
    source, target = edge
    for above in adjacent[source]:
        if (above, source) in directed and above not in adjacent[target]:  # rule 1: else a new v-structure at source
            return True
    shared = adjacent[source] & adjacent[target]
    if any((source, middle) in directed and (middle, target) in directed for middle in shared):  # rule 2: else a cycle
        return True
    into = [middle for middle in shared if (middle, target) in directed]
    free = [middle for middle in into if (middle, source) not in directed]
    if any(second not in adjacent[first] for first, second in combinations(free, 2)):  # rule 3: else one of the above
        return True
    return any(  # rule 4, needed with fixed edges only
        (above, middle) in directed and above not in adjacent[target] for middle in into for above in adjacent[source]
    )


def _sorted_pair(first: str, second: str) -> Pair:
    return (first, second) if first <= second else (second, first)
