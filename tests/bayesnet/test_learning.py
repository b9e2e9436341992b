"""Learning from a table: every algorithm against all networks there are, with and without knowledge; missing values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dvae.bayesnet import (
    ALGORITHMS,
    Constraints,
    HillClimbing,
    Knowledge,
    Learned,
    Memetic,
    NetworkScores,
    Search,
    Table,
    Tabu,
    families,
    hill_climb,
    learn,
    structural_hamming_distance,
)
from dvae.bayesnet.counting import JointCounts, bits
from dvae.bayesnet.knowledge import adjacency_of, parents_of, parse_edge
from dvae.bayesnet.local_search import Climb, Gains
from dvae.bayesnet.memetic import Elites, class_walk, thinned
from dvae.bayesnet.missing import drawn_from_columns
from dvae.bayesnet.tables import embedded_asia
from dvae.errors import ConfigError, DvaeError, TaskError


def table(size: int = 4, seed: int = 0, rows: int = 200) -> Table:
    """Each variable copies the one before it, with noise."""
    generator = np.random.default_rng(seed)
    columns = [generator.integers(3, size=rows)]
    for _ in range(1, size):
        noise = generator.integers(3, size=rows)
        columns.append(np.where(generator.random(rows) < 0.6, columns[-1], noise))
    return Table.of({f"v{place}": column for place, column in enumerate(columns)})


def masks(found: Learned) -> list[int]:
    place = {name: number for number, name in enumerate(found.variables)}
    return [sum(1 << place[parent] for parent in above) for above in found.parents]


KNOWLEDGE = (
    Knowledge(),
    Knowledge(required=(("v3", "v0"),)),
    Knowledge(forbidden=(("v0", "v1"), ("v1", "v0"))),
    Knowledge(tiers=(("v3",), ("v1", "v2"))),
    Knowledge(max_parents=1),
    Knowledge(required=(("v0", "v3"), ("v1", "v3")), max_parents=2, forbidden=(("v2", "v3"),)),
    Knowledge(start=(("v0", "v2"), ("v2", "v1"))),
)


@pytest.mark.parametrize("known", KNOWLEDGE, ids=str)
@pytest.mark.parametrize("algorithm", ALGORITHMS.names())
def test_every_algorithm_keeps_to_what_is_known(algorithm: str, known: Knowledge) -> None:
    data = table()
    found = learn(data, algorithm=algorithm, knowledge=known)
    constraints = known.constraints(data.names)
    assert constraints.problem(masks(found)) is None
    assert found.score == pytest.approx(NetworkScores(data.discrete_data).score("bic", found.dag), abs=1e-8)
    if algorithm in ("exact", "memetic"):
        assert found.score == pytest.approx(best_of_all(data, constraints), abs=1e-7)


def best_of_all(data: Table, constraints: Constraints) -> float:
    scores = families(data)
    size = len(data.names)

    def best(placed: int, total: float) -> float:
        if placed == 2**size - 1:
            return total
        values = [-math.inf]
        for variable in range(size):
            if placed >> variable & 1:
                continue
            options = [mask for mask in range(2**size) if not mask & ~placed and fits(variable, mask, constraints)]
            if options:
                local = max(scores.local(variable, mask) for mask in options)
                values.append(best(placed | 1 << variable, total + local))
        return max(values)

    return best(0, 0.0)


def fits(variable: int, mask: int, constraints: Constraints) -> bool:
    inside = not mask & ~constraints.allowed_masks[variable]
    return inside and not constraints.required_masks[variable] & ~mask and mask.bit_count() <= constraints.max_parents


@pytest.mark.parametrize("kind", ["continuous", "mixed"])
@pytest.mark.parametrize("algorithm", ALGORITHMS.names())
def test_all_algorithms_learn_from_numbers(algorithm: str, kind: str) -> None:
    generator = np.random.default_rng(0)
    group = generator.integers(2, size=400)
    x = generator.normal(size=400) + (2 * group if kind == "mixed" else 0)
    y = x - generator.normal(size=400)
    columns = {"x": x, "y": y, "z": generator.normal(size=400)}
    found = learn(columns | ({"group": group} if kind == "mixed" else {}), algorithm=algorithm)
    assert found.score_name == {"continuous": "bic-g", "mixed": "bic-cg"}[kind]
    pairs = {frozenset(edge) for edge in found.edges}
    assert pairs == {frozenset("xy")} | ({frozenset(("group", "x"))} if kind == "mixed" else set())
    assert all(target != "group" for _, target in found.edges)


def test_hill_climbing_is_the_plain_one() -> None:
    """The climb with kept gains takes the same steps as the one that scores network by network."""
    for seed in range(5):
        data = table(7, seed)
        plain = hill_climb(NetworkScores(data.discrete_data))
        found = learn(data, algorithm=HillClimbing())
        assert found.score == pytest.approx(plain.score, abs=1e-8)
        assert set(found.edges) == {(plain.dag.types[u], plain.dag.types[v]) for u, v in plain.dag.edges}


def test_the_same_seed_gives_the_same_network_and_more_effort_no_worse_one() -> None:
    data = Table.of(embedded_asia())
    one, two = (learn(data, algorithm="memetic", seed=3) for _ in range(2))
    assert (one.parents, one.score, one.evaluations) == (two.parents, two.score, two.evaluations)
    climbed = learn(data, algorithm="hill-climbing")
    assert learn(data, algorithm=HillClimbing(restarts=5)).score >= climbed.score
    assert learn(data, algorithm=Tabu()).score >= climbed.score
    assert one.score == pytest.approx(learn(data, algorithm="exact").score)
    assert [point.score for point in one.trace] == sorted(point.score for point in one.trace)


def test_time_ends_a_search() -> None:
    found = learn(table(8), algorithm="memetic", seconds=0.05)
    assert found.seconds < 30
    with pytest.raises(TaskError, match="seconds is 0"):
        learn(table(), seconds=0)


def test_exact_learning_says_what_it_would_need() -> None:
    with pytest.raises(TaskError, match=r"at most 20 variables, not 21: it would need 0.4 GiB"):
        learn(table(21), algorithm="exact")


def test_a_walk_within_the_class_leaves_the_score_and_the_class() -> None:
    data, generator = Table.of(embedded_asia()), np.random.default_rng(0)
    found = learn(data)
    constraints = Knowledge().constraints(data.names)
    scores = NetworkScores(data.discrete_data)
    seen = set()
    for _ in range(20):
        walked = class_walk(masks(found), constraints, generator)
        seen.add(tuple(walked))
        assert structural_hamming_distance(scores.dag(walked), found.dag) == 0
    assert len(seen) > 1
    fewer = thinned(masks(found), constraints, generator)
    assert all(not new & ~old for new, old in zip(fewer, masks(found), strict=True))


def test_proposals_are_climbed_from_and_counted() -> None:
    data = table(6)
    proposed = Memetic(propose=lambda search, elites: [(1 << place) - 1 for place in range(6)], share=1.0, patience=3)
    found = learn(data, algorithm=proposed, knowledge=Knowledge(max_parents=2))
    assert found.proposals["proposed"][0] >= 3
    assert "perturbed" not in found.proposals
    assert max(mask.bit_count() for mask in masks(found)) <= 2


def test_elites_are_the_best_and_no_two_alike() -> None:
    elites = Elites(2)
    assert [elites.add(score, (0,)) for score in (-3.0, -1.0, -1.0, -5.0, -2.0)] == [True, True, False, False, True]
    assert [score for score, _ in elites.members] == [-1.0, -2.0]


def test_whatever_is_proposed_is_repaired() -> None:
    known = Knowledge(required=(("v0", "v1"),), forbidden=(("v2", "v3"),), max_parents=2)
    constraints = known.constraints([f"v{place}" for place in range(5)])
    generator = np.random.default_rng(0)
    for _ in range(50):
        drawn = [int(mask) & ~(1 << place) for place, mask in enumerate(generator.integers(32, size=5))]
        assert constraints.problem(constraints.repaired(drawn)) is None
    matrix = adjacency_of([0, 1, 3, 0, 8])
    assert parents_of(matrix) == [0, 1, 3, 0, 8]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": [["a", "b"]], "forbidden": [["a", "b"]]}, "the edge a -> b is both required and forbidden"),
        ({"required": [["a", "b"], ["b", "c"], ["c", "a"]]}, "the required edges go in a circle"),
        ({"required": [["a", "b"]], "tiers": [["b"], ["a"]]}, "the tiers put 'b' before 'a'"),
        (
            {"required": [["a", "c"], ["b", "c"]], "max_parents": 1},
            "2 edges into 'c' are required, and max_parents is 1",
        ),
        ({"required": [["a", "a"]]}, "no variable is its own parent"),
        ({"forbidden": [["a", "z"]]}, "the forbidden edge a -> z names 'z', which is no variable"),
        ({"tiers": [["a"], ["b", "a"]]}, "the variable 'a' stands in two tiers"),
        ({"start": [["a", "b"], ["b", "a"]]}, "the start network cannot be used: it has the cycle"),
        ({"start": [["a", "b"]], "forbidden": [["a", "b"]]}, "its edge a -> b is not allowed"),
        ({"start": [["a", "b"]], "required": [["a", "c"]]}, "it lacks the required edge a -> c"),
        ({"require": []}, "there is no 'require' in knowledge; did you mean 'required'"),
        ({"required": ["a"]}, "required is a list of pairs of names"),
        ({"max_parents": "2"}, "max_parents is '2'; it must be a whole number"),
        ({"max_parents": -1}, "max_parents is -1"),
    ],
)
def test_contradictions_are_refused_by_name(known: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Knowledge.from_mapping(known).constraints(["a", "b", "c"])
    assert message in str(caught.value)


def test_knowledge_goes_through_toml_and_adds_up(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "known.toml"
    path.write_text('required = [["a", "b"]]\ntiers = [["a"], ["b", "c"]]\nmax_parents = 3\n', encoding="utf-8")
    known = Knowledge.read(path)
    assert Knowledge.from_mapping(known.to_mapping()) == known
    both = known.merged(Knowledge(required=(("a", "c"),), max_parents=2))
    assert both == replace(known, required=(("a", "b"), ("a", "c")), max_parents=2)
    assert parse_edge("blood pressure -> a->b") == ("blood pressure", "a->b")
    with pytest.raises(DvaeError, match="an edge is written"):
        parse_edge("a, b")


def with_holes(data: Table, share: float, seed: int = 0) -> Table:
    generator = np.random.default_rng(seed)
    values = []
    for column in data.columns:
        holes = generator.random(data.num_rows) < share
        nothing = -1 if column.is_discrete else np.nan
        values.append(np.where(holes, nothing, column.values).astype(column.values.dtype))
    return data.with_values(values)


def test_missing_values_change_little_of_what_is_learned() -> None:
    data = Table.of(embedded_asia())
    full = learn(data)
    holes = with_holes(data, 0.1)
    found = learn(holes)
    assert structural_hamming_distance(found.dag, full.dag) <= 1
    assert found.completed is not None
    assert found.completed.num_missing == 0
    for before, after in zip(holes.columns, found.completed.columns, strict=True):
        assert (before.values == after.values)[~before.is_missing].all()
    assert learn(holes).parents == found.parents


def test_missing_numbers_and_words_together() -> None:
    generator = np.random.default_rng(1)
    group = generator.integers(2, size=1500)
    x = generator.normal(size=1500)
    y = np.where(group, 2, -1) * x + 0.5 * generator.normal(size=1500)
    data = Table.of({"group": group, "x": x, "y": y, "z": generator.normal(size=1500)})
    found = learn(with_holes(data, 0.15))
    assert {frozenset(edge) for edge in found.edges} == {frozenset("xy"), frozenset(("group", "y"))}
    completed = found.completed
    assert completed is not None
    assert drawn_from_columns(completed, generator).columns[1].values.tolist() == completed.columns[1].values.tolist()


def test_imputation_keeps_a_dependence_that_columns_alone_would_lose() -> None:
    generator = np.random.default_rng(2)
    x = generator.normal(size=800)
    data = Table.of({"x": x, "y": x + 0.1 * generator.normal(size=800)})
    holes = with_holes(data, 0.4)
    completed = learn(holes).completed
    assert completed is not None
    marginal = drawn_from_columns(holes, generator)

    def correlation(filled: Table) -> float:
        return float(np.corrcoef(filled.columns[0].values, filled.columns[1].values)[0, 1])

    assert correlation(marginal) < 0.6
    assert correlation(completed) > 0.97


def test_many_rows_are_counted_by_groups_of_equal_ones() -> None:
    generator = np.random.default_rng(0)
    codes = generator.integers(2, size=(20_000, 6))
    codes[:, 1] = codes[:, 0] ^ (generator.random(20_000) < 0.1)
    data = Table.of({f"v{place}": codes[:, place] for place in range(6)})
    assert len(data.discrete_data.grouped[0]) <= 64
    assert data.discrete_data.codes.dtype == np.int8
    assert {frozenset(edge) for edge in learn(data).edges} == {frozenset(("v0", "v1"))}


def test_gains_are_kept() -> None:
    data = table(6)
    scores = families(data)
    search = Search(scores, Knowledge().constraints(data.names))
    HillClimbing().run(search)
    before = search.gains.evaluations
    HillClimbing().run(search)
    assert search.gains.evaluations == before
    assert sum(1 for _ in bits(search.best[0])) <= 5


@pytest.mark.parametrize("known", [Knowledge(), Knowledge(max_parents=2), Knowledge(forbidden=(("v0", "v1"),))])
def test_the_best_move_is_the_first_of_the_best_of_all_moves(known: Knowledge) -> None:
    data = table(size=9, rows=500)
    gains = Gains(families(data), known.constraints(data.names))
    climb = Climb(gains, [0] * 9)
    generator = np.random.default_rng(0)
    for _ in range(60):
        every = climb.move_gains()
        best, gain = climb.best_move()
        assert (best, gain) == (int(every.argmax()), every.max())
        climb.move(int(generator.choice(np.flatnonzero(every > -np.inf))) if generator.random() < 0.7 else best)


def test_counts_of_a_family_and_of_its_parents_are_those_of_each_alone() -> None:
    rows, weights = table(size=6, rows=3000).discrete_data.grouped
    for columns, weight in ((rows.T, weights), (rows.T, None)):
        joint = JointCounts([np.ascontiguousarray(column) for column in columns], [3] * 6, weight)
        for variable, parents in ((0, 0), (2, 0b1011), (5, 0b11111)):
            for family, above in joint.extended_family(variable, parents):
                for mask, found in ((parents | 1 << variable, family), (parents, above)):
                    for place, first in zip(found.places, found.firsts, strict=True):
                        if not mask >> place & 1:
                            counts = found.counts[:, first : first + 3].ravel()
                            assert sorted(counts[counts > 0]) == sorted(joint.counts(mask | 1 << int(place)))
