from __future__ import annotations

import re
import sys
from typing import Any

import igraph
import networkx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import PLAIN_LABELS, any_label, dags, networks
from dvae.dag import (
    Dag,
    from_dot,
    from_igraph,
    from_modelstring,
    from_networkx,
    from_pyg,
    to_dot,
    to_igraph,
    to_modelstring,
    to_networkx,
    to_pyg,
)
from dvae.errors import DagError, FormatError, MissingError

CHAIN = Dag(("in", 3, "out"), ((0, 1), (1, 2)))


@given(dags(labels=any_label))
def test_networkx_gives_back_what_it_got(dag: Dag) -> None:
    assert from_networkx(to_networkx(dag)) == dag


def test_a_networkx_graph_says_what_the_dag_says() -> None:
    graph = to_networkx(CHAIN)
    assert type(graph) is networkx.DiGraph
    assert dict(graph.nodes(data="type")) == {0: "in", 1: 3, 2: "out"}
    assert list(graph.edges()) == [(0, 1), (1, 2)]


def test_networkx_nodes_have_any_names_and_keep_their_order() -> None:
    graph = networkx.DiGraph()
    graph.add_node(("last", 1), type="out")
    graph.add_node("free", type="x")
    graph.add_node(2.5, type="in")
    graph.add_edge(2.5, ("last", 1))
    assert from_networkx(graph) == Dag(("x", "in", "out"), ((1, 2),))


def networkx_graph(kind: type, edges: str, types: dict[str, object] | None = None) -> networkx.Graph:
    graph = kind()
    graph.add_nodes_from("abc")
    graph.add_edges_from(edges.split())
    networkx.set_node_attributes(graph, types or dict.fromkeys("abc", "t"), "type")
    return graph


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        (networkx_graph(networkx.Graph, "ab"), "undirected"),
        (networkx_graph(networkx.MultiDiGraph, "ab ab"), "the edge 'a' -> 'b' is given twice"),
        (networkx_graph(networkx.DiGraph, "ab bc ca"), "the graph has a cycle: 'a' -> 'b' -> 'c' -> 'a'"),
        (networkx_graph(networkx.DiGraph, "bb"), "the node 'b' has an edge to itself"),
        (
            networkx_graph(networkx.DiGraph, "ab", {"a": "t", "b": "t"}),
            "the node 'c' has no attribute 'type'",
        ),
        (networkx_graph(networkx.DiGraph, "ab", dict.fromkeys("abc")), "the type of node 'a' is None"),
        (networkx.DiGraph(), "at least one node"),
    ],
)
def test_a_networkx_graph_that_is_no_dag_is_refused(graph: networkx.Graph, problem: str) -> None:
    with pytest.raises(DagError) as caught:
        from_networkx(graph)
    message = str(caught.value)
    if "cycle" in problem:  # it may begin at any node of it
        assert set(re.findall(r"'(\w)' -> '(\w)'", message)) <= {("a", "b"), ("b", "c"), ("c", "a")}
        assert message.startswith("the graph has a cycle: ")
    else:
        assert problem in message


def test_a_multigraph_without_repeated_edges_is_a_dag() -> None:
    assert from_networkx(networkx_graph(networkx.MultiDiGraph, "ab")) == Dag(("t",) * 3, ((0, 1),))


def test_a_long_cycle_is_told_in_short() -> None:
    graph = networkx.cycle_graph(1000, create_using=networkx.DiGraph)
    networkx.set_node_attributes(graph, "t", "type")
    with pytest.raises(DagError, match=r"cycle: .* -> \.\.\.$") as caught:
        from_networkx(graph)
    assert len(str(caught.value)) < 100


@given(dags(labels=any_label))
def test_igraph_gives_back_what_it_got(dag: Dag) -> None:
    assert from_igraph(to_igraph(dag)) == dag


def test_an_igraph_graph_says_what_the_dag_says() -> None:
    graph = to_igraph(CHAIN)
    assert graph.is_directed()
    assert graph.vs["type"] == ["in", 3, "out"]
    assert graph.get_edgelist() == [(0, 1), (1, 2)]


@pytest.mark.parametrize(
    ("edges", "directed", "types", "problem"),
    [
        ([(0, 1)], False, ["a", "b"], "undirected"),
        ([(0, 1), (0, 1)], True, ["a", "b"], "the edge 0 -> 1 is given twice"),
        ([(1, 1)], True, ["a", "b"], "the node 1 has an edge to itself"),
        ([(0, 1), (1, 0)], True, ["a", "b"], "cycle"),
        ([(0, 1)], True, None, "no attribute 'type'"),
        ([(0, 1)], True, ["a", None], "the type of node 1 is None"),
    ],
)
def test_an_igraph_graph_that_is_no_dag_is_refused(
    edges: list[tuple[int, int]], directed: bool, types: list[str] | None, problem: str
) -> None:
    graph = igraph.Graph(n=2, edges=edges, directed=directed)
    if types is not None:
        graph.vs["type"] = types
    with pytest.raises(DagError, match=problem):
        from_igraph(graph)


