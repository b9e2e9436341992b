"""`dvae bn`: what can be asked of a network, from the command line."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from bayesnet.networks import SPRINKLER, mixed_network
from dvae.bayesnet import parse_bif, query, read_confidence, read_network, write_network

from .conftest import Call, Refused


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "sprinkler.bif"
    path.write_text(SPRINKLER)
    return path


@pytest.fixture
def table(call: Call, network: Path, tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    assert call("bn", "sample", network, "--count", 400, "--out", path).exit_code == 0
    return path


def test_a_query_is_answered_for_people_and_programs(call: Call, network: Path) -> None:
    shown = call("bn", "query", network, "--evidence", "grass=12+", "--target", "rain")
    assert shown.exit_code == 0
    wanted = query(parse_bif(SPRINKLER), "rain", {"grass": "12+"})
    assert f"{wanted.probabilities[0]:.2%}" in shown.stdout  # type: ignore[union-attr]
    answer = json.loads(call("bn", "query", network, "-e", "grass=12+", "--json").stdout)
    assert answer["beliefs"]["rain"]["yes"] == pytest.approx(wanted.probabilities[0])  # type: ignore[union-attr]
    assert answer["beliefs"].keys() == {"rain", "sprinkler"}
    assert answer["log_evidence"] < 0


def test_names_with_spaces_and_equals_signs_are_asked_for_as_they_are(call: Call, tmp_path: Path) -> None:
    table = tmp_path / "odd.csv"
    rows = [f"{'ab'[n % 2]},{'xy'[n % 3 % 2]}" for n in range(30)]
    table.write_text("\n".join(["blood pressure,a=b", *rows]))
    out = tmp_path / "odd.bif"
    assert call("bn", "learn", table, "--out", out).exit_code == 0
    shown = call("bn", "query", out, "--evidence", "a=b=x", "--target", "blood pressure")
    assert shown.exit_code == 0, shown.stderr
    assert "blood pressure" in shown.stdout


def test_numbers_are_asked_for_and_given(call: Call, tmp_path: Path) -> None:
    write_network(tmp_path / "mixed.json", mixed_network())
    shown = call("bn", "query", tmp_path / "mixed.json", "-e", "pressure=140", "-e", "sex=f", "-t", "age")
    assert "mean" in shown.stdout
    assert "deviation" in shown.stdout


def test_what_cannot_be_asked_is_refused_in_one_sentence(refused: Refused, network: Path, tmp_path: Path) -> None:
    def asked(*words: object) -> str:
        return refused("bn", "query", *words)

    assert "no variable 'wind'" in asked(network, "--target", "wind")
    assert "no variable 'wind'" in asked(network, "--evidence", "wind=yes")
    assert "no state 'maybe'" in asked(network, "--evidence", "rain=maybe")
    assert "NAME=VALUE" in asked(network, "--evidence", "rain")
    assert "twice" in asked(network, "-e", "rain=yes", "-e", "rain=no")
    assert "is given as evidence" in asked(network, "-e", "rain=yes", "-t", "rain")
    impossible = ("-e", "rain=no", "-e", "sprinkler=off", "-e", "grass=12+")
    assert "cannot happen" in asked(network, *impossible)
    assert "nothing.bif" in asked(tmp_path / "nothing.bif")
    assert "ends in .bif" in asked(tmp_path / "network.txt")
    network.write_text(SPRINKLER.replace("0.2, 0.8", "0.2, 0.7"))
    assert f"{network}:8: " in asked(network)


def test_samples_are_a_table(call: Call, refused: Refused, network: Path, tmp_path: Path) -> None:
    printed = call("bn", "sample", network, "--count", 5, "--seed", 3).stdout
    assert next(csv.reader(printed.splitlines())) == ["rain", "sprinkler", "grass"]
    assert len(printed.splitlines()) == 6
    call("bn", "sample", network, "--count", 5, "--seed", 3, "--out", tmp_path / "rows.csv.gz")
    assert gzip.decompress((tmp_path / "rows.csv.gz").read_bytes()).decode() == printed
    assert ".csv" in refused("bn", "sample", network, "--out", tmp_path / "rows.xlsx")


def test_a_column_is_predicted(call: Call, refused: Refused, network: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "predicted.csv"
    shown = call("bn", "predict", network, table, "--column", "rain", "--out", out)
    assert "right" in shown.stderr
    rows = list(csv.reader(out.read_text().splitlines()))
    assert rows[0] == ["rain", "P(yes)", "P(no)"]
    assert len(rows) == 401
    lines = table.read_text().splitlines()
    table.write_text("\n".join(line.partition(",")[2] for line in lines))  # without the column that is asked for
    blind = call("bn", "predict", network, table, "--column", "rain", "--json")
    assert json.loads(blind.stdout)["values"] == [row[0] for row in rows[1:]]
    table.write_text("rain,sprinkler,grass\nyes,on,wet\n")
    assert f"{table}: the column 'grass' holds 'wet'" in refused("bn", "predict", network, table, "--column", "rain")


def test_networks_are_compared(call: Call, network: Path, table: Path, tmp_path: Path) -> None:
    learned = tmp_path / "learned.bif"
    call("bn", "learn", table, "--out", learned)
    shown = call("bn", "compare", learned, network, "--data", table)
    assert shown.exit_code == 0, shown.stderr
    assert "structural Hamming distance" in shown.stdout
    same = json.loads(call("bn", "compare", network, network, "--data", table, "--json").stdout)
    assert same["equivalent"] is True
    assert same["difference"] == {"log_likelihood": 0.0, "half_width": 0.0, "rows": 400}


def test_a_bootstrap_writes_confidence_network_and_picture(call: Call, refused: Refused, table: Path) -> None:
    out, averaged, picture = (table.with_name(name) for name in ("sure.json", "averaged.bif", "averaged.svg"))
    words = ("bn", "bootstrap", table, "--out", out, "-n", 8, "--workers", 1, "--network", averaged, "--draw", picture)
    shown = call(*words)
    assert shown.exit_code == 0, shown.stderr
    found = read_confidence(out)
    assert found.networks == 8
    assert read_network(averaged).has_parameters
    assert picture.read_text().startswith("<svg")
    before = out.read_bytes(), averaged.read_bytes()
    again = json.loads(call(*words, "--json").stdout)
    assert again["networks"] == 8
    assert (out.read_bytes(), averaged.read_bytes()) == before
    assert "remove it first" in refused("bn", "bootstrap", table, "--out", out, "--seed", 5)
    drawn = table.with_name("drawn.png")
    assert call("bn", "draw", averaged, drawn, "--confidence", out).exit_code == 0
    assert drawn.stat().st_size > 500


def test_a_way_of_learning_is_cross_validated(call: Call, table: Path) -> None:
    answer = json.loads(call("bn", "validate", table, "--folds", 3, "--json").stdout)
    assert answer["gain"]["log_likelihood"] > 0
    assert answer["rows"] == 400
    assert "gain" in call("bn", "validate", table, "--folds", 3).stdout


def test_a_network_is_shown(call: Call, refused: Refused, network: Path, tmp_path: Path) -> None:
    assert "sprinkler, rain" in call("bn", "show", network).stdout
    assert json.loads(call("bn", "show", network, "--json").stdout)["parameters"] == 11
    assert "0.99" in call("bn", "show", network, "--variable", "sprinkler").stdout
    plain = json.loads(call("bn", "show", network, "--variable", "sprinkler", "--json").stdout)
    assert plain["table"] == [[0.01, 0.99], [0.4, 0.6]]
    assert "no variable" in refused("bn", "show", network, "--variable", "x")
    assert call("bn", "draw", network, tmp_path / "net.svg").exit_code == 0
    assert call("bn", "draw", network, tmp_path / "dag.svg", "--dag").exit_code == 0
    heads = [(tmp_path / name).read_text().count("<polygon") for name in ("net.svg", "dag.svg")]
    assert heads == [0, 3]  # of three variables that are all joined, no data can tell a direction


def test_learning_and_bootstrap_in_one_command(call: Call, refused: Refused, table: Path) -> None:
    out = table.with_name("learned.bif")
    words = ("bn", "learn", table, "--tier", "rain", "--tier", "sprinkler,grass", "--out", out)
    shown = call(*words, "--bootstrap", 6, "--workers", 1)
    assert shown.exit_code == 0, shown.stderr
    assert "this direction" in shown.stdout
    found = read_confidence(table.with_name("learned.edges.json"))
    assert found.networks == 6
    assert found.direction("rain", "grass") == 1  # the tiers say so; the data alone cannot
    plain = json.loads(call(*words, "--bootstrap", 6, "--workers", 1, "--json").stdout)
    assert all(share == found.of(u, v) for u, v, share in plain["confidence"])
    assert "--out" in refused("bn", "learn", table, "--bootstrap", 6)
