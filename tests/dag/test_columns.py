"""Columns and properties of DAGs: the value, its files, its converters."""

from __future__ import annotations

import json
import pickle
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dag_strategies import columned_dags, renumbered
from dvae.dag import (
    Dag,
    DagSet,
    Dataset,
    ScoredDag,
    from_dot,
    from_igraph,
    from_networkx,
    from_plain,
    from_pyg,
    load_dags,
    load_jsonl,
    to_dot,
    to_igraph,
    to_networkx,
    to_plain,
    to_pyg,
    write_jsonl,
)
from dvae.dag.jsonl import format_line, parse_line
from dvae.dag.lines import numbered_lines
from dvae.errors import DagError, FormatError

CIRCUIT = Dag(
    ("in", "amp", "out"),
    ((0, 1), (1, 2)),
    node={"size": (None, 2.5, 3), "kind": ("a", None, "b")},
    edge={"wire": ("thick", "thin")},
    properties={"gain": 3, "area": 1.5},
)


def with_values(dag: Dag) -> tuple[object, ...]:
    """All of a DAG, properties included; columns without any value have no place in other formats."""
    some = ({name: column for name, column in columns.items() if any(value is not None for value in column)}
            for columns in (dag.node, dag.edge))  # fmt: skip
    return dag.types, dag.edges, *some, dict(dag.properties)


def test_values_move_along_when_nodes_and_edges_are_sorted() -> None:
    dag = Dag(
        ("out", "amp", "in"), ((1, 0), (2, 1)), {"size": (3, 2.5, None)}, {"wire": ("thin", "thick")}, {"gain": 3}
    )
    assert dag == Dag(CIRCUIT.types, CIRCUIT.edges, {"size": (None, 2.5, 3)}, CIRCUIT.edge)
    assert dag.properties == {"gain": 3.0}


def test_columns_count_in_equality_and_properties_do_not() -> None:
    assert Dag(CIRCUIT.types, CIRCUIT.edges, dict(reversed(list(CIRCUIT.node.items()))), CIRCUIT.edge) == CIRCUIT
    assert hash(CIRCUIT) == hash(Dag(CIRCUIT.types, CIRCUIT.edges, CIRCUIT.node, CIRCUIT.edge))
    assert CIRCUIT.plain() != CIRCUIT
    assert Dag(CIRCUIT.types, CIRCUIT.edges, CIRCUIT.node, {"wire": ("thick", "thick")}) != CIRCUIT


def test_a_dag_without_columns_is_as_before() -> None:
    dag = Dag(("a", "b"), ((0, 1),))
    assert repr(dag) == "Dag(types=('a', 'b'), edges=((0, 1),))"
    assert dag.plain() is dag
    assert not dag.has_columns
    assert format_line(dag) == '{"types": ["a", "b"], "edges": [[0, 1]]}'
    assert "node={'size'" in repr(CIRCUIT)


def test_what_a_graph_is_made_into_keeps_its_values() -> None:
    longer = CIRCUIT.rebuilt([0, None, 1, 2], ("in", "new", "amp", "out"), ((0, 1), (1, 2), (0, 2), (2, 3)))
    assert longer.node["size"] == (None, None, 2.5, 3)
    assert dict(zip(longer.edges, longer.edge["wire"], strict=True)) == {
        (0, 1): None, (0, 2): "thick", (1, 2): None, (2, 3): "thin"
    }  # fmt: skip


@given(columned_dags())
def test_every_format_brings_columns_and_properties_back(dag: Dag) -> None:
    assert parse_line(format_line(dag), "here:1").dag == dag
    assert parse_line(format_line(dag), "here:1").dag.properties == dag.properties
    assert with_values(from_plain(to_plain(dag))) == with_values(dag)
    assert with_values(from_networkx(to_networkx(dag))) == with_values(dag)
    assert with_values(from_igraph(to_igraph(dag))) == with_values(dag)
    assert with_values(from_dot(to_dot(dag))) == with_values(dag)
    assert pickle.loads(pickle.dumps(dag)) == dag


@given(columned_dags(max_nodes=4), st.data())
def test_the_canonical_key_moves_with_columns(dag: Dag, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(dag))))
    assert renumbered(dag, order).canonical_key() == dag.canonical_key()


def test_the_canonical_key_tells_columns_apart() -> None:
    two = Dag(("in", "a", "a"), ((0, 1), (0, 2)), {"size": (None, 1, 2)}, {"kind": ("x", "y")})
    same = Dag(("in", "a", "a"), ((0, 1), (0, 2)), {"size": (None, 2, 1)}, {"kind": ("y", "x")})
    other = Dag(("in", "a", "a"), ((0, 1), (0, 2)), {"size": (None, 1, 2)}, {"kind": ("y", "x")})
    assert two.canonical_key() == same.canonical_key()
    assert two.canonical_key() != other.canonical_key()


def test_pyg_carries_columns() -> None:
    pytest.importorskip("torch_geometric")
    labels = ["in", "amp", "out"]
    assert with_values(from_pyg(to_pyg(CIRCUIT, labels))) == with_values(CIRCUIT)
    assert with_values(from_pyg(to_pyg(CIRCUIT, labels), labels)) == with_values(CIRCUIT)
    data = to_pyg(CIRCUIT, labels)
    data.node_columns["size"] = [1]
    with pytest.raises(DagError, match=r"node_columns\['size'\] has 1 values where 3 are expected"):
        from_pyg(data)


