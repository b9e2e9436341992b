from __future__ import annotations

import gzip
import itertools
import json
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import any_label, dags
from dvae.dag import Dag, ScoredDag, lines, load_jsonl, read_jsonl, write_jsonl
from dvae.dag.jsonl import format_line, parse_line
from dvae.errors import DagError, FormatError, MissingError

GOOD = '{"types": ["in", 3, "out"], "edges": [[0, 1], [1, 2]], "score": 0.5}'
GOOD_DAG = ScoredDag(Dag(("in", 3, "out"), ((0, 1), (1, 2))), 0.5)

scored_dags = st.builds(ScoredDag, dags(labels=any_label), st.none() | st.floats(allow_nan=False, allow_infinity=False))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "dags.jsonl"


def assert_refused(path: Path, line: int, problem: str) -> None:
    """The error names file and line and tells the problem in one short line; nothing is loaded."""
    with pytest.raises(FormatError) as caught:
        load_jsonl(path)
    message = str(caught.value)
    where = f"{path}:{line}: "
    assert message.startswith(where)
    told = message.removeprefix(where)  # pytest puts the name of the test into the path
    assert problem in told
    assert "\n" not in told
    assert len(told) < 200


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"types": ["a"], "edges": []', "not valid JSON"),
        ("nonsense", "not valid JSON"),
        (GOOD + GOOD, "not valid JSON (Extra data"),
        ("[" * 100_000, "nested too deeply"),
        ('["a", "b"]', "a DAG is an object"),
        ("3", "a DAG is an object"),
        ("null", "a DAG is an object"),
        ('{"edges": []}', 'the key "types" is missing'),
        ('{"types": ["a"]}', 'the key "edges" is missing'),
        ('{"types": ["a"], "edges": [], "scores": 1}', "the key 'scores' is none of"),
        ('{"types": ["a"], "types": ["b"], "edges": []}', "the key 'types' is given twice"),
        ('{"types": "abc", "edges": []}', "\"types\" is 'abc'; it must be a list"),
        ('{"types": ["a"], "edges": {}}', '"edges" is {}; it must be a list'),
        ('{"types": [], "edges": []}', "at least one node"),
        ('{"types": ["a", "b"], "edges": [[0, 1], [1, 0]]}', "cycle"),
        ('{"types": ["a", "b"], "edges": [[0, 2]]}', "edge (0, 2) leaves the 2 nodes"),
        ('{"types": ["a", "b"], "edges": [[-1, 1]]}', "edge (-1, 1) leaves the 2 nodes"),
        ('{"types": ["a", "b"], "edges": [[0, 1.0]]}', "not a pair of node indices"),
        ('{"types": ["a", "b"], "edges": [[0, true]]}', "not a pair of node indices"),
        ('{"types": ["a", "b"], "edges": [[0]]}', "not a pair of node indices"),
        ('{"types": ["a", "b"], "edges": [0, 1]}', "not a pair of node indices"),
        ('{"types": ["a", "b"], "edges": ["01"]}', "not a pair of node indices"),
        ('{"types": ["a", "b"], "edges": [[1, 1]]}', "node 1 has an edge to itself"),
        ('{"types": ["a", "b"], "edges": [[0, 1], [0, 1]]}', "edge (0, 1) is given twice"),
        ('{"types": [1.5], "edges": []}', "type of node 0 is 1.5"),
        ('{"types": [null], "edges": []}', "type of node 0 is None"),
        ('{"types": [true], "edges": []}', "type of node 0 is True"),
        ('{"types": [["a"]], "edges": []}', "type of node 0 is ['a']"),
        ('{"types": [%s], "edges": []}' % ("9" * 5000), "not valid JSON"),
        ('{"types": ["a"], "edges": [], "score": NaN}', "NaN is not a finite number"),
        ('{"types": ["a"], "edges": [], "score": -Infinity}', "-Infinity is not a finite number"),
        ('{"types": ["a"], "edges": [], "score": 1e999}', "the score is inf"),
        ('{"types": ["a"], "edges": [], "score": 1%s}' % ("0" * 400), "must be a finite number"),
        ('{"types": ["a"], "edges": [], "score": true}', "the score is True"),
        ('{"types": ["a"], "edges": [], "score": "0.5"}', "the score is '0.5'"),
        ('{"types": ["a"], "edges": [], "score": null}', "the score is None"),
    ],
)
def test_a_bad_line_is_named(path: Path, text: str, problem: str) -> None:
    path.write_text(f"{GOOD}\n\n{text}\n{GOOD}\n")
    assert_refused(path, 3, problem)


def test_a_line_that_is_not_utf8_is_named(path: Path) -> None:
    path.write_bytes(GOOD.encode() + b'\n{"types": ["\xff"], "edges": []}\n')
    assert_refused(path, 2, "byte 13 of the line is not UTF-8")


@pytest.mark.parametrize("content", [b"", b"\n", b" \n\t\r\n"])
def test_a_file_without_a_dag_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert_refused(path, 1, "the file holds no DAG")
    path.write_bytes(gzip.compress(content))
    assert_refused(path, 1, "the file holds no DAG")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"nowhere\.jsonl"):
        load_jsonl(tmp_path / "nowhere.jsonl")
    assert_refused(tmp_path, 1, "this is a folder")


def test_a_truncated_gzip_file_is_refused(path: Path) -> None:
    whole = gzip.compress(f"{GOOD}\n".encode() * 3)
    path.write_bytes(whole[:-9])
    assert_refused(path, 4, "cut off")
    path.write_bytes(whole[:5])
    assert_refused(path, 1, "cut off")