class TestPyg:
    @pytest.fixture(autouse=True)
    def needs_torch_geometric(self) -> None:
        pytest.importorskip("torch_geometric", reason="torch_geometric is an optional package")

    @given(dags())
    def test_gives_back_what_it_got(self, dag: Dag) -> None:
        data = to_pyg(dag, PLAIN_LABELS)
        data.validate()
        assert from_pyg(data) == dag
        del data.types
        assert from_pyg(data, PLAIN_LABELS) == dag

    def test_says_what_the_dag_says(self) -> None:
        data = to_pyg(CHAIN, ["out", "in", 3])
        assert data.x.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
        assert data.edge_index.tolist() == [[0, 1], [1, 2]]
        assert data.types == ["in", 3, "out"]

    def test_an_unknown_label_is_refused(self) -> None:
        with pytest.raises(DagError, match="type 3 is not among the labels"):
            to_pyg(CHAIN, ["in", "out"])

    def test_what_is_no_dag_is_refused(self) -> None:
        from torch_geometric.data import Data

        edges = torch.tensor([[0, 1], [1, 0]])
        cases = [
            (Data(edge_index=edges, types=["a", "b"]), None, "cycle"),
            (Data(edge_index=edges[:, :1].repeat(1, 2), types=["a", "b"]), None, "0 -> 1 is given twice"),
            (Data(edge_index=edges - 1, types=["a", "b"]), None, "-1 -> 0 leaves the 2 nodes"),
            (Data(edge_index=edges, x=torch.eye(2)), None, "no attribute 'types'"),
            (Data(types=["a"]), None, "edge_index must be"),
            (Data(edge_index=edges.T.flatten(), types=["a", "b"]), None, "edge_index must be"),
            (Data(edge_index=edges.float(), types=["a", "b"]), None, "edge_index must be"),
            (Data(edge_index=edges, x=torch.ones(2, 2)), ["a", "b"], "not one-hot"),
            (Data(edge_index=edges, x=torch.eye(2)), ["a", "b", "c"], "shape"),
            (Data(edge_index=edges), ["a", "b"], "shape"),
        ]
        for data, labels, problem in cases:
            with pytest.raises(DagError, match=problem):
                from_pyg(data, labels)


def test_without_torch_geometric_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_geometric.data", None)
    with pytest.raises(MissingError, match=r"torch-geometric: pip install 'torch-geometric"):
        to_pyg(CHAIN, CHAIN.types)


# Few characters, but those that the syntax is made of.
dot_label = st.text(st.sampled_from('ab0\\n"N\n\r;{}[]=->#/* <é'), max_size=8) | st.integers(-(10**30), 10**30)


@given(dags(labels=any_label | dot_label))
def test_dot_gives_back_what_it_got(dag: Dag) -> None:
    assert from_dot(to_dot(dag)) == dag


def test_the_dot_text_is_the_documented_one() -> None:
    expected = 'digraph {\n  0 [label="in"];\n  1 [label=3];\n  2 [label="out"];\n  0 -> 1;\n  1 -> 2;\n}\n'
    assert to_dot(CHAIN) == expected


