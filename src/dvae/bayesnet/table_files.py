"""Tables from files and frames: CSV (plain or gzip, any usual delimiter), Parquet, pandas, mappings of columns."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from dvae.bayesnet.columns import Numbers, RawColumn
from dvae.dag.lines import FilePath, numbered_lines
from dvae.errors import FormatError, MissingError, TaskError
from dvae.extras import missing

MISSING_WORDS = frozenset(("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "?"))
"""Cells that stand for no value. None is not among them: it is a category of the insurance data."""

DELIMITERS = (",", ";", "\t", "|")
ROWS_AT_ONCE = 20_000
MANY_WORDS = 30_000  # different words of a column, from which on they are numbers or nothing that can be used
PARQUET_ENDINGS = (".parquet", ".pq")


def read_columns(path: FilePath) -> list[RawColumn]:
    """The columns of a CSV or Parquet file."""
    if os.fspath(path).lower().endswith(PARQUET_ENDINGS):
        return _read_parquet(path)
    return _read_csv(path)


def frame_columns(frame: Any) -> list[RawColumn]:
    """The columns of a pandas frame, a mapping of names to values, or a matrix (columns `x0`, `x1`, ...)."""
    if isinstance(frame, np.ndarray):
        if frame.ndim != 2:
            raise TaskError(f"a table as an array has two axes, rows and columns, not {frame.ndim}")
        frame = {f"x{place}": column for place, column in enumerate(frame.T)}
    if not isinstance(frame, Mapping) and not (hasattr(frame, "columns") and hasattr(frame, "__getitem__")):
        raise TaskError(f"a table is a path, a pandas frame, a mapping of columns or a matrix, not a {type(frame)}")
    names = list(frame) if isinstance(frame, Mapping) else list(frame.columns)
    columns = [_of_values(str(name), np.asarray(frame[name])) for name in names]
    lengths = {len(column.codes if column.codes is not None else column.numbers) for column in columns}  # type: ignore[arg-type]
    if len(lengths) > 1:
        raise TaskError(f"the columns of the table have different lengths: {', '.join(map(str, sorted(lengths)))}")
    _check_names([column.name for column in columns], lambda problem: TaskError(f"the table: {problem}"))
    if lengths in (set(), {0}):
        raise TaskError("the table has no rows")
    return columns


def _of_values(name: str, values: Any) -> RawColumn:
    if values.ndim != 1:
        raise TaskError(f"the column {name!r} has {values.ndim} axes; it needs one value a row")
    if values.dtype.kind in "iuf":
        return RawColumn(name, numbers=_finite(name, values.astype(np.float64)))
    words = [None if value is None or value != value else str(value) for value in values.tolist()]
    coder = _Coder()
    return RawColumn(name, coder.coded(["" if word is None else word for word in words]), coder.levels())


def _finite(name: str, numbers: Numbers) -> Numbers:
    if np.isinf(numbers).any():
        raise TaskError(f"the column {name!r} has an infinite number in row {int(np.isinf(numbers).argmax()) + 1}")
    return numbers


class _Coder(dict[str, int]):
    """Codes of words in the order in which they come; -1 for those that stand for no value."""

    count = 0  # of the words with a code

    def __missing__(self, word: str) -> int:
        stripped = word.strip()
        if stripped in MISSING_WORDS:
            code = -1
        elif stripped != word:
            code = self[stripped]
        else:
            code = self.count
            self.count += 1
        self[word] = code
        return code

    def coded(self, words: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int32]]:
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))

    def levels(self) -> tuple[str, ...]:
        found = {code: word for word, code in self.items() if code >= 0 and word == word.strip()}
        return tuple(found[code] for code in range(self.count))


class _Growing:
    """One column while it is read: codes of words, then numbers when there are too many words, then nothing."""

    def __init__(self, decimal_comma: bool) -> None:
        self.coder = _Coder()
        self.parts: list[Any] = []
        self.mode = "words"
        self.decimal_comma = decimal_comma

    def add(self, cells: Sequence[str]) -> None:
        if self.mode == "words":
            self.parts.append(self.coder.coded(cells))
            if self.coder.count > MANY_WORDS:
                self._to_numbers()
        elif self.mode == "numbers":
            numbers = self._numbers(cells)
            if numbers is None:
                self.mode, self.parts = "nothing", []
            else:
                self.parts.append(numbers)

    def raw(self, name: str) -> RawColumn:
        if self.mode == "nothing":
            return RawColumn(name, num_different=MANY_WORDS)
        whole = np.concatenate(self.parts)
        if self.mode == "numbers":
            return RawColumn(name, numbers=whole)
        levels = self.coder.levels()
        if self.decimal_comma and levels and all(self._number(word) is not None for word in levels):
            levels = tuple(word.replace(",", ".") for word in levels)
        return RawColumn(name, whole, levels)

    def _to_numbers(self) -> None:
        values = self._numbers(self.coder.levels())
        if values is None:
            self.mode, self.parts = "nothing", []
        else:
            known = np.append(values, math.nan)
            self.parts, self.mode = [known[codes] for codes in self.parts], "numbers"
        self.coder = _Coder()

    def _numbers(self, cells: Sequence[str]) -> Numbers | None:
        found = [self._number(cell) for cell in cells]
        return None if any(value is None for value in found) else np.array(found, dtype=np.float64)

    def _number(self, cell: str) -> float | None:
        try:
            value = float(cell)
        except ValueError:
            if cell.strip() in MISSING_WORDS:
                return math.nan
            if self.decimal_comma and cell.count(",") == 1:
                return self._number(cell.replace(",", "."))
            return None
        return value if not math.isinf(value) else None


def _read_csv(path: FilePath) -> list[RawColumn]:
    place = [1]  # the line that was read last, for errors
    head = list(islice(_lines(path, [1]), 20))
    if not head:
        raise FormatError.at(path, 1, "the file is empty; a table has a header and rows")
    delimiter = _delimiter(head)
    rows = _rows(path, _lines(path, place), delimiter, place)
    header = [cell.strip() for cell in next(rows)]
    names = [name or f"column {number}" for number, name in enumerate(header, start=1)]
    _check_names(names, lambda problem: FormatError.at(path, 1, problem))
    if len(names) < 2:
        problem = "the header names one column; they are separated by commas, semicolons, tabs or bars"
        raise FormatError.at(path, 1, problem)
    columns = [_Growing(delimiter != ",") for _ in names]
    count = 0
    while chunk := list(islice(_checked(path, rows, len(names), place), ROWS_AT_ONCE)):
        count += len(chunk)
        for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
            column.add(cells)
    if count == 0:
        raise FormatError.at(path, 1, "the table has no rows under its header")
    return [column.raw(name) for column, name in zip(columns, names, strict=True)]


def _lines(path: FilePath, place: list[int]) -> Iterator[str]:
    for number, text in numbered_lines(path):
        place[0] = number
        if "\0" in text:
            raise FormatError.at(path, number, "a zero byte: this is no text in UTF-8 (UTF-16, perhaps); convert it")
        yield text.removeprefix("\ufeff") if number == 1 else text


def _rows(path: FilePath, lines: Iterator[str], delimiter: str, place: list[int]) -> Iterator[list[str]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        try:
            yield next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FormatError.at(path, place[0], f"not a line of values separated by {delimiter!r} ({error})") from None


def _checked(path: FilePath, rows: Iterator[list[str]], width: int, place: list[int]) -> Iterator[list[str]]:
    for row in rows:
        if len(row) != width:
            problem = f"the row has {len(row)} cells where the header names {width} columns"
            raise FormatError.at(path, place[0], problem)
        yield row


def _delimiter(head: Sequence[str]) -> str:
    """The delimiter that cuts the first lines into as many cells as the header, and into most."""

    def width(delimiter: str) -> int:
        try:
            widths = {len(row) for row in csv.reader(head, delimiter=delimiter)}
        except csv.Error:
            return 0
        return widths.pop() if len(widths) == 1 else 0

    best = max(DELIMITERS, key=width)
    if width(best) > 1:
        return best
    return max(DELIMITERS, key=head[0].count)


def _check_names(names: Sequence[str], error: Callable[[str], Exception]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise error(f"the column {name!r} is named twice")


def _read_parquet(path: FilePath) -> list[RawColumn]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise missing("pyarrow", "tables", "a Parquet file") from None
    if not os.path.exists(path):  # noqa: PTH110 - a plain path, str or PathLike
        raise MissingError(f"the file {os.fspath(path)} does not exist")
    try:
        table = parquet.read_table(os.fspath(path))
    except (ArrowException, OSError) as error:
        raise FormatError(f"{os.fspath(path)}: not a Parquet file ({str(error).splitlines()[0]})") from None
    _check_names(table.column_names, lambda problem: FormatError(f"{os.fspath(path)}: {problem}"))
    if table.num_rows == 0:
        raise FormatError(f"{os.fspath(path)}: the table has no rows")
    return [_of_arrow(name, table.column(name)) for name in table.column_names]


def _of_arrow(name: str, column: Any) -> RawColumn:
    from pyarrow import types

    kind = column.type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return RawColumn(name, numbers=_finite(name, column.cast("float64").to_numpy().astype(np.float64)))
    if not types.is_dictionary(kind):
        column = column.cast("string").dictionary_encode()
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    words = ["" if word is None else str(word) for word in whole.dictionary.to_pylist()]
    coder = _Coder()
    code_of = np.append(coder.coded(words), -1)
    places = whole.indices.fill_null(len(words)).to_numpy(zero_copy_only=False)
    return RawColumn(name, code_of[places], coder.levels())
