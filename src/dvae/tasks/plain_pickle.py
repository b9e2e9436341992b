"""Tables of numbers out of a pickle, and nothing else: the one reader of that format, without Python's own.

NAS-Bench-Graph ships its tables as pickles of dicts of numbers. A pickle is a program for a machine with a stack; this
machine knows the instructions that write such tables down, and no others: it imports and calls nothing, its dicts hold
numbers, its tuples hold no tuples, and it does no more work than the file is long.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dvae.errors import FormatError, MissingError

MAX_BYTES = 64 * 2**20  # of a file; the largest there are have 2 MiB
NEWEST = 5  # of the format's protocols
TEXT_BYTES = 64  # of a column's name
# A numpy number is written as a call of `scalar` with a type and its bytes. Both are ours to give.
SCALARS = ("numpy.core.multiarray scalar", "numpy._core.multiarray scalar")
TYPE = "numpy dtype"
LITTLE_ENDIAN = "<"


class _Refusal(Exception):
    """Why a file is no table."""


class _Float64:
    """Numpy's type of eight bytes, once it is known to be that."""


class _Name(str):
    """One of the names that a table may use."""


class _Machine:
    """Reads one pickle from the first byte to its end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps = self.data, STEPS
        while True:
            code = data[self.place]
            self.place += 1
            if code == STOP:
                return self.stack.pop()
            steps[code](self)

    def read(self, count: int) -> bytes:
        begin = self.place
        self.place += count
        if self.place > len(self.data):
            raise _Refusal("it ends too early")
        return self.data[begin : self.place]

    def number(self, kind: str) -> Any:
        return struct.unpack(kind, self.read(struct.calcsize(kind)))[0]

    def text(self, count: int) -> str:
        if count > TEXT_BYTES:
            raise _Refusal(f"it holds a text of {count} bytes")
        return self.read(count).decode()

    def line(self) -> str:
        end = self.data.index(b"\n", self.place)
        return self.text(end - self.place + 1).rstrip("\n")

    def above_mark(self) -> list[Any]:
        begin = self.marks.pop()
        above = self.stack[begin:]
        del self.stack[begin:]
        return above

    def keep(self, place: int) -> None:
        self.memo[place] = self.stack[-1]

    def name(self, module: str, name: str) -> None:
        full = f"{module} {name}"
        if full not in (*SCALARS, TYPE):
            raise _Refusal(f"it names {module}.{name}, which is no number")
        self.stack.append(_Name(full))

    def name_above(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        self.name(module, name)

    def group(self, items: list[Any]) -> None:
        if any(isinstance(item, tuple | dict) for item in items):
            raise _Refusal("it holds a tuple of something other than plain values")
        self.stack.append(tuple(items))

    def last(self, count: int) -> None:
        items = self.stack[-count:]
        del self.stack[-count:]
        self.group(items)

    def call(self) -> None:
        arguments, name = self.stack.pop(), self.stack.pop()
        if name == TYPE and isinstance(name, _Name) and arguments[:1] == ("f8",):
            self.stack.append(_Float64())
        elif isinstance(name, _Name) and name in SCALARS and len(arguments) == 2:
            self.stack.append(_number(*arguments))
        else:
            raise _Refusal(f"it holds numbers that are not of eight bytes ({arguments!r:.60})")

    def build(self) -> None:
        state = self.stack.pop()
        if not isinstance(self.stack[-1], _Float64) or state[1] != LITTLE_ENDIAN:
            raise _Refusal("its numbers are not little-endian")

    def put(self, items: list[Any]) -> None:
        into = self.stack[-1]
        if not isinstance(into, dict) or len(items) % 2:
            raise _Refusal("it is not made of dicts")
        into.update(zip(items[::2], items[1::2], strict=True))

    def put_one(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.put([key, value])


def _number(kind: Any, raw: Any) -> float:
    if not isinstance(kind, _Float64) or not isinstance(raw, bytes) or len(raw) != 8:
        raise _Refusal("a number is not made of eight bytes")
    return float(struct.unpack("<d", raw)[0])


def _protocol(machine: _Machine) -> None:
    if machine.number("<B") > NEWEST:
        raise _Refusal("its protocol is too new")


STOP = ord(".")
_Step = Callable[[_Machine], Any]
_KNOWN: dict[bytes, _Step] = {
    b"\x80": _protocol,
    b"\x95": lambda machine: machine.read(8),  # a frame: how much follows
    b"}": lambda machine: machine.stack.append({}),
    b"(": lambda machine: machine.marks.append(len(machine.stack)),
    b"s": _Machine.put_one,
    b"u": lambda machine: machine.put(machine.above_mark()),
    b"K": lambda machine: machine.stack.append(machine.number("<B")),
    b"M": lambda machine: machine.stack.append(machine.number("<H")),
    b"J": lambda machine: machine.stack.append(machine.number("<i")),
    b"G": lambda machine: machine.stack.append(machine.number(">d")),
    b"X": lambda machine: machine.stack.append(machine.text(machine.number("<I"))),
    b"\x8c": lambda machine: machine.stack.append(machine.text(machine.number("<B"))),
    b"C": lambda machine: machine.stack.append(machine.read(machine.number("<B"))),
    b"N": lambda machine: machine.stack.append(None),
    b"\x88": lambda machine: machine.stack.append(True),
    b"\x89": lambda machine: machine.stack.append(False),
    b"q": lambda machine: machine.keep(machine.number("<B")),
    b"r": lambda machine: machine.keep(machine.number("<I")),
    b"\x94": lambda machine: machine.keep(len(machine.memo)),
    b"h": lambda machine: machine.stack.append(machine.memo[machine.number("<B")]),
    b"j": lambda machine: machine.stack.append(machine.memo[machine.number("<I")]),
    b"c": lambda machine: machine.name(machine.line(), machine.line()),
    b"\x93": _Machine.name_above,
    b")": lambda machine: machine.group([]),
    b"t": lambda machine: machine.group(machine.above_mark()),
    b"\x85": lambda machine: machine.last(1),
    b"\x86": lambda machine: machine.last(2),
    b"\x87": lambda machine: machine.last(3),
    b"R": _Machine.call,
    b"b": _Machine.build,
}
STEPS: dict[int, _Step] = {ord(code): step for code, step in _KNOWN.items()}


def read_table(path: str | Path) -> dict[int, dict[str, float]]:
    """A dict of dicts of numbers."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(f"{path} is not there") from None
    if len(data) > MAX_BYTES:
        raise FormatError(f"{path}: not a table of numbers (it has more than {MAX_BYTES // 2**20} MiB)")
    try:
        table = _Machine(data).run()
    except _Refusal as refusal:
        raise FormatError(f"{path}: not a table of numbers ({refusal})") from None
    except (IndexError, KeyError, TypeError, ValueError) as error:  # an unknown step, or one with nothing to work on
        raise FormatError(f"{path}: not a table of numbers ({type(error).__name__}: {error})") from None
    if not isinstance(table, dict) or not all(_is_row(key, row) for key, row in table.items()):
        raise FormatError(f"{path}: not a table of numbers (it holds something else)")
    return table


def _is_row(key: object, row: object) -> bool:
    return isinstance(key, int) and isinstance(row, dict) and all(isinstance(value, float) for value in row.values())
