"""DOT, the language of Graphviz: a writer, and a reader of the part of the language that tells a `Dag`.

Read: one `digraph`, node statements, edge chains `a -> b -> c`, quoted identifiers, comments, attributes. The
type of a node is its attribute `type` or, without one, `label`; where no node has either, the types are the names of
the nodes, which is what Graphviz draws. An unquoted integer is an integer label. Attributes that Graphviz does not know
are columns, unquoted numbers numbers; those of drawings are passed over (`dot_names`). Subgraphs, ports, HTML strings
and undirected edges are refused.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from dvae.dag.columns import Column, Value, columns_of, values_at
from dvae.dag.dot_names import PROPERTY_MARK, attribute_of, column_of
from dvae.dag.value import Dag, Edge, Label, topological_order
from dvae.errors import DagError, FormatError

_TOKEN = re.compile(
    r"""
      (?P<space>   [\s\ufeff]+ | //[^\n]* | /\*.*?\*/ | (?<![^\n])\#[^\n]* )
    | (?P<quoted>  "(?:[^"\\]|\\.)*" )
    | (?P<number>  -?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+) )
    | (?P<word>    [^\W\d]\w* )
    | (?P<mark>    ->|--|[{}\[\]=;,:<>+] )
    """,
    re.VERBOSE | re.DOTALL,
)
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,1000}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_LEXICAL_ESCAPES = {'"': '"', "\n": ""}  # those of any string: a quote, a line joined to the next
_LABEL_ESCAPES = {"\\": "\\", "n": "\n"}  # those that Graphviz resolves in labels only
_OWN_NAME = "\\N"  # Graphviz writes this default label, the name of the node, into every file
_KEYWORDS = frozenset({"strict", "graph", "digraph", "subgraph", "node", "edge"})
_TYPE_ATTRIBUTES = ("type", "label")
NAME_AS_TYPE = "name"  # in the place of an attribute: the type of a node is its name
MAX_DEPTH = 50  # of subgraphs in subgraphs


def to_dot(dag: Dag) -> str:
    """DOT text that Graphviz draws with the labels in the nodes; `from_dot` reads it back as the same DAG."""
    properties = [f"  {_written(PROPERTY_MARK + name)}={_written(value)};" for name, value in dag.properties.items()]
    nodes = [
        f"  {node} [label={_written(label)}{_attributes(dag.node, node, ', ')}];"
        for node, label in enumerate(dag.types)
    ]
    edges = []
    for place, (source, target) in enumerate(dag.edges):
        values = _attributes(dag.edge, place)
        edges.append(f"  {source} -> {target}{f' [{values}]' if values else ''};")
    return "\n".join(["digraph {", *properties, *nodes, *edges, "}"]) + "\n"


def from_dot(text: str, where: str = "DOT") -> Dag:
    """The DAG of a DOT text, nodes in order of first mention; errors begin with `where` and the line."""
    return _Parser(list(_tokens(text, where)), where).dag()


def all_from_dot(
    text: str, where: str = "DOT", *, type_from: str | None = None, subgraphs: bool = False
) -> list[Dag]:  # fmt: skip
    """The DAGs of a text that may hold several graphs, one after another.

    `type_from` names the attribute that is a node's type ("name": its own name). With `subgraphs`, the text is read as
    other programs write it: subgraphs as if their braces were not there, and an empty label as the node's name.
    """
    tokens = list(_tokens(text, where))
    found: list[Dag] = []
    position = 0
    while not found or tokens[position].kind != "end":
        parser = _Parser(tokens, where, position, (type_from,) if type_from else _TYPE_ATTRIBUTES, subgraphs)
        parser.graph()
        found.append(parser.checked())
        position = parser.position
    return found


def _attributes(columns: Mapping[str, Column], place: int, opening: str = "") -> str:
    """The values of a node or an edge as attributes."""
    values = values_at(columns, place)
    written = ", ".join(f"{_written(attribute_of(name))}={_written(value)}" for name, value in values.items())
    return opening + written if written else ""


def _written(label: Value) -> str:
    assert label is not None
    if isinstance(label, int):
        return str(int(label))
    if isinstance(label, float):
        digits = format(Decimal(repr(label)), "f")  # DOT has no exponents
        return digits if "." in digits else digits + ".0"
    escaped = label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # quoted, number, word, keyword, mark or end
    text: str
    line: int


def _tokens(text: str, where: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormatError.at(where, line, _no_token(text, position))
        kind, found = str(match.lastgroup), match.group()
        if kind == "quoted":
            inner = _ESCAPE.sub(lambda escape: _LEXICAL_ESCAPES.get(escape[1], escape[0]), found[1:-1])
            yield _Token(kind, inner, line)
        elif kind == "word" and found.lower() in _KEYWORDS:
            yield _Token("keyword", found.lower(), line)
        elif kind != "space":
            yield _Token(kind, found, line)
        position = match.end()
        line += found.count("\n")
    yield _Token("end", "the end of the text", line)


def _no_token(text: str, position: int) -> str:
    if text[position] == '"':
        return "the quoted string that begins here is never closed"
    if text.startswith("/*", position):
        return "the comment that begins here is never closed"
    return f"the character {text[position]!r} has no place here"


@dataclass(slots=True)
class _Parser:
    """Recursive descent over the tokens, gathering nodes and edges on the way."""

    tokens: list[_Token]
    where: str
    position: int = 0
    types_from: tuple[str, ...] = _TYPE_ATTRIBUTES
    flattened: bool = False
    depth: int = 0
    index_of: dict[str, int] = field(default_factory=dict)
    names: list[_Token] = field(default_factory=list)
    types: dict[int, Label] = field(default_factory=dict)
    edge_lines: dict[Edge, int] = field(default_factory=dict)
    node_values: dict[int, dict[str, Value]] = field(default_factory=dict)
    edge_values: dict[Edge, dict[str, Value]] = field(default_factory=dict)
    properties: dict[str, Value] = field(default_factory=dict)

    def dag(self) -> Dag:
        self.graph()
        if self.token.kind != "end":
            raise self.unexpected("nothing after the graph")
        return self.checked()

    def graph(self) -> None:
        """Reads one graph, up to its closing brace."""
        self.accept("strict")
        if not self.accept("digraph"):
            raise self.unexpected("a directed graph, which begins with 'digraph',")
        if self.token.kind in ("quoted", "number", "word"):
            self.advance()
        self.expect("{")
        while not self.accept("}"):
            self.statement()

    def statement(self) -> None:
        token = self.token
        if self.accept(";"):
            return
        if token.text in ("subgraph", "{") and token.kind in ("keyword", "mark"):
            self.subgraph()
            return
        if token.kind == "keyword":
            self.defaults()
            return
        chain = [self.identifier()]
        if self.accept("="):  # an attribute of the graph, such as rankdir=LR
            self.add_property(token, self.identifier())
            return
        while self.accept("->"):
            chain.append(self.identifier())
        if self.token.kind == "mark" and self.token.text == "--":
            raise self.problem("an undirected edge (--) has no place in a directed graph")
        nodes = [self.node(token) for token in chain]
        attributes = self.attributes()
        for source, target, token in zip(nodes, nodes[1:], chain[1:], strict=False):
            self.add_edge((source, target), token)
            self.edge_values[source, target] = _values(attributes)
        if len(nodes) == 1:
            self.add_type(nodes[0], attributes, token)
            others = {name: value for name, value in attributes.items() if name not in self.types_from}
            self.node_values.setdefault(nodes[0], {}).update(_values(others))

    def subgraph(self) -> None:
        """The statements of a subgraph, as if they stood outside."""
        if not self.flattened:
            raise self.problem("subgraphs are not supported")
        if self.depth == MAX_DEPTH:
            raise self.problem(f"subgraphs are nested more than {MAX_DEPTH} deep")
        if self.accept("subgraph") and self.token.kind in ("quoted", "number", "word"):
            self.advance()
        self.depth += 1
        self.expect("{")
        while not self.accept("}"):
            self.statement()
        self.depth -= 1
        if self.token.kind == "mark" and self.token.text == "->":
            raise self.problem("edges of whole subgraphs are not supported")

    def defaults(self) -> None:
        keyword = self.advance()
        if keyword.text not in ("graph", "node", "edge"):
            raise self.problem(f"'{keyword.text}' has no place here", keyword)
        if self.token.text != "[":
            raise self.unexpected("'['")
        attributes = self.attributes()
        given = [attributes[name].text for name in self.types_from if name in attributes]
        if keyword.text == "node" and any(value != _OWN_NAME for value in given):
            raise self.problem("a default type or label is not supported; give every node its own", keyword)

    def attributes(self) -> dict[str, _Token]:
        found: dict[str, _Token] = {}
        while self.accept("["):
            while not self.accept("]"):
                name = self.identifier()
                self.expect("=")
                if name.text in found:
                    raise self.problem(f"the attribute {name.text!r} is given twice", name)
                found[name.text] = self.identifier()
                if not self.accept(","):
                    self.accept(";")
        return found

    def identifier(self) -> _Token:
        if self.token.text == "<" and self.token.kind == "mark":
            raise self.problem("HTML strings are not supported")
        if self.token.kind not in ("quoted", "number", "word"):
            raise self.unexpected("an identifier")
        return self.advance()

    def node(self, token: _Token) -> int:
        if token.text not in self.index_of:
            self.index_of[token.text] = len(self.index_of)
            self.names.append(token)
        return self.index_of[token.text]

    def add_edge(self, edge: Edge, token: _Token) -> None:
        if edge[0] == edge[1]:
            raise self.problem(f"the node {token.text!r} has an edge to itself", token)
        if edge in self.edge_lines:
            first = self.edge_lines[edge]
            raise self.problem(f"this edge to {token.text!r} is given twice, first on line {first}", token)
        self.edge_lines[edge] = token.line

    def add_type(self, node: int, attributes: dict[str, _Token], token: _Token) -> None:
        value = next((attributes[name] for name in self.types_from if name in attributes), None)
        if value is None:
            return
        if node in self.types:
            raise self.problem(f"the node {token.text!r} gets a type for the second time", token)
        self.types[node] = self.label(value)

    def label(self, token: _Token) -> Label:
        """A type as it is written."""
        if token.kind == "number" and _INTEGER.fullmatch(token.text):
            return int(token.text)
        return _ESCAPE.sub(lambda escape: self.unescaped(escape, token), token.text)

    def add_property(self, name: _Token, value: _Token) -> None:
        text = _plain_text(name.text)
        if text.startswith(PROPERTY_MARK):
            self.properties[text.removeprefix(PROPERTY_MARK)] = _value(value)

    def unescaped(self, escape: re.Match[str], value: _Token) -> str:
        if escape[1] not in _LABEL_ESCAPES:
            raise self.problem(f"the escape {escape[0]} is not supported in a label", value)
        return _LABEL_ESCAPES[escape[1]]

    def checked(self) -> Dag:
        if self.types_from == (NAME_AS_TYPE,) or (not self.types and self.types_from == _TYPE_ATTRIBUTES):
            self.types = {node: self.label(name) for node, name in enumerate(self.names)}
        elif self.flattened:  # schedulers draw what joins tasks without a label
            unlabelled = [node for node, label in self.types.items() if label == ""]
            self.types |= {node: self.label(self.names[node]) for node in unlabelled}
        for node, name in enumerate(self.names):
            if node not in self.types:
                lacking, others = " and no ".join(self.types_from), ", although others have" if self.types else ""
                problem = f"the node {name.text!r} has no {lacking} anywhere{others}"
                raise FormatError.at(self.where, name.line, problem)
        edges = list(self.edge_lines)
        closing = _closes_a_cycle(len(self.types), edges)
        if closing is not None:
            raise FormatError.at(self.where, self.edge_lines[closing], "this edge closes a cycle")
        try:
            return Dag(
                tuple(self.types[node] for node in range(len(self.types))),
                tuple(edges),
                columns_of([self.node_values.get(node, {}) for node in range(len(self.types))], ()),
                columns_of([self.edge_values[edge] for edge in edges], ()),
                self.properties,  # type: ignore[arg-type]
            )
        except DagError as error:
            raise self.problem(str(error)) from None

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def advance(self) -> _Token:
        token = self.token
        self.position += 1
        return token

    def accept(self, text: str) -> bool:
        found = self.token.text == text and self.token.kind in ("mark", "keyword")
        self.position += found
        return found

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.unexpected(f"'{text}'")

    def unexpected(self, expected: str) -> FormatError:
        came = self.token.text if self.token.kind == "end" else repr(self.token.text)
        return self.problem(f"{expected} is expected where {came} comes")

    def problem(self, problem: str, token: _Token | None = None) -> FormatError:
        return FormatError.at(self.where, (token or self.token).line, problem)


def _values(attributes: dict[str, _Token]) -> dict[str, Value]:
    """The attributes that are values of columns."""
    named = ((column_of(_plain_text(name)), value) for name, value in attributes.items())
    return {name: _value(value) for name, value in named if name is not None}


def _value(token: _Token) -> Value:
    if token.kind == "number":
        return int(token.text) if _INTEGER.fullmatch(token.text) else float(token.text)
    return _plain_text(token.text)


def _plain_text(text: str) -> str:
    """A string without the escapes that `to_dot` writes; others stay as they are, since no label is drawn from it."""
    return _ESCAPE.sub(lambda escape: _LABEL_ESCAPES.get(escape[1], escape[0]), text)


def _closes_a_cycle(num_nodes: int, edges: list[Edge]) -> Edge | None:
    """The first edge that, with those before it, makes a cycle."""

    def cyclic_up_to(last: int) -> bool:
        try:
            topological_order(num_nodes, edges[: last + 1])
        except DagError:
            return True
        return False

    last = bisect_left(range(len(edges)), True, key=cyclic_up_to)
    return edges[last] if last < len(edges) else None
