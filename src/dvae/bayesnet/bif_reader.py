"""BIF files of any program, read strictly: whatever is not understood is an error with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from dvae.bayesnet.bif_words import NAME, STATES, read_property
from dvae.bayesnet.network import ROW_TOLERANCE, Floats, Network, ProbabilityTable, Variable
from dvae.dag.lines import FilePath, numbered_lines
from dvae.errors import FormatError, TaskError

TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|"[^"]*"|[{}()\[\]|,;]|[^\s{}()\[\]|,;"]+', re.S)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MAX_CELLS = 20_000_000  # of one probability table


def read_bif(path: FilePath) -> Network:
    """The network of a BIF file, gzip or not."""
    parts: list[str] = []
    for number, text in numbered_lines(path):
        parts += ["\n"] * (number - 1 - len(parts))  # blank lines, which keep their numbers
        parts.append(text)
    return parse_bif("".join(parts), path)


def parse_bif(text: str, source: FilePath = "BIF") -> Network:
    """The network of a BIF text; `source` is named in errors."""
    return _Reader(text, source).network()


@dataclass
class _Block:
    """A variable as far as it is read: the names of its states by word, and its probabilities."""

    name: str
    start: int  # where the text names it
    states: dict[str, int]
    real_states: tuple[str, ...]
    parents: tuple[str, ...] = ()
    table: Floats | None = field(default=None)


class _Reader:
    def __init__(self, text: str, source: FilePath) -> None:
        self.text, self.source = text.removeprefix("\ufeff"), source
        self.place = 0
        self.start = 0  # of the token last read
        self.variables: dict[str, _Block] = {}

    def network(self) -> Network:
        if self.next() != "network":
            raise self.error("a BIF file begins with `network NAME {`")
        self.word("the name of the network")
        self.expect("{")
        self.properties()
        while (kind := self.next()) != "":
            if kind == "variable":
                self.variable()
            elif kind == "probability":
                self.probability()
            else:
                raise self.error(f"found {kind!r} where `variable` or `probability` is expected")
        for block in self.variables.values():
            if block.table is None:
                raise self.error_at(block.start, f"the variable {block.name!r} has no probabilities")
        try:
            return Network(tuple(self.finished(block) for block in self.variables.values()))
        except TaskError as error:
            raise FormatError(f"{self.source}: {error}") from None

    def finished(self, block: _Block) -> Variable:
        assert block.table is not None
        parents = tuple(self.variables[parent].name for parent in block.parents)
        variable = Variable(block.name, block.real_states, parents)
        try:
            return replace(variable, parameters=ProbabilityTable(block.table))
        except TaskError as error:
            raise self.error_at(block.start, f"the table of {block.name!r}: {error}") from None

    def variable(self) -> None:
        word, start = self.word("the name of a variable"), self.start
        if word in self.variables:
            raise self.error(f"the variable {word!r} is given twice")
        self.expect("{")
        name, states, real = word, None, None
        while (token := self.next()) != "}":
            if token == "type":
                states = self.states(word)
            elif token == "property":
                key, value = read_property(self.raw_property()) or ("", "")
                name = str(value) if key == NAME else name
                real = tuple(value) if key == STATES else real
            else:
                raise self.error(f"found {token!r} where `type`, `property` or `}}` is expected")
        if states is None:
            raise self.error(f"the variable {word!r} has no type")
        if real is not None and len(real) != len(states):
            raise self.error(f"the variable {word!r} has {len(states)} states and {len(real)} names for them")
        self.variables[word] = _Block(name, start, {each: k for k, each in enumerate(states)}, real or tuple(states))

    def states(self, variable: str) -> list[str]:
        if (kind := self.next()) != "discrete":
            raise self.error(f"the variable {variable!r} is {kind!r}; only discrete variables are read from BIF")
        self.expect("[")
        count = self.word("the number of states")
        self.expect("]")
        self.expect("{")
        states = list(self.listed("}"))
        self.expect(";")
        if count.lstrip("0") != str(len(states)):  # not as a number, which may have thousands of digits
            raise self.error(f"the variable {variable!r} has {len(states)} states where {count:.20} are announced")
        if len(set(states)) < len(states):
            raise self.error(f"the variable {variable!r} has a state twice")
        return states

    def probability(self) -> None:
        self.expect("(")
        name, start = self.known(self.word("the name of a variable")), self.start
        block = self.variables[name]
        if block.table is not None:
            raise self.error(f"the probabilities of {name!r} are given twice")
        parents: tuple[str, ...] = ()
        if (token := self.next()) == "|":
            parents = tuple(self.known(parent) for parent in self.listed(")"))
        elif token != ")":
            raise self.error(f"found {token!r} where `|` or `)` is expected")
        if len({name, *parents}) <= len(parents):
            raise self.error(f"the parents of {name!r} must differ from it and from one another")
        sizes = [len(self.variables[parent].states) for parent in parents]
        if math.prod(sizes) * len(block.states) > MAX_CELLS:
            raise self.error(f"the table of {name!r} has more than {MAX_CELLS:,} numbers")
        self.expect("{")
        block.parents, block.start = parents, start
        block.table = self.rows(name, parents, (*sizes, len(block.states)))

    def rows(self, name: str, parents: tuple[str, ...], shape: tuple[int, ...]) -> Floats:
        table = np.full(shape, np.nan)
        default: list[float] | None = None
        while (token := self.next()) != "}":
            if token == "table":
                # The variable itself comes first and the last parent changes fastest (Interchange Format 0.15).
                whole = np.array(self.numbers(math.prod(shape), name)).reshape(shape[-1], *shape[:-1])
                table = np.moveaxis(whole, 0, -1).copy()
            elif token == "default":
                default = self.numbers(shape[-1], name)
            elif token == "(":
                codes = tuple(self.codes(name, parents))
                if not np.isnan(table[codes]).any():
                    raise self.error(f"a row of {name!r} is given twice")
                table[codes] = self.numbers(shape[-1], name)
                self.check_row(name, table[codes])
            elif token == "property":
                self.raw_property()
            else:
                raise self.error(f"found {token!r} in the probabilities of {name!r}")
        if default is not None:
            table[np.isnan(table).any(-1)] = default
        if np.isnan(table).any():
            row = next(codes for codes in product(*map(range, shape[:-1])) if np.isnan(table[codes]).any())
            given = [list(self.variables[each].states)[code] for each, code in zip(parents, row, strict=True)]
            where = f" for ({', '.join(given)})" if given else ""
            raise self.error(f"the probabilities of {name!r}{where} are missing")
        return table

    def codes(self, name: str, parents: tuple[str, ...]) -> Iterator[int]:
        words = list(self.listed(")"))
        if len(words) != len(parents):
            raise self.error(f"a row of {name!r} names {len(words)} states; it has {len(parents)} parents")
        for parent, word in zip(parents, words, strict=True):
            if word not in self.variables[parent].states:
                raise self.error(f"the variable {parent!r} has no state {word!r}")
            yield self.variables[parent].states[word]

    def numbers(self, count: int, name: str) -> list[float]:
        values = []
        for word in self.listed(";"):
            if not NUMBER.fullmatch(word):
                raise self.error(f"found {word!r} where a probability is expected")
            values.append(float(word))
        if len(values) != count:
            raise self.error(f"{len(values)} probabilities of {name!r} are given where {count} are expected")
        return values

    def check_row(self, name: str, row: Floats) -> None:
        if abs(float(row.sum()) - 1) > ROW_TOLERANCE or (row < 0).any():
            raise self.error(f"the probabilities of a row of {name!r} add up to {float(row.sum()):.6g}, not to 1")

    def known(self, word: str) -> str:
        if word not in self.variables:
            raise self.error(f"there is no variable {word!r} above")
        return word

    def listed(self, end: str) -> Iterator[str]:
        """Words up to a mark, with or without commas."""
        while (token := self.next()) != end:
            if token == ",":
                continue
            if token in ("", "{", "}", "(", ")", "[", "]", "|", ";"):
                raise self.error(f"found {_named(token)} where `{end}` is expected")
            yield token

    def properties(self) -> None:
        while (token := self.next()) != "}":
            if token != "property":
                raise self.error(f"found {token!r} where `property` or `}}` is expected")
            self.raw_property()

    def raw_property(self) -> str:
        end = self.text.find(";", self.place)
        if end < 0:
            raise self.error("a property does not end in `;`")
        text, self.place = self.text[self.place : end], end + 1
        return text

    def word(self, what: str) -> str:
        token = self.next()
        if token in ("", "{", "}", "(", ")", "[", "]", "|", ",", ";"):
            raise self.error(f"found {_named(token)} where {what} is expected")
        return token

    def expect(self, mark: str) -> None:
        if (token := self.next()) != mark:
            raise self.error(f"found {_named(token)} where `{mark}` is expected")

    def next(self) -> str:
        """The next token; empty at the end of the file."""
        while self.place < len(self.text):
            match = TOKEN.match(self.text, self.place)
            if match is None:
                self.start = self.place
                raise self.error(f"found {self.text[self.place]!r}, which begins nothing that BIF has")
            self.start, self.place = self.place, match.end()
            token = match[0]
            if not token.isspace() and not token.startswith(("//", "/*")):
                if token == '""':
                    raise self.error("found an empty name")
                return token[1:-1] if token[0] == '"' else token
        self.start = len(self.text)
        return ""

    def error(self, problem: str) -> FormatError:
        return self.error_at(self.start, problem)

    def error_at(self, start: int, problem: str) -> FormatError:
        return FormatError.at(self.source, self.text.count("\n", 0, start) + 1, problem)


def _named(token: str) -> str:
    return repr(token) if token else "the end of the file"