def test_the_subset_of_dot_is_read() -> None:
    text = r"""
# a line for the preprocessor
strict digraph "any \"name\"" {
    rankdir = LR; graph [fontsize=10]
    node [shape=box, label="\N"]; edge [color="red"];   // the default label that Graphviz writes
    /* nodes
       of all kinds */
    "last one" [label="drawn \"so\"" type=out]
    a [type=7; color=blue] [fontname="x"]; b [label="7"]
    "a" -> b -> "last one" [weight=2]; a->"last one"
    é_1 [label="back\\slash\ntwo"] -3.5 [label=1.50]; c
    c [label="jo\
ined"]
};
"""
    with pytest.raises(FormatError, match="nothing after the graph"):
        from_dot(text)
    dag = from_dot(text.replace("};", "}"))
    # "last one" is the target of a and b, so both go before it.
    assert dag.types == (7, "7", "out", "back\\slash\ntwo", "1.50", "joined")
    assert dag.edges == ((0, 1), (0, 2), (1, 2))


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("digraph { load -> clean -> fit; load -> fit }", ("load", "clean", "fit")),
        ('digraph { node [shape=box, label="\\N"]; "A b" -> "say \\"so\\"" }', ("A b", 'say "so"')),
        ("digraph { 0 -> 1 -> 2 }", (0, 1, 2)),
        ('digraph { "0" -> 1 [weight=3] }', ("0", 1)),
        ("digraph { a [color=red]; b [shape=box] }", ("a", "b")),
    ],
)
def test_dot_without_labels_has_the_names_of_its_nodes_as_types(text: str, types: tuple[str | int, ...]) -> None:
    assert from_dot(text).types == types


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("\ngraph {\n a [label=x] }", 2, "begins with 'digraph', is expected where 'graph' comes"),
        ("", 1, "the end of the text"),
        ("digraph {\n a [label=x]\n", 3, "the end of the text"),
        ("digraph {\n a [label=x", 2, "an identifier is expected"),
        ("digraph {\n a [label x]\n}", 2, "'=' is expected where 'x' comes"),
        ("digraph {\n a [label=x, label=y]\n}", 2, "the attribute 'label' is given twice"),
        ("digraph {}", 1, "at least one node"),
        ("digraph { a [label=x] }\n digraph {}", 2, "nothing after the graph"),
        ("digraph {\n a [label=x]\n b\n}", 3, "the node 'b' has no type"),
        ("digraph {\n a [label=x]\n a -> b\n}", 3, "the node 'b' has no type"),
        ("digraph {\n a [label=x]\n a [label=y]\n}", 3, "the node 'a' gets a type for the second time"),
        ("digraph {\n a [label=x]\n b [label=x]\n a -> b\n a -> b\n}", 5, "twice, first on line 4"),
        ("digraph {\n a [label=x]\n a ->\n a\n}", 4, "the node 'a' has an edge to itself"),
        ("digraph {\n a [label=x] b [label=x]\n a -> b\n b -> a\n}", 4, "closes a cycle"),
        ("digraph {\n a [label=x] b [label=x] c [label=x]\n b -> a\n a -> b\n b -> c}", 4, "closes a cycle"),
        ("digraph {\n a -- b\n}", 2, "an undirected edge"),
        ("digraph {\n a ->\n}", 3, "an identifier is expected where '}' comes"),
        ("digraph {\n a:port [label=x]\n}", 2, "':'"),
        ("digraph {\n subgraph s { a [label=x] }\n}", 2, "subgraphs are not supported"),
        ("digraph {\n a -> { b c }\n}", 2, "an identifier is expected where '{' comes"),
        ("digraph {\n { a }\n}", 2, "subgraphs are not supported"),
        ("digraph {\n a [label=<b>]\n}", 2, "HTML strings are not supported"),
        ("digraph {\n node [label=x]\n a\n}", 2, "a default type or label is not supported"),
        ("digraph {\n node -> a\n}", 2, "'[' is expected where '->' comes"),
        ("digraph {\n strict\n}", 2, "'strict' has no place here"),
        ('digraph {\n a [label="\n\\N"]\n}', 2, "the escape \\N is not supported"),
        ('digraph {\n "a\n', 2, "quoted string that begins here is never closed"),
        ("digraph {\n\n /* a\n", 3, "comment that begins here is never closed"),
        ("digraph {\n a @ b\n}", 2, "the character '@' has no place here"),
        ("digraph {\n a / b\n}", 2, "the character '/' has no place here"),
    ],
)
def test_dot_outside_the_subset_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_dot(text, "graph.dot")
    assert str(caught.value).startswith(f"graph.dot:{line}: ")
    assert problem in str(caught.value)


@given(networks(("A", "S", "lung cancer", "x.y", "é")))
def test_a_modelstring_gives_back_what_it_got(dag: Dag) -> None:
    assert from_modelstring(to_modelstring(dag)) == dag


def test_the_asia_network_in_bnlearn_notation() -> None:
    text = "[A][S][T|A][L|S][B|S][E|T:L][X|E][D|B:E]"
    dag = from_modelstring(f"\n{text} ")
    assert dag.types == ("A", "S", "T", "L", "B", "E", "X", "D")
    assert dag.edges == ((0, 2), (1, 3), (1, 4), (2, 5), (3, 5), (4, 7), (5, 6), (5, 7))
    assert to_modelstring(dag) == text


def test_parents_may_come_after_their_children() -> None:
    assert from_modelstring("[A|B][B]") == Dag(("B", "A"), ((0, 1),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "at least one node"),
        ("A", "column 1: '[variable]'"),
        ("[A]B", "column 4: "),
        ("[A][]", "column 4: "),
        ("[A][B|]", "column 4: "),
        ("[A][B|A:]", "column 4: "),
        ("[A] [B]", "column 4: "),
        ("[A][B|A", "column 4: "),
        ("[A][A]", "column 4: the variable 'A' comes twice"),
        ("[A][B|C]", "'C', a parent of 'B', is no variable"),
        ("[A][B|A:A]", "the edge 'A' -> 'B' is given twice"),
        ("[A|A]", "the node 'A' has an edge to itself"),
        ("[A|B][B|A]", "cycle"),
    ],
)
def test_a_bad_modelstring_is_refused(text: str, problem: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_modelstring(text)
    assert str(caught.value).startswith("model string")
    assert problem in str(caught.value)


@pytest.mark.parametrize("types", [("A", 1), ("A", ""), ("A", "B|C"), ("A", "[B]"), ("A", "B:C")])
def test_labels_that_are_no_variables_have_no_modelstring(types: Any) -> None:
    with pytest.raises(DagError, match=re.escape(repr(types[1]))):
        to_modelstring(Dag(types))


def test_a_repeated_variable_has_no_modelstring() -> None:
    with pytest.raises(DagError, match="comes twice"):
        to_modelstring(Dag(("A", "A")))
