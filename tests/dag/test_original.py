from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from dag_strategies import architectures, networks
from dvae.dag import Dag, ScoredDag, read_bayesnet, read_enas, write_bayesnet, write_enas
from dvae.dag.original import (
    ENAS_OPERATIONS,
    bayesnet_from_rows,
    bayesnet_to_rows,
    enas_from_rows,
    enas_to_rows,
    parse_bayesnet,
    parse_enas,
)
from dvae.errors import DagError, FormatError, MissingError

DATA = Path(os.environ.get("DVAE_DATA", Path(__file__).parents[2] / ".." / "shared" / "data"))
ASIA = ("A", "S", "T", "L", "B", "E", "X", "D")
GOOD_ENAS = "[[4], [0, 1], [2, 0, 1]], 0.73"
ENAS_DAG = Dag(("input", "avg3", "conv3", "conv5", "output"), ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (3, 4)))


def test_enas_rows_say_operations_and_skip_inputs() -> None:
    assert parse_enas(GOOD_ENAS, "here:1") == ScoredDag(ENAS_DAG, 0.73)
    assert enas_to_rows(ENAS_DAG) == [[4], [0, 1], [2, 0, 1]]


def test_the_operation_codes_are_the_published_ones() -> None:
    layers = [enas_from_rows([[code]]).types[1] for code in range(6)]
    assert layers == ["conv3", "sep3", "conv5", "sep5", "avg3", "max3"]


def test_without_skips_an_architecture_is_a_chain() -> None:
    dag = enas_from_rows([[0] * (layer + 1) for layer in range(12)])
    assert dag.edges == tuple((node, node + 1) for node in range(13))


@given(architectures(ENAS_OPERATIONS))
def test_architectures_come_back(dag: Dag) -> None:
    assert enas_from_rows(enas_to_rows(dag)) == dag


@given(networks(ASIA))
def test_networks_come_back(dag: Dag) -> None:
    assert bayesnet_from_rows(bayesnet_to_rows(dag, ASIA), ASIA) == dag


def test_bayesnet_bits_point_to_the_variable_of_their_row() -> None:
    line = "[[2], [0, 1], [1, 0, 1]], -12.5"
    expected = Dag(("C", "A", "B"), ((0, 1), (1, 2)))
    assert parse_bayesnet(line, "here:1", ("A", "B", "C")) == ScoredDag(expected, -12.5)
    assert bayesnet_to_rows(expected, ("A", "B", "C")) == [[2], [0, 1], [1, 0, 1]]


ROW_PROBLEMS = [
    ("[[1], [4, 0]], 0.7, 3", "a list of rows, a comma and a score"),
    ("", "a list of rows"),
    ("[[1], [4, 0]],", "not valid JSON"),
    ("[[1], [4, 0]] 0.7", "not valid JSON"),
    ("[[1], [4, 0]], 0.7], [3", "not valid JSON"),
    ("[[1], [4, 0], 0.7", "not valid JSON"),
    ("__import__('os')", "not valid JSON"),
    ("[[1], [4, 0]], nan", "not valid JSON"),
    ("[[1], [0, 0]], NaN", "NaN is not a finite number"),
    ("[[1], [0, 0]], 1e999", "the score is inf"),
    ("[[1], [0, 0]], true", "the score is True"),
    ("[[1], [0, 0]], null", "the score is null"),
    ('[[1], [0, 0]], "0.7"', "the score is '0.7'"),
    ("[], 0.7", "the rows are []"),
    ("7, 0.7", "the rows are 7"),
    ('{"0": [1]}, 0.7', "the rows are {'0': [1]}"),
    ("[[1], 4], 0.7", "row 1 is 4"),
    ("[[1], [0]], 0.7", "row 1 is [0]; it must be the"),
    ("[[1], [0, 0, 0]], 0.7", "row 1 is [0, 0, 0]"),
    ("[[1, 0], [0, 0]], 0.7", "row 0 is [1, 0]"),
    ("[[], [0, 0]], 0.7", "row 0 is []"),
    ("[[1], [0, 2]], 0.7", "bit 0 of row 1 is 2; it must be from 0 to 1"),
    ("[[1], [0, -1]], 0.7", "bit 0 of row 1 is -1"),
    ("[[1], [0, true]], 0.7", "bit 0 of row 1 is True"),
    ("[[1], [0, 1.0]], 0.7", "bit 0 of row 1 is 1.0"),
    ("[[1], [6, 0]], 0.7", "of row 1 is 6; it must be from 0 to"),
    ("[[-1], [0, 0]], 0.7", "of row 0 is -1; it must be from 0 to"),
    ('[["1"], [0, 0]], 0.7', "of row 0 is '1'; it must be from 0 to"),
]


