"""Scores of Bayesian networks: equal to bnlearn's, to closed forms, and to the obvious loop over the rows."""

from __future__ import annotations

import csv
import gzip
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dag_strategies import networks
from dvae.bayesnet.discrete import DiscreteData
from dvae.bayesnet.scores import SCORE_NAMES, NetworkScores, ScoreName
from dvae.bayesnet.tables import ASIA_ROWS, ASIA_SEED, embedded_asia, sample_asia, split_order, with_order
from dvae.dag import Dag
from dvae.errors import FormatError, MissingError, TaskError
from dvae.tasks import BayesNetTask, from_spec, get, to_spec
from dvae.tasks.bayesnet import ASIA_VARIABLES

ROUNDED = 5.1e-7  # the reference files have six decimals


def random_data(levels: Sequence[int], rows: int, seed: int) -> DiscreteData:
    """Every column depends on the one before; all levels occur."""
    generator = np.random.default_rng(seed)
    codes = np.stack([generator.integers(size, size=rows) for size in levels], axis=1)
    for column in range(1, len(levels)):
        copied = generator.random(rows) < 0.5
        codes[copied, column] = codes[copied, column - 1] % levels[column]
    codes[: max(levels)] = np.arange(max(levels))[:, None] % np.array(levels)
    names = tuple(f"v{column}" for column in range(len(levels)))
    return DiscreteData(names, codes, tuple(tuple(map(str, range(size))) for size in levels))


DATA = random_data((2, 3, 4, 2), rows=60, seed=0)


def plain_score(name: str, data: DiscreteData, dag: Dag, iss: float = 1.0) -> float:
    """The textbook formulas, one row and one configuration after the other."""
    place = {variable: column for column, variable in enumerate(data.names)}
    total = 0.0
    for node, before in enumerate(dag.predecessors()):
        child = place[str(dag.types[node])]
        parents = [place[str(dag.types[parent])] for parent in before]
        r, q = len(data.levels[child]), math.prod(len(data.levels[parent]) for parent in parents)
        both = Counter((tuple(row[parents].tolist()), int(row[child])) for row in data.codes)
        given_counts: Counter[tuple[int, ...]] = Counter()
        for (configuration, _), count in both.items():
            given_counts[configuration] += count
        loglik = sum(
            count * math.log(count / given_counts[configuration]) for (configuration, _), count in both.items()
        )
        if name == "k2":
            total += sum(math.lgamma(r) - math.lgamma(count + r) for count in given_counts.values())
            total += sum(math.lgamma(count + 1) for count in both.values())
        elif name == "bde":
            a, b = iss / q, iss / (q * r)
            total += sum(math.lgamma(a) - math.lgamma(a + count) for count in given_counts.values())
            total += sum(math.lgamma(b + count) - math.lgamma(b) for count in both.values())
        else:
            price = {"bic": math.log(data.num_rows) / 2, "aic": 1.0, "loglik": 0.0}[name]
            total += loglik - price * (r - 1) * q
    return total


@pytest.mark.parametrize("name", SCORE_NAMES)
@given(dag=networks(DATA.names))
@settings(max_examples=20)
def test_scores_are_the_textbooks(name: ScoreName, dag: Dag) -> None:
    scores = NetworkScores(DATA)
    assert scores.score(name, dag) == pytest.approx(plain_score(name, DATA, dag), abs=1e-9)


@pytest.mark.parametrize("iss", [0.1, 1, 10])
def test_the_imaginary_sample_size_is_bdes(iss: float) -> None:
    dag = Dag(DATA.names, ((0, 1), (0, 3), (1, 2), (2, 3)))
    scores = NetworkScores(DATA, iss)
    assert scores.score("bde", dag) == pytest.approx(plain_score("bde", DATA, dag, iss), abs=1e-9)
    assert scores.score("k2", dag) == NetworkScores(DATA).score("k2", dag)


