"""Tables as strangers have them: what each column is taken for, and what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dvae.bayesnet import Table
from dvae.errors import DvaeError, FormatError, MissingError, TaskError


def written(folder: Path, text: str, name: str = "table.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("utf-8"))
    return path


def kinds(table: Table) -> dict[str, str]:
    return {column.name: column.kind for column in (*table.columns, *table.left_out)}


def newcomer() -> str:
    """Spaces in names and cells, missing values, a constant, an identifier, two kinds of numbers, decimal commas."""
    lines = ["patient id; blood pressure;smokes;site;grade"]
    for row in range(40):
        smokes = ("yes", " no", "NA")[row % 3]
        pressure = "" if row % 10 == 9 else f"{120 + row * 1.25:.2f}".replace(".", ",")
        lines.append(f"P{row};{pressure};{smokes};north;{row % 3 + 1}")
    return "\n".join(lines) + "\n"


def test_a_newcomers_table_is_understood(tmp_path: Path) -> None:
    table = Table.read(written(tmp_path, newcomer()))
    assert kinds(table) == {
        "patient id": "identifier", "blood pressure": "continuous", "smokes": "discrete", "site": "constant",
        "grade": "discrete",
    }  # fmt: skip
    smokes, pressure = table.columns[1], table.columns[0]
    assert smokes.levels == ("no", "yes")
    assert smokes.num_missing == 13
    assert pressure.num_missing == 4
    assert pressure.values[1] == pytest.approx(121.25)
    assert "40 different values" in table.left_out[0].why
    assert "'north'" in table.left_out[1].why


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_usual_delimiters_are_seen(tmp_path: Path, delimiter: str) -> None:
    text = "\n".join(delimiter.join(cells) for cells in [("a", "b"), ("x", "u"), ("y", "v"), ("x", "v")])
    assert Table.read(written(tmp_path, text)).names == ("a", "b")


def test_gzip_byte_order_mark_and_line_breaks_in_quotes(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress('\ufeffa,b\n"one\ntwo",x\n"three, four",y\n'.encode()))
    table = Table.read(path)
    assert table.names == ("a", "b")
    assert table.columns[0].levels == ("one\ntwo", "three, four")


def test_row_numbers_without_a_name_are_an_identifier(tmp_path: Path) -> None:
    rows = "\n".join(f"{row},{'xy'[row % 2]},{'uvw'[row % 3]}" for row in range(1, 31))
    assert kinds(Table.read(written(tmp_path, ",a,b\n" + rows)))["column 1"] == "identifier"


def test_many_numbers_and_many_words_take_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.bayesnet.table_files.MANY_WORDS", 50)
    monkeypatch.setattr("dvae.bayesnet.table_files.ROWS_AT_ONCE", 20)
    rows = "\n".join(f"{row * 0.37},w{row},{'xy'[row % 2]}{'' if row % 7 else ' '},{row % 4}" for row in range(300))
    table = Table.read(written(tmp_path, "number,word,a,b\n" + rows))
    assert kinds(table) == {"number": "continuous", "word": "identifier", "a": "discrete", "b": "discrete"}
    assert table.columns[0].values.tolist() == [row * 0.37 for row in range(300)]


def test_what_columns_are_can_be_said(tmp_path: Path) -> None:
    path = written(tmp_path, newcomer())
    table = Table.read(path, continuous=["grade"], ignore=["smokes"])
    assert kinds(table)["grade"] == "continuous"
    assert kinds(table)["smokes"] == "identifier"
    assert len(Table.read(path, discrete=["blood pressure"]).columns[0].levels) == 36


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("", {}, "table.csv:1: the file is empty"),
        ("a,b\n", {}, "table.csv:1: the table has no rows"),
        ("a,a\nx,y\n", {}, "table.csv:1: the column 'a' is named twice"),
        ("a\nx\n", {}, "the header names one column"),
        ("a,b\nx,y\nx\n", {}, "table.csv:3: the row has 1 cells where the header names 2 columns"),
        ('a,b\nx,y\n"x,y\n', {}, "table.csv:3: not a line of values"),
        ("a,b\nx,y\nx,z\n", {}, "a network needs two variables"),
        ("a,b\nx,y\nz,u\n", {"continuous": ["a"]}, "the column 'a' cannot be continuous: 'x' is not a number"),
        ("a,b\nx,y\nz,u\n", {"discrete": ["aa"]}, "there is no column 'aa'; did you mean 'a'"),
        ("a,b\nx,y\nz,u\n", {"discrete": ["a"], "ignore": ["a"]}, "two things at once"),
        ("a,b\n\x00x,y\n", {}, "table.csv:2: a zero byte"),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, text: str, words: dict[str, list[str]], message: str) -> None:
    with pytest.raises(DvaeError) as caught:
        Table.read(written(tmp_path, text), **words)
    assert message in str(caught.value)
    assert "table.csv" in str(caught.value)


def test_text_that_is_not_utf8_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.csv"
    path.write_bytes("a,b\nx,y\nmüde,z\n".encode("latin-1"))
    with pytest.raises(FormatError, match=r"latin.csv:3: byte 2 of the line is not UTF-8"):
        Table.read(path)


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        with pytest.raises(MissingError, match="a Parquet file needs the package pyarrow"):
            Table.read(tmp_path / "table.parquet")


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"word": ["x", None, "y", "x"] * 5, "number": [0.5 * row for row in range(20)], "few": [1, 2] * 10}
    table = pyarrow.table(columns)
    table = table.append_column("coded", table.column("word").dictionary_encode())
    parquet.write_table(table, tmp_path / "table.parquet")
    read = Table.read(tmp_path / "table.parquet")
    assert kinds(read) == {"word": "discrete", "number": "continuous", "few": "discrete", "coded": "discrete"}
    assert read.columns[0].num_missing == 5
    assert read.columns[3].values.tolist() == read.columns[0].values.tolist()


def test_mappings_matrices_and_frames_are_tables() -> None:
    mapping = Table.of({"a": ["x", None, "y", "x"], "b": np.array([1.5, 2, np.nan, 4]), "c": [True, False, True, True]})
    assert kinds(mapping) == {"a": "discrete", "b": "continuous", "c": "discrete"}
    assert [column.num_missing for column in mapping.columns] == [1, 1, 0]
    matrix = Table.of(np.random.default_rng(0).normal(size=(30, 3)))
    assert matrix.names == ("x0", "x1", "x2")
    with pytest.raises(TaskError, match="different lengths"):
        Table.of({"a": [1, 2], "b": [1]})
    with pytest.raises(TaskError, match="infinite number in row 2"):
        Table.of({"a": [1.0, np.inf], "b": [1.0, 2.0]})


def test_pandas_frames_are_tables() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.Categorical(["x", "y", "x", None]), "b": [1.5, 2.5, None, 3.5]})
    assert kinds(Table.of(frame)) == {"a": "discrete", "b": "continuous"}


def test_taken_rows_keep_their_levels() -> None:
    table = Table.of({"a": ["x", "y", "z"] * 4, "b": ["u", "v"] * 6})
    part = table.take([0, 3, 6])
    assert part.num_rows == 3
    assert part.columns[0].levels == ("x", "y", "z")
    assert part.discrete_data.codes.tolist() == [[0, 0], [0, 1], [0, 0]]


def test_a_column_of_too_many_words_is_left_out_unless_it_is_asked_for() -> None:
    words = [f"w{number % 150}" for number in range(600)]
    columns = {"words": words, "few": [word[-1] for word in words], "other": [word[-2] for word in words]}
    table = Table.of(columns)
    assert table.names == ("few", "other")
    assert "150 different values are too many categories (more than 100)" in table.left_out[0].why
    asked = Table.of(columns, discrete=["words"])
    assert len(asked.columns[0].levels) == 150
    assert Table.of({**columns, "words": [f"w{number % 100}" for number in range(600)]}).names[0] == "words"