@pytest.mark.parametrize(("text", "problem"), ROW_PROBLEMS)
def test_a_bad_line_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "rows.txt"
    good = "[[0], [1, 1]], 0.5"
    if text:
        path.write_text(f"{good}\n\n{text}\n")
        for reading in (read_enas(path), read_bayesnet(path, ("A", "B"))):
            with pytest.raises(FormatError) as caught:
                list(reading)
            where = f"{path}:3: "
            assert str(caught.value).startswith(where)
            assert problem in str(caught.value).removeprefix(where)
    with pytest.raises(FormatError) as caught:
        parse_enas(text, "pasted:1")
    assert str(caught.value).startswith("pasted:1: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[[0], [0, 1]], 1", "row 1 is the variable 'A' again"),
        ("[[1]], 1", "1 of 2 variables have a row; 'A' has none"),
    ],
)
def test_a_network_names_every_variable_once(text: str, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_bayesnet(text, "bn.txt:4", ("A", "B"))
    assert str(caught.value) == f"bn.txt:4: {problem}"


def test_variables_must_be_distinct() -> None:
    for call in (
        lambda: bayesnet_from_rows([[0]], ("A", "A")),
        lambda: bayesnet_to_rows(Dag(("A",)), ("A", "A")),
    ):
        with pytest.raises(DagError, match="not distinct"):
            call()


@pytest.mark.parametrize(
    ("types", "edges", "problem"),
    [
        (("input", "output"), ((0, 1),), "at least one layer"),
        (("start", "conv3", "output"), ((0, 1), (1, 2)), "an input"),
        (("input", "conv3", "conv3"), ((0, 1), (1, 2)), "an output"),
        (("input", "conv7", "output"), ((0, 1), (1, 2)), "type of node 1 is 'conv7'"),
        (("input", 3, "output"), ((0, 1), (1, 2)), "type of node 1 is 3"),
        (("input", "conv3", "sep3", "output"), ((0, 1), (0, 2), (2, 3)), "node 2 must be fed by node 1"),
        (("input", "conv3", "output"), ((0, 1),), "node 2 must be fed by node 1"),
        (("input", "conv3", "output"), ((0, 1), (0, 2), (1, 2)), "node 0 feeds the output"),
    ],
)
def test_what_is_no_architecture_has_no_rows(types: Any, edges: Any, problem: str) -> None:
    with pytest.raises(DagError, match=problem):
        enas_to_rows(Dag(types, edges))


@pytest.mark.parametrize("types", [("A",), ("A", "A"), ("A", "C"), ("A", "B", "B"), (0, 1)])
def test_what_is_no_network_over_the_variables_has_no_rows(types: Any) -> None:
    with pytest.raises(DagError, match="each of the variables A, B exactly once"):
        bayesnet_to_rows(Dag(types), ("A", "B"))


def test_files_come_back(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    architectures = [ScoredDag(ENAS_DAG, 0.73), ScoredDag(enas_from_rows([[5]]))]
    assert write_enas(path, [architectures[0], architectures[1].dag]) == 2
    assert path.read_text() == f"{GOOD_ENAS}\n[[5]]\n"
    assert list(read_enas(path)) == architectures
    bayesnets = [ScoredDag(Dag(("B", "A"), ((0, 1),)), -1e-7)]
    assert write_bayesnet(path, bayesnets, ("A", "B")) == 1
    assert path.read_text() == "[[1], [0, 1]], -1e-07\n"
    assert list(read_bayesnet(path, ("A", "B"))) == bayesnets


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(DagError):
        write_enas(tmp_path / "rows.txt", [ENAS_DAG, Dag(("input",))])
    assert list(tmp_path.iterdir()) == []


def test_missing_and_empty_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"nowhere\.txt"):
        list(read_enas(tmp_path / "nowhere.txt"))
    empty = tmp_path / "empty.txt"
    empty.write_text("\n")
    with pytest.raises(FormatError) as caught:
        list(read_enas(empty))
    assert str(caught.value) == f"{empty}:1: the file holds no DAG"


@pytest.mark.shared
def test_the_published_architectures_are_read_whole(tmp_path: Path) -> None:
    path = DATA / "enas" / "final_structures6.txt"
    if not path.exists():
        pytest.skip(f"{path} is not there; set DVAE_DATA")
    items = list(read_enas(path))
    assert len(items) == 20_020
    assert all(len(item.dag) == 8 and item.score is not None and 0 < item.score < 1 for item in items)
    # The 5 repeats that are known of the 19,020 after the first 1,000 (REFERENCE.md).
    assert len({item.dag for item in items[1000:]}) == 19_015
    write_enas(tmp_path / "again.txt", items)
    assert (tmp_path / "again.txt").read_text().split() == path.read_text().split()