def test_one_coin_by_hand() -> None:
    """Three heads and one tail beside a column that never matters."""
    data = DiscreteData(("coin", "other"), np.array([[0, 0], [0, 1], [0, 0], [1, 1]]), (("h", "t"), ("x", "y")))
    scores = NetworkScores(data)
    loglik = 3 * math.log(3 / 4) + math.log(1 / 4)
    assert scores.local("loglik", "coin") == pytest.approx(loglik)
    assert scores.local("aic", "coin") == pytest.approx(loglik - 1)
    assert scores.local("bic", "coin") == pytest.approx(loglik - math.log(4) / 2)
    assert scores.local("bic", "coin", ["other"]) == pytest.approx(2 * math.log(1 / 2) - math.log(4))
    assert scores.local("k2", "coin") == pytest.approx(math.log(1 / 20))  # 3! 1! / 5!
    assert scores.local("bde", "coin") == pytest.approx(math.log(0.5 * 1.5 * 2.5 * 0.5 / (1 * 2 * 3 * 4)))


def test_parent_configurations_that_never_occur_are_parameters_all_the_same() -> None:
    codes = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    scores = NetworkScores(DiscreteData(("a", "b", "c"), codes, (("0", "1"),) * 3))
    difference = scores.local("loglik", "c", ["a", "b"]) - scores.local("aic", "c", ["a", "b"])
    assert difference == pytest.approx(4)  # of which two never occur


@pytest.mark.parametrize("name", SCORE_NAMES)
def test_a_score_is_the_sum_of_its_local_terms(name: ScoreName) -> None:
    scores = NetworkScores(DATA)
    dag = Dag(("v2", "v0", "v3", "v1"), ((0, 1), (0, 2), (1, 2), (2, 3)))
    parents = {"v2": [], "v0": ["v2"], "v3": ["v0", "v2"], "v1": ["v3"]}
    terms = [scores.local(name, variable, given) for variable, given in parents.items()]
    assert scores.score(name, dag) == pytest.approx(sum(terms), abs=1e-9)


@pytest.mark.parametrize("name", SCORE_NAMES)
@given(order=st.permutations(range(4)), dag=networks(DATA.names))
@settings(max_examples=10)
def test_the_order_of_columns_and_nodes_is_no_matter(name: ScoreName, order: list[int], dag: Dag) -> None:
    other = DiscreteData(
        tuple(DATA.names[column] for column in order), DATA.codes[:, order], tuple(DATA.levels[c] for c in order)
    )
    assert NetworkScores(other).score(name, dag) == pytest.approx(NetworkScores(DATA).score(name, dag), abs=1e-9)


def test_equivalent_networks_have_equal_scores() -> None:
    chain, fork = Dag(DATA.names, ((0, 1), (1, 2))), Dag(("v1", "v0", "v2", "v3"), ((0, 1), (0, 2)))
    scores = NetworkScores(DATA)
    for name in ("bic", "aic", "loglik", "bde"):
        assert scores.score(name, chain) == pytest.approx(scores.score(name, fork), abs=1e-9)


@pytest.mark.parametrize("name", SCORE_NAMES)
def test_many_at_once_are_one_by_one(name: ScoreName) -> None:
    task = get("asia")
    dags = task.sample(200, seed=0)
    batch = task.batch(dags).adjacency[:, 1:-1, 1:-1].numpy()
    scores = NetworkScores(embedded_asia())
    single = [scores.score(name, dag) for dag in dags]
    assert scores.score_many(name, dags).tolist() == single
    assert scores.score_many(name, batch).tolist() == single
    assert scores.score_many(name, []).tolist() == []