def test_graphml_carries_columns(tmp_path: Path) -> None:
    import networkx

    networkx.write_graphml(to_networkx(CIRCUIT), tmp_path / "one.graphml")
    (item,) = load_dags(tmp_path / "one.graphml")
    assert item.dag == CIRCUIT


def test_attributes_of_drawings_and_of_other_kinds_are_no_columns() -> None:
    dag = from_dot('digraph { a [type=x, shape=box, size=3]; b [type=y]; a -> b [color=red, kind="k 1", weight=2] }')
    assert dag == Dag(("x", "y"), ((0, 1),), {"size": (3, None)}, {"kind": ("k 1",)})
    graph = to_networkx(CIRCUIT.plain())
    graph.nodes[0]["pos"] = (1, 2)
    graph.nodes[1]["flag"] = True
    assert from_networkx(graph) == CIRCUIT.plain()


@pytest.mark.parametrize("write", [to_networkx, to_igraph])
def test_a_column_named_type_has_no_place_elsewhere(write: Any) -> None:
    dag = Dag(("a",), (), {"type": ("b",)})
    with pytest.raises(DagError, match="the node column 'type' has the name of the node's type"):
        write(dag)
    assert from_dot(to_dot(dag)) == dag


MALFORMED = [
    ('"node": []', '"node" is []; it must be an object of columns'),
    ('"edge": 3', '"edge" is 3; it must be an object of columns'),
    ('"node": {"size": 3}', "the node column 'size' is 3; it must be a list"),
    ('"node": {"size": [1]}', "the node column 'size' has 1 values for 2 nodes"),
    ('"edge": {"kind": ["a", "b"]}', "the edge column 'kind' has 2 values for 1 edges"),
    ('"node": {"size": [1, "a"]}', "the node column 'size' has strings and numbers, such as 'a' and 1"),
    ('"node": {"size": [1, true]}', "has True at node 1; a value is a string, a finite number or null"),
    ('"node": {"size": [1, [2]]}', "has [2] at node 1"),
    ('"node": {"size": [1, NaN]}', "NaN is not a finite number"),
    ('"node": {"size": [1, 1e999]}', "has inf at node 1"),
    ('"node": {"": [1, 2]}', "the name of a node column is ''"),
    ('"node": {"a": [1, 2], "a": [1, 2]}', "the key 'a' is given twice"),
    ('"properties": [1]', '"properties" is [1]; it must be an object of numbers'),
    ('"properties": {"gain": "high"}', "the property 'gain' is 'high'; it must be a finite number"),
    ('"properties": {"gain": Infinity}', "Infinity is not a finite number"),
    ('"properties": {"gain": true}', "the property 'gain' is True"),
    ('"properties": {"": 1}', "the name of a property is ''"),
]


@pytest.mark.parametrize(("text", "problem"), MALFORMED)
def test_malformed_columns_are_named_with_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "dags.jsonl"
    good = '{"types": ["a", "b"], "edges": [[0, 1]]}'
    path.write_text(f'{good}\n{{"types": ["a", "b"], "edges": [[0, 1]], {text}}}\n')
    with pytest.raises(FormatError) as caught:
        load_jsonl(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert problem in str(caught.value)


def test_nan_in_a_graph_of_another_package_is_refused() -> None:
    graph = to_networkx(CIRCUIT)
    graph.nodes[1]["size"] = float("nan")
    with pytest.raises(DagError, match="the node column 'size' has nan at node 1"):
        from_networkx(graph)


def test_sets_of_dags_give_properties_as_tensors() -> None:
    bare = Dag(("in", "out"), ((0, 1),))
    some = DagSet.of([CIRCUIT, bare])
    assert some.property_names == ("gain", "area")
    assert some.properties["gain"][0] == 3
    assert some.properties["gain"].isnan().tolist() == [False, True]
    whole = Dataset.of("mine", some)
    assert [dict(item.dag.properties) for item in whole.items()] == [{"gain": 3.0, "area": 1.5}, {}]
    assert (
        whole.fingerprint
        == Dataset.of("mine", [Dag(CIRCUIT.types, CIRCUIT.edges, CIRCUIT.node, CIRCUIT.edge), bare]).fingerprint
    )
    assert whole.fingerprint != Dataset.of("mine", [CIRCUIT.plain(), bare]).fingerprint


def test_files_of_columns_come_back(tmp_path: Path) -> None:
    items = [ScoredDag(CIRCUIT, 0.5, "train"), ScoredDag(CIRCUIT.plain(), None, "test")]
    write_jsonl(tmp_path / "some.jsonl.gz", items)
    back = load_jsonl(tmp_path / "some.jsonl.gz")
    assert back == items
    assert back[0].dag.properties == CIRCUIT.properties


@pytest.mark.parametrize("name", ["circuits", "hls_dfg", "na_edge"])
def test_real_files_come_back_line_by_line(shared_data: Path, name: str) -> None:
    for _, text in islice(numbered_lines(shared_data / "dags" / f"{name}.jsonl.gz"), 20):
        record = json.loads(text)
        record["edges"].sort()  # the values of the only edge column are all the same
        assert json.loads(format_line(parse_line(text, "here:1"))) == record