def test_a_damaged_gzip_file_is_refused(path: Path) -> None:
    whole = bytearray(gzip.compress(f"{GOOD}\n".encode()))
    whole[-6] ^= 0xFF  # the checksum
    path.write_bytes(whole)
    assert_refused(path, 2, "damaged")
    path.write_bytes(b"\x1f\x8bno gzip at all")
    assert_refused(path, 1, "damaged")


def test_a_very_long_line_is_refused_without_being_read(path: Path) -> None:
    with path.open("wb") as file:
        file.write(f"{GOOD}\n".encode())
        file.truncate(100 * 2**20)
    tracemalloc.start()
    try:
        assert_refused(path, 2, "longer than 16,777,216 bytes")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * lines.MAX_LINE_BYTES


def test_a_very_long_line_hides_in_no_gzip_file(path: Path) -> None:
    path.write_bytes(gzip.compress(b" " * (lines.MAX_LINE_BYTES + 1), compresslevel=1))
    assert_refused(path, 1, "longer than 16,777,216 bytes")


def test_a_line_of_the_greatest_length_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(f"{GOOD}\n{GOOD}")
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", len(GOOD))
    assert load_jsonl(path) == [GOOD_DAG, GOOD_DAG]
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", len(GOOD) - 1)
    assert_refused(path, 1, "longer than")


def test_nodes_come_in_any_order_and_a_name_is_passed_over() -> None:
    line = '{"name": {"any": ["form"]}, "edges": [[2, 0]], "types": ["out", "alone", "in"], "score": 7}'
    assert parse_line(line, "here:1") == ScoredDag(Dag(("alone", "in", "out"), ((1, 2),)), 7.0)


def test_blank_lines_and_windows_line_ends_are_passed_over(path: Path) -> None:
    path.write_bytes(f"\r\n{GOOD}\r\n  \r\n\r\n{GOOD}\r\n\r\n".encode())
    assert load_jsonl(path) == [GOOD_DAG, GOOD_DAG]


def test_gzip_is_known_by_content_not_by_name(tmp_path: Path) -> None:
    (tmp_path / "packed.jsonl").write_bytes(gzip.compress(GOOD.encode()))
    (tmp_path / "plain.jsonl.gz").write_text(GOOD)
    assert load_jsonl(tmp_path / "packed.jsonl") == load_jsonl(tmp_path / "plain.jsonl.gz") == [GOOD_DAG]


def test_reading_streams_and_stops_at_the_limit(path: Path) -> None:
    path.write_text(f"{GOOD}\n{GOOD}\nbad\n")
    assert list(read_jsonl(path, limit=2)) == [GOOD_DAG, GOOD_DAG]
    assert list(read_jsonl(path, limit=0)) == []
    assert next(read_jsonl(path)) == GOOD_DAG
    with pytest.raises(FormatError, match=":3: "):
        list(read_jsonl(path, limit=3))
    with pytest.raises(ValueError, match="limit is -1"):
        read_jsonl(path, limit=-1)


def test_a_minus_is_a_file_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MissingError, match="the file - does not exist"):
        load_jsonl("-")
    assert write_jsonl("-", [GOOD_DAG]) == 1
    assert load_jsonl("-") == [GOOD_DAG]


@given(scored_dags)
def test_a_line_comes_back(item: ScoredDag) -> None:
    line = format_line(item)
    assert "\n" not in line
    assert parse_line(line, "here:1") == item


def test_the_line_is_the_documented_one() -> None:
    assert format_line(GOOD_DAG) == GOOD
    assert "score" not in json.loads(format_line(GOOD_DAG.dag))


@pytest.mark.parametrize("name", ["dags.jsonl", "dags.jsonl.gz"])
def test_files_come_back(tmp_path: Path, name: str) -> None:
    items = [GOOD_DAG, ScoredDag(Dag(("é", '"', "\n", "\ud800")))]
    assert write_jsonl(tmp_path / name, [items[0], items[1].dag]) == 2
    assert load_jsonl(tmp_path / name) == items
    packed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert packed == name.endswith(".gz")


def test_equal_dags_make_equal_gzip_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(1_000_000_000, 1_000_000)
    monkeypatch.setattr("time.time", lambda: float(next(clock)))
    for name in ("first.gz", "second.gz"):
        write_jsonl(tmp_path / name, [GOOD_DAG])
    assert (tmp_path / "first.gz").read_bytes() == (tmp_path / "second.gz").read_bytes()


@pytest.mark.parametrize("name", ["dags.jsonl", "dags.jsonl.gz"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str) -> None:
    def failing() -> Iterator[Dag]:
        yield GOOD_DAG.dag
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_jsonl(tmp_path / name, failing())
    assert list(tmp_path.iterdir()) == []
    write_jsonl(tmp_path / name, [GOOD_DAG])
    with pytest.raises(RuntimeError, match="half way"):
        write_jsonl(tmp_path / name, failing())
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert load_jsonl(tmp_path / name) == [GOOD_DAG]


def test_a_folder_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="this is a folder"):
        write_jsonl(tmp_path, [GOOD_DAG])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("score", [math.nan, math.inf, True, "1", 10**400])
def test_a_score_is_a_finite_number(score: float) -> None:
    with pytest.raises(DagError, match="must be a finite number"):
        ScoredDag(GOOD_DAG.dag, score)


def test_an_integer_score_becomes_a_float() -> None:
    assert isinstance(ScoredDag(GOOD_DAG.dag, 1).score, float)
