"""Task graphs, workflows and netlists: what is read, and what is refused with one sentence."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dvae.dag import Dag, write_jsonl
from dvae.errors import ConfigError, FormatError
from dvae.importers import import_file
from dvae.importers.blif import function_name
from importers import examples
from importers.examples import text


@pytest.fixture
def imported(tmp_path: Path) -> Any:
    """One DAG of a text in a file of some name."""

    def read(name: str, content: str, **options: Any) -> Dag:
        (tmp_path / name).write_text(content, encoding="utf-8")
        (dag,) = import_file(tmp_path / name, **options)
        return dag

    return read


def test_dot_of_a_scheduler(imported: Any) -> None:
    dag = imported("etl.dot", examples.AIRFLOW_DOT, type_from="operator")
    assert sorted(dag.types) == ["BashOperator", "BashOperator", "PythonOperator"]
    assert dag.types[0] == "PythonOperator"
    assert dag.edges == ((0, 1), (0, 2))
    assert dag.node == {"retries": (None, 2, None)}
    assert imported("etl.dot", examples.AIRFLOW_DOT).types == ("extract", "users", "orders")
    assert set(imported("etl.dot", examples.AIRFLOW_DOT, type_from="name").types) >= {"load.users"}
    with pytest.raises(FormatError, match=r"etl.dot:5: the node 'load.users' has no kind anywhere"):
        imported("etl.dot", examples.AIRFLOW_DOT, type_from="kind")
    with pytest.raises(FormatError, match="nested more than 50 deep"):
        imported("deep.dot", "digraph {" + "{" * 60 + "}" * 61)
    with pytest.raises(FormatError, match="edges of whole subgraphs"):
        imported("to.dot", "digraph { {a} -> b }", type_from="name")


def test_json_of_schedulers(imported: Any) -> None:
    airflow = imported("a.json", text(examples.AIRFLOW_JSON))
    assert airflow.types == ("PythonOperator", "BashOperator", "BashOperator")
    assert airflow.edges == ((0, 1), (0, 2))
    assert airflow.node == {"retries": (1, 2, None)}
    assert imported("s.json", text(examples.AIRFLOW_SERIALISED)) == Dag(("PythonOperator", "BashOperator"), ((0, 1),))
    assert imported("d.json", text(examples.DAGSTER)) == Dag(("python", "sql"), ((0, 1),))
    assert imported("dbt.json", text(examples.DBT)) == Dag(("source", "model"), ((0, 1),))
    assert imported("n.json", text(examples.NODE_LINK)) == Dag(("a", "b"), ((0, 1),), node={"size": (3.5, 4)})
    assert imported("m.json", '{"load": ["extract"], "extract": []}') == Dag(("task", "task"), ((0, 1),))
    named = imported("m.json", '{"load": ["extract"], "extract": []}', type_from="name")
    assert named.types == ("extract", "load")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[1]", "a task is an object, not 1"),
        ("3", "there is no list of tasks"),
        ('{"tasks": []}', "there is no task in it"),
        ('{"tasks": [{"x": 1}]}', "has no name"),
        ('{"tasks": [{"id": 1}, {"id": 1}]}', "is there twice"),
        ('{"tasks": [{"id": 1, "depends_on": [2]}]}', "'1' is connected with '2', which is not in the file"),
        ('{"tasks": [{"id": 1, "children": [1]}]}', "'1' is connected with itself"),
        ('{"nodes": [{"id": 1}], "edges": [[1]]}', "has no source and target"),
        ('{"nodes": [{"id": 1}], "edges": [[1, 7]]}', "'7', which is not in the file"),
        ('{"a": ["b"], "b": ["a"]}', "has a cycle"),
        ('{"tasks": [\n{"id": 1},]}', ":2: not valid JSON"),
        ("[" * 9999, "nested too deeply"),
    ],
)
def test_bad_task_graphs(content: str, problem: str, imported: Any) -> None:
    with pytest.raises(FormatError, match=rf"x.json.*{problem}"):
        imported("x.json", content)


def test_workflows(imported: Any) -> None:
    dag = imported("w.json", text(examples.WFCOMMONS))
    assert dag.types == ("mProject", "mProject", "mAdd")
    assert dag.edges == ((0, 2), (1, 2))
    assert dag.node["runtime"] == (3.5, None, 7)
    assert dag.node["bytes_read"] == (100, None, 250)
    assert dag.node["bytes_written"] == (250, None, None)
    assert dag.node["memory"] == (1000, None, None)
    assert dag.properties == {"makespan": 12.5}
    old = imported("w.json", text(examples.WFCOMMONS_OLD))
    assert old.types == ("split_fasta", "blastall")
    assert old.node["runtime"] == (1.5, 2)
    assert old.node["bytes_written"] == (20, None)
    broken = text(examples.WFCOMMONS).replace('"mProject_ID0000002"], "children"', '"nobody"], "children"')
    with pytest.raises(FormatError, match=r"w.json: the task 'mAdd_ID0000003' has no such parents: 'nobody'"):
        imported("w.json", broken)
    with pytest.raises(FormatError, match="not a workflow of WfCommons"):
        imported("w.json", "{}", format="wfcommons")


def test_netlists(imported: Any) -> None:
    dag = imported("adder.blif", examples.BLIF)
    assert sorted(map(str, dag.types)) == sorted(
        ["input"] * 3 + ["xor2", "xor2", "majority", "latch-in", "latch-out"] + ["output"] * 3
    )
    assert len(dag.edges) == 2 + 2 + 3 + 1 + 3
    gates = imported("gates.blif", examples.BLIF_GATES)
    assert gates == Dag(("input", "input", "NAND2", "INV", "output"), ((0, 2), (1, 2), (2, 3), (3, 4)))


def test_a_table_is_named_for_what_it_computes() -> None:
    assert function_name(0, []) == "zero"
    assert function_name(0, [("", "1")]) == "one"
    assert function_name(1, [("0", "1")]) == "not"
    assert function_name(2, [("11", "0")]) == "nand2"
    assert function_name(3, [("1-1", "1"), ("01-", "1")]) == "mux"
    assert function_name(2, [("10", "1")]) == "table2"
    assert function_name(9, []) == "table9"
    for bits in product("01", repeat=8):
        rows = [(format(point, "03b"), "1") for point, bit in enumerate(bits) if bit == "1"]
        assert function_name(3, rows)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "x.blif:1: not BLIF"),
        (".inputs a", "x.blif:1: .model is expected first"),
        (".model m\n.names a\n2 1", "x.blif:3: a row of this table has 0"),
        (".model m\n.names a b\n1 1\n0 0\n.end", "rows for 0 and for 1"),
        (".model m\n.inputs a\n.names a\n1", "x.blif:4: the net 'a' is driven twice"),
        (".model m\n.outputs y\n.end", "output reads the value 'y', which nothing makes"),
        (".model m\n.names y x\n1 1\n.names x y\n1 1\n.outputs y\n.end", "has a cycle"),
        (".model m\n.gate NAND2", "x.blif:2: .gate needs a name and pins"),
        (".model m\n.search other.blif", "x.blif:2: the command '.search' is not known"),
        (".model m\n.end\n.model n", "x.blif:3: only one model"),
        ("\ufeff.model m\nhello", "x.blif:2: 'hello' is neither a command"),
    ],
)
def test_bad_netlists(content: str, problem: str, imported: Any) -> None:
    with pytest.raises(FormatError, match=problem):
        imported("x.blif", content)


def test_formats_are_told_apart(tmp_path: Path, imported: Any) -> None:
    with pytest.raises(FormatError, match=r"Verilog is not read; make BLIF of it: yosys"):
        import_file("x.v")
    with pytest.raises(FormatError, match="its name does not say what it is"):
        import_file("x.abc")
    with pytest.raises(FormatError, match=r"my\.jsonl: a file of DAGs needs no import; train on it: dvae train --data"):
        import_file("my.jsonl")
    with pytest.raises(ConfigError, match="there is no format 'verilog' to import; there are onnx"):
        import_file("x.abc", format="verilog")
    with pytest.raises(ConfigError, match="types cannot be chosen in the format blif"):
        import_file("x.blif", type_from="name")
    assert imported("x.txt", examples.BLIF_GATES, format="blif")
    (tmp_path / "no.json").write_bytes(b"\xff")
    with pytest.raises(FormatError, match="byte 1 is not UTF-8"):
        import_file(tmp_path / "no.json")
    with pytest.raises(FormatError, match="is a folder"):
        import_file(tmp_path, format="tasks")


def test_too_large_graphs_are_refused(imported: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVAE_MAX_NODES", "3000")
    many = text({"tasks": [{"id": place} for place in range(3001)]})
    with pytest.raises(FormatError, match="3,001 nodes, and 3,000 are allowed"):
        imported("x.json", many)


def test_what_is_imported_is_a_file_of_dags(tmp_path: Path, imported: Any) -> None:
    dags = [imported("w.json", text(examples.WFCOMMONS)), imported("v.json", text(examples.WFCOMMONS_OLD))]
    assert write_jsonl(tmp_path / "all.jsonl", dags) == 2
