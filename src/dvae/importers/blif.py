"""BLIF, the netlists of logic synthesis (Berkeley, 1992): gates as nodes, named for what they compute.

Read: one `.model` with `.inputs`, `.outputs`, `.names`, `.gate`, `.subckt`, `.latch` and `.end`. A latch ends one
clock cycle and begins the next: what it stores is a node `latch-in`, what it gives a node `latch-out`, with no edge
between them; a cell with the pins of a flip-flop, which is what Yosys writes, is a latch, too. (Verilog becomes BLIF by
synthesis, in Yosys: `synth -flatten; write_blif FILE`.)
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from dvae.dag import Dag
from dvae.errors import DagError, FormatError
from dvae.importers.files import FilePath, read_text
from dvae.importers.program import Program

MAX_TABLE_INPUTS = 4  # of a gate whose function is named by its truth table
IGNORED = frozenset({
    ".default_input_arrival", ".default_output_required", ".input_arrival", ".output_required", ".area", ".delay",
    ".wire_load_slope", ".wire", ".input_drive", ".output_load", ".default_input_drive", ".default_output_load",
    ".param", ".attr", ".cname", ".clock", ".blackbox", ".default_max_input_load", ".max_input_load",
})  # fmt: skip
YOSYS_CONSTANTS = frozenset({"$false", "$true", "$undef"})  # it defines them in every file, and seldom reads them
OUTPUT_PINS = ("O", "Y", "Q", "QN", "ZN", "Z", "OUT", "o", "y", "q", "out")


def from_blif(path: FilePath) -> Dag:
    """The netlist of a BLIF file; the column `cubes` says how many rows the table of a gate has."""
    reader = _Reader(str(path))
    try:
        for number, words in _statements(read_text(path)):
            reader.line = number
            reader.take(words)
        reader.close()
        return reader.program.dag()
    except DagError as error:
        raise FormatError(f"{path}: {error}") from None


def _statements(text: str) -> Iterator[tuple[int, list[str]]]:
    """Lines with what continues them, without comments: the number of the first, and the words."""
    words: list[str] = []
    first = 1
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].rstrip()
        first = number if not words else first
        goes_on = content.endswith("\\")
        words += content.removesuffix("\\").split()
        if not goes_on and words:
            yield first, words
            words = []
    if words:
        yield first, words


@dataclass
class _Reader:
    where: str
    program: Program = field(default_factory=Program)
    line: int = 1
    begun: bool = False
    ended: bool = False
    names: list[str] | None = None  # of the gate whose table is being read
    table: list[tuple[str, str]] = field(default_factory=list)
    made: set[str] = field(default_factory=set)

    def take(self, words: list[str]) -> None:
        first = words[0]
        if not first.startswith("."):
            self.row(words)
            return
        self.finish_gate()
        if self.ended:
            raise self.problem("only one model is read from a file; flatten it first")
        if first not in (".model", *IGNORED) and not self.begun:
            raise self.problem(".model is expected first")
        if first == ".model":
            if self.begun:
                raise self.problem("only one model is read from a file; flatten it first")
            self.begun = True
        elif first == ".end":
            self.ended = True
        elif first in (".inputs", ".outputs"):
            for name in words[1:]:
                (self.input if first == ".inputs" else self.program.output)(name)
        elif first == ".names":
            if len(words) < 2:
                raise self.problem(".names needs the name of an output")
            self.names = words[1:]
        elif first in (".gate", ".subckt"):
            self.gate(words)
        elif first == ".latch":
            self.latch(words)
        elif first not in IGNORED:
            raise self.problem(f"the command {reprlib.repr(first)} is not known here")

    def close(self) -> None:
        self.finish_gate()
        if not self.begun:
            raise self.problem("not BLIF (.model is not there)")
        known = self.program.operations
        read = {net for operation in known for net in operation.inputs} | set(self.program.outputs)
        self.program.operations = [each for each in known if not {*each.outputs} & YOSYS_CONSTANTS - read]

    def input(self, name: str) -> None:
        self.own(name)
        self.program.input(name)

    def row(self, words: list[str]) -> None:
        if self.names is None:
            raise self.problem(f"{reprlib.repr(words[0])} is neither a command nor a row of a table")
        inputs = len(self.names) - 1
        cube, value = ("", words[0]) if len(words) == 1 else (words[0], words[-1])
        if len(words) != (2 if inputs else 1) or len(cube) != inputs or set(cube) - set("01-") or value not in "01":
            raise self.problem(f"a row of this table has {inputs} of 0, 1 and -, and then 0 or 1")
        self.table.append((cube, value))

    def finish_gate(self) -> None:
        if self.names is None:
            return
        *inputs, output = self.names
        self.own(output)
        kind = function_name(len(inputs), self.table)
        self.program.operation(kind, inputs, [output], {"cubes": len(self.table)} if kind.startswith("table") else {})
        self.names, self.table = None, []

    def gate(self, words: list[str]) -> None:
        pins = [word.partition("=") for word in words[2:]]
        if len(words) < 3 or not all(equal and pin and net for pin, equal, net in pins):
            raise self.problem(f"{words[0]} needs a name and pins, as in {words[0]} NAND2 A=x B=y O=z")
        outputs = [(pin, net) for pin, _, net in pins if pin in OUTPUT_PINS] or [(pins[-1][0], pins[-1][2])]
        chosen = {pin for pin, _ in outputs}
        for _, net in outputs:
            self.own(net)
        inputs, given = [net for pin, _, net in pins if pin not in chosen], [net for _, net in outputs]
        if _stores({pin.upper() for pin, _, _ in pins}):
            self.program.operation("latch-in", inputs, [])
            self.program.operation("latch-out", [], given)
        else:
            self.program.operation(words[1], inputs, given)

    def latch(self, words: list[str]) -> None:
        if not 3 <= len(words) <= 6:
            raise self.problem(".latch needs an input and an output")
        self.own(words[2])
        self.program.operation("latch-in", [words[1]], [])
        self.program.operation("latch-out", [], [words[2]])

    def own(self, net: str) -> None:
        if net in self.made:
            raise self.problem(f"the net {reprlib.repr(net)} is driven twice")
        self.made.add(net)

    def problem(self, problem: str) -> FormatError:
        return FormatError.at(self.where, self.line, problem)


def _stores(pins: set[str]) -> bool:
    """Whether these are the pins of a flip-flop or a latch: D and Q, or set, reset and Q."""
    return "Q" in pins and ("D" in pins or {"S", "R"} <= pins)


def function_name(inputs: int, table: list[tuple[str, str]]) -> str:
    """`and2`, `xor3`, `mux`, ... for a function that has a name, else `table` and its number of inputs."""
    if inputs > MAX_TABLE_INPUTS:
        return f"table{inputs}"
    value = table[0][1] if table else "1"  # all rows of a table have the same: the rest is the other
    if any(each != value for _, each in table):
        raise DagError("a table of .names has rows for 0 and for 1; it must have one or the other")
    points = range(2**inputs)
    rows = [format(point, f"0{inputs}b") if inputs else "" for point in points]
    covered = [any(all(a in ("-", b) for a, b in zip(cube, row, strict=True)) for cube, _ in table) for row in rows]
    truth = tuple(found == (value == "1") for found in covered)
    return _named(inputs).get(truth, f"table{inputs}")


def _named(inputs: int) -> dict[tuple[bool, ...], str]:
    """The functions of so many inputs that have names, by their truth tables."""
    points = [[bool(point >> (inputs - 1 - bit) & 1) for bit in range(inputs)] for point in range(2**inputs)]
    if inputs == 0:
        return {(False,): "zero", (True,): "one"}
    found = {tuple(False for _ in points): "zero", tuple(True for _ in points): "one"}
    if inputs == 1:
        return {**found, (False, True): "buffer", (True, False): "not"}
    for name, of in (("and", all), ("or", any), ("xor", lambda bits: sum(bits) % 2 == 1)):
        truth = tuple(bool(of(bits)) for bits in points)
        found[truth] = f"{name}{inputs}"
        found[tuple(not bit for bit in truth)] = f"{'xnor' if name == 'xor' else 'n' + name}{inputs}"
    if inputs == 3:
        for select in range(3):
            first, second = (other for other in range(3) if other != select)
            for a, b in ((first, second), (second, first)):
                found[tuple(bits[a] if bits[select] else bits[b] for bits in points)] = "mux"
        found[tuple(sum(bits) >= 2 for bits in points)] = "majority"
    return found
