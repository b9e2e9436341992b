"""Equivalence classes, against all DAGs of a few variables."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, product

import pytest

from dvae.bayesnet import Cpdag, Knowledge, Network, cpdag_of, network_class, structural_hamming_distance
from dvae.dag import Dag
from dvae.errors import DagError, TaskError

NAMES = ("a", "b", "c", "d")


def all_dags() -> list[Dag]:
    found = []
    pairs = list(combinations(range(4), 2))
    for marks in product(("", ">", "<"), repeat=len(pairs)):
        edges = [pair if mark == ">" else pair[::-1] for pair, mark in zip(pairs, marks, strict=True) if mark]
        try:
            found.append(Dag(NAMES, tuple(edges)))
        except DagError:
            continue
    return found


def signature(dag: Dag) -> tuple[frozenset[frozenset[str]], frozenset[tuple[frozenset[str], str]]]:
    """Skeleton and v-structures: what equivalent DAGs share."""
    edges = {(str(dag.types[u]), str(dag.types[v])) for u, v in dag.edges}
    skeleton = frozenset(frozenset(edge) for edge in edges)
    colliders = {
        (frozenset((first[0], second[0])), first[1])
        for first, second in combinations(edges, 2)
        if first[1] == second[1] and frozenset((first[0], second[0])) not in skeleton
    }
    return skeleton, frozenset(colliders)


def test_the_class_of_every_dag_of_four_variables_is_what_its_members_agree_on() -> None:
    dags = all_dags()
    assert len(dags) == 543
    classes = defaultdict(list)
    for dag in dags:
        classes[signature(dag)].append({(str(dag.types[u]), str(dag.types[v])) for u, v in dag.edges})
    assert len(classes) == 185
    for dag in dags:
        members = classes[signature(dag)]
        shared, every = set.intersection(*members), set.union(*members)
        wanted = {tuple(sorted(edge)) for edge in every - shared}
        found = cpdag_of(dag)
        assert found.directed == shared
        assert found.undirected == wanted


def test_no_member_of_a_mixed_class_leads_from_a_number_to_a_state() -> None:
    def allowed(edges: set[tuple[str, str]]) -> bool:
        return not any(source in "cd" and target in "ab" for source, target in edges)

    states = {"a": ("0", "1"), "b": ("0", "1"), "c": None, "d": None}
    classes = defaultdict(list)
    for dag in all_dags():
        edges = {(str(dag.types[u]), str(dag.types[v])) for u, v in dag.edges}
        if allowed(edges):
            classes[signature(dag)].append((edges, network_class(Network.of(dag, states, NAMES))))
    for members in classes.values():
        shared = set.intersection(*(edges for edges, _ in members))
        assert all(found.directed == shared for _, found in members)


def test_distance_counts_pairs_that_are_joined_differently() -> None:
    chain, back = Dag(NAMES, ((0, 1), (1, 2))), Dag(NAMES, ((1, 0), (2, 1)))
    collider = Dag(NAMES, ((0, 1), (2, 1)))
    assert structural_hamming_distance(chain, back) == 0
    assert structural_hamming_distance(chain, collider) == 2
    assert structural_hamming_distance(cpdag_of(chain), Dag(NAMES)) == 2
    assert structural_hamming_distance(collider, Dag(NAMES, ((0, 1), (2, 1), (0, 3)))) == 1
    with pytest.raises(TaskError, match="different variables"):
        structural_hamming_distance(chain, Dag(("a", "b")))


def test_marks_of_a_class() -> None:
    found = cpdag_of(Dag(NAMES, ((0, 1), (2, 1), (1, 3))))
    assert found == Cpdag(found.names, frozenset({("a", "b"), ("c", "b"), ("b", "d")}), frozenset())
    assert [found.mark(*pair) for pair in (("a", "b"), ("b", "a"), ("a", "c"))] == ["->", "<-", ""]
    assert cpdag_of(Dag(("a", "b"), ((0, 1),))).mark("b", "a") == "-"


def test_what_is_known_gives_edges_their_direction() -> None:
    network = Network.of(Dag(("a", "b", "c"), ((0, 1), (1, 2))), dict.fromkeys("abc", ("0", "1")))
    assert network_class(network).directed == set()
    for knowledge in (Knowledge(tiers=(("a",), ("b", "c"))), Knowledge(required=(("a", "b"),))):
        assert network_class(network, knowledge).directed == {("a", "b"), ("b", "c")}  # b <- c would be a v-structure
    assert network_class(network, Knowledge(forbidden=(("a", "c"),))).directed == set()
