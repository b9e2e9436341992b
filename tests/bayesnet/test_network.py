"""Networks as values, their files, and their parameters from a table."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from bayesnet.networks import SPRINKLER, mixed_network, random_network
from dvae.bayesnet import (
    DiscreteData,
    LinearGaussian,
    Network,
    ProbabilityTable,
    Variable,
    bif_text,
    fit,
    log_likelihoods,
    parameter_table,
    parse_bif,
    read_network,
    write_network,
)
from dvae.dag import Dag
from dvae.errors import ConfigError, FormatError, TaskError


def foreign(name: str) -> Path | None:
    """A network that pgmpy ships, where it is installed, or where DVAE_BIF says that they are."""
    package = importlib.util.find_spec("pgmpy")
    folders = [Path(os.environ.get("DVAE_BIF", "nowhere"))]
    folders += [Path(package.origin).parent / "utils" / "example_models"] if package and package.origin else []
    places = [folder / f"{name}{ending}" for folder in folders for ending in (".bif", ".bif.gz")]
    return next((place for place in places if place.is_file()), None)


def test_a_file_of_another_program_is_read() -> None:
    network = parse_bif(SPRINKLER)
    assert network.names == ("rain", "sprinkler", "grass")
    assert network["grass"].states == ("<5", "5-12", "12+")
    assert network["grass"].parents == ("sprinkler", "rain")
    table = network["grass"].parameters
    assert isinstance(table, ProbabilityTable)
    assert table.probabilities[0, 0].tolist() == [0.01, 0.09, 0.9]
    assert table.probabilities[0, 1].tolist() == table.probabilities[1, 0].tolist() == [0.25, 0.25, 0.5]
    assert network.order == ("rain", "sprinkler", "grass")
    assert network.num_parameters == 1 + 2 + 8


def test_a_whole_table_lists_the_variable_itself_first() -> None:
    text = SPRINKLER.replace("(yes) 0.01 0.99; (no) 0.4, 0.6;", "table 0.01, 0.4, 0.99, 0.6;")
    assert parse_bif(text) == parse_bif(SPRINKLER)


@pytest.mark.parametrize("seed", range(4))
def test_networks_come_back_from_bif_and_json_exactly(tmp_path: Path, seed: int) -> None:
    network = random_network(seed)
    for ending in (".bif", ".json"):
        write_network(tmp_path / f"net{ending}", network)
        assert read_network(tmp_path / f"net{ending}") == network


def test_names_that_bif_has_no_words_for_come_back(tmp_path: Path) -> None:
    odd = ("//", "x/y", 'a "b"; c', "größer", "a b", "a_b", "{", "\u4f60 \U0001f600")
    variables = [Variable("blood pressure; {x}", odd), Variable("blood_pressure", odd, ("blood pressure; {x}",))]
    shares = np.random.default_rng(0).dirichlet(np.ones(len(odd)), len(odd))
    parameters = (ProbabilityTable(shares[0]), ProbabilityTable(shares))
    network = Network(
        tuple(Variable(v.name, v.states, v.parents, table) for v, table in zip(variables, parameters, strict=True))
    )
    text = bif_text(network, "my file")
    assert text.isascii()
    assert parse_bif(text) == network


def test_mixed_networks_come_back_from_json_and_are_refused_by_bif(tmp_path: Path) -> None:
    network = mixed_network()
    write_network(tmp_path / "net.json", network)
    assert read_network(tmp_path / "net.json") == network
    write_network(tmp_path / "bare.json", network.structure())
    assert read_network(tmp_path / "bare.json") == network.structure()
    with pytest.raises(TaskError, match=r"'height'.*\.json"):
        write_network(tmp_path / "net.bif", network)
    assert not (tmp_path / "net.bif").exists()
    with pytest.raises(ConfigError, match=r"\.bif or \.json"):
        write_network(tmp_path / "net.txt", network)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("0.2, 0.8", "0.2, 0.7", 8, "add up to 0.9"),
        ("0.2, 0.8", "0.2, 0.8, 0", 8, "3 probabilities of 'rain' are given where 2"),
        ("0.2, 0.8", "0.2, much", 8, "'much' where a probability"),
        ("(on, yes)", "(on, maybe)", 14, "'rain' has no state 'maybe'"),
        ("(on, yes)", "(on)", 14, "names 1 states; it has 2 parents"),
        ("(off, no)", "(on, yes)", 15, "given twice"),
        ("default 0.25, 0.25, 0.5;", "", 16, r"for \(on, no\) are missing"),
        ("discrete [2]", "discrete [3]", 3, "2 states where 3"),
        ("discrete [2]", "continuous [2]", 3, "only discrete"),
        ("variable grass", "variable rain", 7, "'rain' is given twice"),
        ("| rain", "| wind", 9, "no variable 'wind'"),
        ("| rain", "| sprinkler", 9, "must differ"),
        ("probability ( rain ) { table 0.2, 0.8; }", "", 3, "'rain' has no probabilities"),
        ("network", "graph", 2, "begins with `network"),
        ("(off, no) 1, 0, 0;\n}", "(off, no) 1, 0, 0", 16, "found the end of the file"),
        ("variable rain", "variables rain", 3, "'variables' where `variable`"),
    ],
)
def test_what_is_wrong_in_a_bif_file_is_named_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    assert SPRINKLER.count(old) >= 1
    path = tmp_path / "bad.bif"
    path.write_text(SPRINKLER.replace(old, new, 1))
    with pytest.raises(FormatError, match=words) as caught:
        read_network(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_json_networks_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    write_network(path, mixed_network())
    text = path.read_text()
    for old, new, words in [
        ('"parents"', '"parent"', "unknown key 'parent'"),
        ("dvae-network/1", "network", "no network"),
        ('"deviation": 12.0', '"deviation": -12.0', "positive"),
        ("0.6", "0.7", "add up to 1.1"),
        ('"intercept": 40.0,', "", "lacks 'intercept'"),
        ('"parents": [\n        "sex"\n      ]', '"parents": "sex"', "no list of names"),
    ]:
        assert old in text, old
        path.write_text(text.replace(old, new, 1))
        with pytest.raises(FormatError, match=words):
            read_network(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("cancer", "earthquake", "survey", "asia", "sachs", "child", "alarm", "insurance", "win95pts", "hailfinder"),
        *("hepar2", "andes", "pigs", "munin1", "water", "link", "munin2", "munin3", "munin", "munin4", "pathfinder"),
        *("barley", "mildew", "diabetes"),
    ],
)
def test_networks_that_are_passed_around_round_trip(name: str) -> None:
    path = foreign(name)
    if path is None:
        pytest.skip("pgmpy's networks are not there")
    network = read_network(path)
    assert parse_bif(bif_text(network)) == network


def test_a_network_checks_itself() -> None:
    yes_no = ("yes", "no")
    for variables, words in [
        ([], "at least one"),
        ([Variable("a", yes_no), Variable("a", yes_no)], "given twice"),
        ([Variable("a", yes_no, ("b",))], "no variable of the network"),
        ([Variable("a", yes_no, ("b",)), Variable("b", yes_no, ("a",))], "cycle"),
        ([Variable("a", None), Variable("b", yes_no, ("a",))], "continuous parent 'a'"),
        ([Variable("a", yes_no, (), ProbabilityTable(np.ones((2, 2)) / 2))], "table of 'a'"),
        ([Variable("a", None, (), LinearGaussian(np.ones(2), np.ones((2, 0)), np.ones(2)))], "do not fit"),
    ]:
        with pytest.raises(TaskError, match=words):
            Network(tuple(variables))
    for states in ((), ("a", "a")):
        with pytest.raises(TaskError, match="'x'"):
            Variable("x", states)
    with pytest.raises(TaskError, match="no variable 'smoke'"):
        random_network(0)["smoke"]
    with pytest.raises(TaskError, match="no state 'maybe'"):
        random_network(0).code("a", "maybe")


def test_parameters_are_counts_with_a_prior() -> None:
    data = DiscreteData.from_columns(["a", "b"], [list("xxxyy"), list("uuvuu")])
    dag = Dag(("a", "b"), ((0, 1),))
    states = {"a": ("x", "y", "z"), "b": ("u", "v")}
    network = Network.of(dag, states)
    likely = fit(network, data, prior=0)
    table = likely["b"].parameters
    assert isinstance(table, ProbabilityTable)
    assert table.probabilities == pytest.approx(np.array([[2 / 3, 1 / 3], [1, 0], [0.5, 0.5]]))
    by_row = fit(network, data)["b"].parameters
    assert isinstance(by_row, ProbabilityTable)
    assert by_row.probabilities == pytest.approx(np.array([[2.5 / 4, 1.5 / 4], [2.5 / 3, 0.5 / 3], [0.5, 0.5]]))
    by_table = fit(network, data, prior=6, per="table")["b"].parameters
    assert isinstance(by_table, ProbabilityTable)
    assert by_table.probabilities == pytest.approx(np.array([[3 / 5, 2 / 5], [3 / 4, 1 / 4], [0.5, 0.5]]))
    with pytest.raises(TaskError, match="prior is -1"):
        fit(network, data, prior=-1)


def test_lines_are_least_squares_by_configuration() -> None:
    network = mixed_network()
    generator = np.random.default_rng(1)
    table = {
        "sex": generator.choice(["f", "m"], 40).tolist(),
        "smoker": generator.choice(["no", "yes"], 40).tolist(),
        "height": generator.normal(170, 8, 40),
        "age": generator.normal(40, 12, 40),
    }
    table["pressure"] = 60 + table["age"] + 0.2 * table["height"] + generator.normal(0, 3, 40)
    fitted = fit(network, table)["pressure"].parameters
    assert isinstance(fitted, LinearGaussian)
    inside = np.array(table["smoker"]) == "yes"
    matrix = np.stack([np.ones(40), table["age"], table["height"]], axis=1)[inside]
    solution, residual, *_ = np.linalg.lstsq(matrix, table["pressure"][inside], rcond=None)
    assert fitted.intercept[1] == pytest.approx(solution[0], rel=1e-6)
    assert fitted.coefficients[1] == pytest.approx(solution[1:], rel=1e-6)
    assert fitted.deviation[1] == pytest.approx(np.sqrt(residual[0] / (inside.sum() - 3)), rel=1e-6)


def test_rows_with_missing_values_count_where_they_can() -> None:
    states = {"a": ("x", "y"), "b": ("u", "v"), "c": None}
    network = Network.of(Dag(("a", "b", "c"), ((0, 1), (0, 2))), states)
    table = {"a": ["x", "x", "y", None], "b": ["u", "", "v", "v"], "c": [1.0, 3.0, float("nan"), 9.0]}
    fitted = fit(network, table, prior=0)
    tables = [fitted[name].parameters for name in "ab"]
    assert isinstance(tables[0], ProbabilityTable)
    assert isinstance(tables[1], ProbabilityTable)
    assert tables[0].probabilities == pytest.approx([2 / 3, 1 / 3])
    assert tables[1].probabilities == pytest.approx(np.array([[1.0, 0], [0, 1.0]]))
    line = fitted["c"].parameters
    assert isinstance(line, LinearGaussian)
    assert line.intercept == pytest.approx([2.0, 2.0])  # y has no number of its own
    assert np.isnan(log_likelihoods(fitted, table)).tolist() == [False, True, True, True]


def test_a_column_that_copies_another_has_a_line() -> None:
    network = Network.of(Dag(("a", "b"), ((0, 1),)), {"a": None, "b": None})
    numbers = np.arange(10.0)
    line = fit(network, {"a": numbers, "b": 2 * numbers + 1})["b"].parameters
    assert isinstance(line, LinearGaussian)
    assert line.coefficients == pytest.approx([2.0])
    assert 0 < line.deviation < 1e-3


def test_log_likelihoods_are_those_of_the_product() -> None:
    network = mixed_network()
    table = {"sex": ["f"], "smoker": ["yes"], "height": [170.0], "age": [50.0], "pressure": [120.0]}

    def density(value: float, mean: float, deviation: float) -> float:
        return -0.5 * ((value - mean) / deviation) ** 2 - np.log(deviation * np.sqrt(2 * np.pi))

    wanted = np.log(0.6 * 0.3) + density(170, 165, 6) + density(50, 40, 12) + density(120, 80 + 50 + 8.5, 10)
    assert log_likelihoods(network, table) == pytest.approx([wanted])


def test_a_table_that_does_not_fit_the_network_is_refused_by_name() -> None:
    network = mixed_network()
    good = {"sex": ["f"], "smoker": ["yes"], "height": [170.0], "age": [50.0], "pressure": [120.0]}
    with pytest.raises(TaskError, match="no column 'age'"):
        fit(network, {name: column for name, column in good.items() if name != "age"})
    with pytest.raises(TaskError, match="'smoker' holds 'often'"):
        fit(network, good | {"smoker": ["often"]})
    with pytest.raises(TaskError, match="'age' holds 'old'"):
        fit(network, good | {"age": ["old"]})


def test_parameters_are_a_table_with_a_row_for_each_configuration() -> None:
    found = parameter_table(parse_bif(SPRINKLER), "grass")
    assert found.given == ("sprinkler", "rain")
    assert found.header == ("<5", "5-12", "12+")
    assert next(found.rows()) == (("on", "yes"), [0.01, 0.09, 0.9])
    lines = parameter_table(mixed_network(), "pressure")
    assert lines.given == ("smoker",)
    assert lines.header == ("intercept", "× age", "× height", "deviation")
    assert list(lines.rows()) == [(("no",), [70, 0.8, 0.1, 8]), (("yes",), [80, 1, 0.05, 10])]
    with pytest.raises(TaskError, match="not known"):
        parameter_table(mixed_network().structure(), "age")