@pytest.mark.parametrize("size", [40, 70])
def test_many_variables_and_many_parents(size: int) -> None:
    """The joint configurations of 70 variables outnumber 64-bit integers."""
    generator = np.random.default_rng(0)
    codes = generator.integers(3, size=(50, size))
    codes[:3] = np.arange(3)[:, None]
    data = DiscreteData(tuple(f"v{i}" for i in range(size)), codes, (("a", "b", "c"),) * size)
    dag = Dag(data.names, tuple((source, size - 1) for source in range(size - 1)))
    scores = NetworkScores(data)
    for name in SCORE_NAMES:
        assert scores.score(name, dag) == pytest.approx(plain_score(name, data, dag), rel=1e-12)
    adjacency = np.zeros((2, size, size), dtype=bool)
    adjacency[1, :-1, -1] = True
    assert scores.score_many("bde", adjacency)[1] == scores.score("bde", dag)


@pytest.mark.parametrize("name", SCORE_NAMES)
@pytest.mark.parametrize("most", [None, 0, 2])
def test_tables_of_all_parent_sets_hold_the_local_terms(name: ScoreName, most: int | None) -> None:
    scores = NetworkScores(DATA)
    for variable, table in enumerate(scores.local_tables(name, most)):
        others = [place for place in range(4) if place != variable]
        for small, value in enumerate(table.tolist()):
            parents = sum(1 << other for place, other in enumerate(others) if small >> place & 1)
            if most is not None and parents.bit_count() > most:
                assert value == -math.inf
            else:
                assert value == pytest.approx(scores.local_of(name, variable, parents), abs=1e-9)


BAD_NETWORKS = {
    "no variable 'z'": Dag(("v0", "v1", "v2", "z")),
    "no variable 7": Dag(("v0", "v1", "v2", 7)),
    "'v0' stands 2 times": Dag(("v0", "v1", "v0", "v2")),
    "'v3' is missing": Dag(("v0", "v1", "v2")),
}


@pytest.mark.parametrize("words", BAD_NETWORKS)
def test_what_is_no_network_over_the_variables_is_refused(words: str) -> None:
    scores = NetworkScores(DATA)
    with pytest.raises(TaskError, match=f"DAG 1 .*{words}"):
        scores.score_many("bic", [Dag(DATA.names), BAD_NETWORKS[words]])
    assert words in str(scores.problem(BAD_NETWORKS[words]))
    assert scores.problem(Dag(DATA.names)) is None


def test_matrices_with_a_cycle_or_of_another_size_are_refused() -> None:
    scores = NetworkScores(DATA)
    matrices = np.zeros((3, 4, 4), dtype=bool)
    matrices[1, 0, 1] = matrices[1, 1, 3] = matrices[2, 2, 3] = True
    assert len(scores.score_many("bic", matrices)) == 3
    matrices[2, 3, 2] = True
    with pytest.raises(TaskError, match="network 2 has a cycle"):
        scores.score_many("bic", matrices)
    with pytest.raises(TaskError, match="batch x 4 x 4"):
        scores.score_many("bic", matrices[:, :3, :3])


@pytest.mark.parametrize("iss", [0, -1, math.nan, math.inf])
def test_an_imaginary_sample_size_that_is_none_is_refused(iss: float) -> None:
    with pytest.raises(TaskError, match="imaginary sample size"):
        NetworkScores(DATA, iss)


def test_unknown_scores_and_parents_are_refused() -> None:
    scores = NetworkScores(DATA)
    for wrong in (
        lambda: scores.local("bics", "v0"),  # type: ignore[arg-type]
        lambda: scores.local("bic", "z"),
        lambda: scores.local("bic", "v0", ["v0"]),
        lambda: scores.local("bic", "v0", ["v1", "v1"]),
        lambda: scores.score_many("mdl", []),  # type: ignore[arg-type]
    ):
        with pytest.raises(TaskError):
            wrong()


def test_a_table_is_read_as_it_is(tmp_path: Path) -> None:
    text = '\ufeff"first, one",B\r\nNone,no\r\n"say ""x""", yes\r\n\r\nNone,no\r\n'
    (tmp_path / "my.csv").write_bytes(text.encode())
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    for path in (tmp_path / "my.csv", tmp_path / "packed"):
        data = DiscreteData.read_csv(path)
        assert data.names == ("first, one", "B")
        assert data.levels == (("None", 'say "x"'), ("no", "yes"))
        assert data.codes.tolist() == [[0, 0], [1, 1], [0, 0]]
        assert data.distinct[1].tolist() == [2, 1]


BAD_TABLES = {
    "nothing": ("", 1, "fewer than two columns"),
    "one column": ("A\nx\ny\n", 1, "fewer than two columns"),
    "semicolons": ("A;B\nx;y\n", 1, "separated by commas"),
    "no rows": ("A,B\n", 1, "no rows"),
    "a column without a name": (",B\nx,y\n", 1, "column 1 has no name"),
    "a name twice": ("A,B,A\nx,y,z\n", 1, "'A' is named twice"),
    "a short row": ("A,B\nx,y\nx\n", 3, "1 cells where the header names 2"),
    "a long row": ("A,B\nx,y,z\n", 2, "3 cells"),
    "an empty cell": ("A,B\nx,y\n\nx,\n", 4, "'B' is missing"),
    "a blank cell": ("A,B\nx, \n", 2, "'B' is missing"),
    "NA": ("A,B\nNA,y\n", 2, "'A' is missing"),
    "NaN": ('A,B\nx,"NaN"\n', 2, "'B' is missing"),
    "a constant column": ("A,B\nx,y\nz,y\n", 1, "'B', is 'y' in every row"),
    "an open quote": ('A,B\nx,"y\n', 2, "not a line of comma-separated values"),
    "no text": ("A,B\nx,\udcff\n", 2, "not UTF-8"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_malformed_table_is_refused_by_file_and_line(case: str, tmp_path: Path) -> None:
    text, line, words = BAD_TABLES[case]
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(FormatError) as caught:
        DiscreteData.read_csv(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert words in str(caught.value)


def test_a_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"none\.csv"):
        DiscreteData.read_csv(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("names", "codes", "levels"),
    [
        (("a",), np.zeros((2, 2), dtype=int), (("0", "1"),) * 2),
        (("a", "a"), np.zeros((2, 2), dtype=int), (("0", "1"),) * 2),
        (("a", "b"), np.zeros((0, 2), dtype=int), (("0", "1"),) * 2),
        (("a", "b"), np.zeros((2, 2), dtype=int), (("0", "1"), ("0",))),
        (("a", "b"), np.full((2, 2), 2), (("0", "1"),) * 2),
        (("a", "b"), np.full((2, 2), -1), (("0", "1"),) * 2),
    ],
)
def test_data_check_themselves(names: tuple[str, ...], codes: np.ndarray, levels: tuple[tuple[str, ...], ...]) -> None:
    with pytest.raises(TaskError):
        DiscreteData(names, codes, levels)


def test_the_embedded_rows_are_drawn_from_the_asia_network() -> None:
    drawn, kept = sample_asia(ASIA_ROWS, ASIA_SEED), embedded_asia()
    assert kept.names == drawn.names == ASIA_VARIABLES
    assert kept.levels == drawn.levels
    assert kept.num_rows == 5000
    for ours, theirs in zip(kept.distinct, drawn.distinct, strict=True):
        assert ours.tolist() == theirs.tolist()


def test_the_asia_network_has_its_published_probabilities() -> None:
    columns = dict(zip(ASIA_VARIABLES, sample_asia(400_000, seed=1).codes.T.astype(bool), strict=True))
    a, s, t, lung, b, e, x, d = (columns[name] for name in "ASTLBEXD")
    for event, given_event, probability in [
        (a, a | True, 0.01), (s, a | True, 0.5), (t, a, 0.05), (t, ~a, 0.01), (lung, s, 0.1), (lung, ~s, 0.01),
        (b, s, 0.6), (b, ~s, 0.3), (e, t | lung, 1), (e, ~t & ~lung, 0), (x, e, 0.98), (x, ~e, 0.05),
        (d, e & b, 0.9), (d, e & ~b, 0.7), (d, ~e & b, 0.8), (d, ~e & ~b, 0.1),
    ]:  # fmt: skip
        bound = 5 * math.sqrt(probability * (1 - probability) / given_event.sum())
        assert abs(event[given_event].mean() - probability) <= bound


def test_asia_scores_its_networks() -> None:
    task = get("asia")
    dags = task.sample(20, seed=0)
    expected = [plain_score("bic", embedded_asia(), dag) for dag in dags]
    assert task.scores(dags) == pytest.approx(expected, abs=1e-6)
    assert task.score(dags[3]) == pytest.approx(expected[3], abs=1e-6)
    assert task.dataset(size=20, seed=0).everything.scores == tuple(task.scores(dags))
    assert from_spec(to_spec(task)).score(dags[0]) == task.score(dags[0])
    old = {"kind": "bayesnet", "name": "asia", "variables": list(ASIA_VARIABLES)}
    assert from_spec(old).score(dags[0]) == task.score(dags[0])


@pytest.mark.parametrize("name", ["enas6", "bn:A,B,C"])
def test_a_task_without_a_score_says_so(name: str) -> None:
    task = get(name)
    with pytest.raises(TaskError, match=f"{name} has no "):
        task.score(task.sample(1, seed=0)[0])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "my.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["cause", "effect, late", "noise"])
        generator = np.random.default_rng(0)
        for cause in range(60):
            effect = cause % 3 if generator.random() < 0.9 else 0
            writer.writerow([f"c{cause % 3}", f"e{effect}", f"n{generator.integers(2)}"])
    return path


def test_any_table_is_a_task(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    task = get(f"bn:{table}", order=("noise", "cause", "effect, late"))
    assert isinstance(task, BayesNetTask)
    assert task.variables == ("noise", "cause", "effect, late")
    assert not caplog.records
    true = Dag(task.variables, ((1, 2),))
    assert task.score(true) == pytest.approx(plain_score("bic", DiscreteData.read_csv(table), true), abs=1e-9)
    assert task.score(true) > task.score(Dag(task.variables))
    data = task.dataset(size=30)
    assert data.train.scored
    assert list(data.everything.scores) == task.scores(data.everything.dags)
    again = get(task.full_name)
    assert again.spec() == task.spec()
    assert not caplog.records


def test_an_order_that_is_not_given_is_estimated_and_told(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    task = get(f"bn:{table}")
    assert isinstance(task, BayesNetTask)
    assert sorted(task.variables) == ["cause", "effect, late", "noise"]
    assert "no order" in caplog.text
    assert ",".join(task.variables) in caplog.text
    assert get(f"bn:{table}").spec() == task.spec()


def test_a_column_with_a_reserved_name_is_refused_by_file(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("<start>,b\nx,y\nz,w\n")
    with pytest.raises(TaskError, match=r"odd\.csv: .*'<start>' is reserved"):
        get(f"bn:{tmp_path / 'odd.csv'}")


@pytest.mark.parametrize(
    ("order", "words"),
    [(("cause", "noise"), "leaves out"), (("cause", "noise", "x"), "'x'"), (("cause", "cause", "noise"), "twice")],
)
def test_an_order_names_every_variable_once(table: Path, order: tuple[str, ...], words: str) -> None:
    for wrong in (lambda: get(f"bn:{table}", order=order), lambda: get(with_order(f"bn:{table}", order))):
        with pytest.raises(TaskError, match=words):
            wrong()


def test_tasks_with_known_variables_take_an_order_too() -> None:
    reversed_order = ASIA_VARIABLES[::-1]
    task = get("asia", order=reversed_order)
    assert isinstance(task, BayesNetTask)
    assert (task.name, task.variables) == ("asia", reversed_order)
    assert get(task.full_name).spec() == task.spec()
    assert get("bn:A,B?order=B,A").spec() == get("bn:B,A").spec()
    with pytest.raises(TaskError, match="Bayesian networks"):
        get("enas6", order=("A", "B"))
    with pytest.raises(TaskError, match="Bayesian networks"):
        get("enas6?order=A,B")


@given(st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1), min_size=1))
def test_an_order_in_a_name_comes_back(order: list[str]) -> None:
    assert split_order(with_order("bn:my.csv", order)) == ("bn:my.csv", tuple(order))


def test_a_task_whose_table_is_gone_only_cannot_score(table: Path, caplog: pytest.LogCaptureFixture) -> None:
    task = get(f"bn:{table}", order=("noise", "cause", "effect, late"))
    dag = task.sample(1, seed=0)[0]
    spec = to_spec(task)
    assert from_spec(spec).score(dag) == task.score(dag)
    table.rename(table.with_name("away.csv"))
    left = from_spec(spec)
    assert to_spec(left) == spec
    assert left.unbatch(left.batch([dag])) == [dag]
    with pytest.raises(MissingError, match=r"cannot score .*my\.csv"):
        left.score(dag)
    assert not left.dataset(size=10).train.scored
    assert "no scores" in caplog.text
    table.write_text("cause,noise\na,b\nc,d\n")
    with pytest.raises(TaskError, match="other columns"):
        from_spec(spec).score(dag)


def test_the_bnlearn_rows_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_DATA", str(tmp_path))
    with pytest.raises(MissingError, match="set DVAE_DATA"):
        get("asia-bnlearn")
    (tmp_path / "asia").mkdir()
    (tmp_path / "asia" / "asia.csv").write_text("A,S\nyes,no\nno,yes\n")
    with pytest.raises(TaskError, match="'T'"):
        get("asia-bnlearn")


REFERENCE_COLUMNS = {"bic": "bic", "aic": "aic", "loglik": "loglik", "k2": "k2", "bde": "bde_iss1"}
FILES = {
    "asia": "asia/asia.csv",
    "learning.test": "bn/learning.test.csv",
    "coronary": "bn/coronary.csv",
    "insurance": "bn/insurance.csv.gz",
    "alarm": "bn/alarm.csv.gz",
}


def reference(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.shared
def test_scores_equal_bnlearns_on_asia(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = reference(shared_data / "asia" / "bic_reference.csv")
    monkeypatch.setenv("DVAE_DATA", str(shared_data))
    task = get("asia-bnlearn")
    assert isinstance(task, BayesNetTask)
    adjacency = np.array([[bit == "1" for bit in row["adj"]] for row in rows]).reshape(-1, 8, 8)
    for name, column in REFERENCE_COLUMNS.items():
        expected = np.array([float(row[column]) for row in rows])
        assert np.abs(task.network_scores.score_many(name, adjacency) - expected).max() < ROUNDED


@pytest.mark.shared
@pytest.mark.parametrize("data_set", FILES)
def test_scores_equal_bnlearns(data_set: str, shared_data: Path) -> None:
    rows = [row for row in reference(shared_data / "bn" / "scores_reference.csv") if row["data"] == data_set]
    data = DiscreteData.read_csv(shared_data / FILES[data_set])
    order = np.random.default_rng(1).permutation(len(data.names)).tolist()
    data = DiscreteData(tuple(data.names[c] for c in order), data.codes[:, order], tuple(data.levels[c] for c in order))
    scores = NetworkScores(data)
    dags = []
    for row in rows:
        arcs = [arc.split(">") for arc in row["arcs"].split(";") if arc]
        dags.append(Dag(data.names, tuple((scores.index_of[u], scores.index_of[v]) for u, v in arcs)))
    assert len(dags) > 20
    for name, column in REFERENCE_COLUMNS.items():
        expected = np.array([float(row[column]) for row in rows])
        assert np.abs(scores.score_many(name, dags) - expected).max() < ROUNDED
