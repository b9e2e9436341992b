"""Files that other programs wrote, from graphs of our own: Airflow 3.3.2, Dagster, WfCommons, Yosys 0.70 (2026-11-16).

`airflow dags show etl` (and `--save etl.dot`, laid out by Graphviz), the row of `serialized_dag` that `airflow dags
reserialize` writes, `dagster-graphql -f shop.py -t QUERY` for assets and for a job, `write_json` of a generated
workflow, and `read_verilog counter.v; synth -flatten` (then `-lut 4`), `write_blif`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from dvae.dag import Dag
from dvae.errors import FormatError
from dvae.importers import import_file

EXPORTS = Path(__file__).parents[1] / "fixtures" / "imports"


def imported(name: str) -> Dag:
    (dag,) = import_file(EXPORTS / name)
    return dag


def edges_by_type(dag: Dag) -> set[tuple[str, str]]:
    return {(str(dag.types[source]), str(dag.types[target])) for source, target in dag.edges}


def test_dags_that_airflow_shows() -> None:
    dag = imported("airflow_show.dot")
    assert dag == imported("airflow_save.dot")
    assert edges_by_type(dag) == {
        ("begin", "extract"),
        ("extract", "load.upstream_join_id"),  # drawn without a label
        ("load.upstream_join_id", "users"),
        ("users", "orders"),
        ("orders", "load.downstream_join_id"),
        ("load.downstream_join_id", "choose"),
        ("choose", "report"),
        ("choose", "done"),
        ("report", "done"),
    }
    assert not dag.has_columns


def test_dags_that_airflow_serialises() -> None:
    dag = imported("airflow_serialised.json")
    assert Counter(dag.types) == {
        "EmptyOperator": 2, "PythonOperator": 1, "BashOperator": 2, "BranchPythonOperator": 1,
        "_PythonDecoratedOperator": 1,
    }  # fmt: skip
    assert len(dag.edges) == 7
    assert dag.node["retries"] == (2, 2, 2, 5, 2, 2, 2)
    assert set(dag.node) == {"retries", "retry_delay", "pool_slots"}


def test_assets_of_dagster_are_found_by_their_keys_although_they_have_ids() -> None:
    dag = imported("dagster_assets.json")
    assert Counter(dag.types) == {"python": 2, "sql": 2, "tableau": 1, "task": 1}  # the last has no kind: a source
    assert edges_by_type(dag) == {("task", "python"), ("python", "sql"), ("sql", "tableau")}
    assert len(dag.edges) == 6


def test_jobs_of_dagster() -> None:
    assert edges_by_type(imported("dagster_job.json")) == {
        ("extract", "clean"), ("clean", "train"), ("clean", "publish"), ("train", "publish"),
    }  # fmt: skip


def test_workflows_that_wfcommons_generates() -> None:
    dag = imported("wfcommons_epigenomics.json")
    assert Counter(dag.types) == {
        "fastqSplit": 1, "filterContams": 9, "sol2sanger": 9, "fast2bfq": 9, "map": 9, "mapMerge": 2, "chr21": 1,
        "pileup": 1,
    }  # fmt: skip
    assert len(dag.edges) == 5 * 9 + 3
    assert set(dag.node) == {"runtime", "bytes_read", "bytes_written"}
    assert dag.node["runtime"][dag.types.index("fastqSplit")] == 878.473
    assert "makespan" not in dag.properties  # it never ran


def test_answers_without_tasks_are_no_graphs(tmp_path: Path) -> None:
    answer = tmp_path / "answer.json"
    for content in (
        '{"data": {"pipelineOrError": {"message": "not found"}}}',
        '{"errors": [{"message": "bad"}], "data": null}',
        '{"a": {"x": 1}, "b": {"x": 2}}',
    ):
        answer.write_text(content)
        with pytest.raises(FormatError, match="there is no list of tasks in it"):
            import_file(answer)


def test_a_name_that_two_tasks_have_leads_to_neither(tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    file.write_text('[{"id": 1, "name": "a"}, {"id": 2, "name": "a"}, {"id": 3, "name": "b", "depends_on": ["a"]}]')
    with pytest.raises(FormatError, match="the task '3' is connected with 'a', which is not in the file"):
        import_file(file)
    file.write_text('[{"id": 1, "name": "a"}, {"id": 3, "name": "b", "depends_on": ["a"]}]')
    assert import_file(file)[0].edges == ((0, 1),)
    file.write_text('{"nodes": [{"id": 1}], "edges": [[7, 1]]}')
    with pytest.raises(FormatError, match="an edge begins at '7', which is not in the file"):
        import_file(file)


@pytest.mark.parametrize(("name", "gates"), [("yosys_counter.blif", "nand2"), ("yosys_counter_lut.blif", "and4")])
def test_netlists_that_yosys_synthesises(name: str, gates: str) -> None:
    dag = imported(name)
    counted = Counter(dag.types)
    assert counted["latch-in"] == counted["latch-out"] == 4  # flip-flops, which Yosys writes as cells
    assert counted["input"] == 6
    assert counted["output"] == 5
    assert counted[gates] >= 1
    assert counted["zero"] == counted["one"] == 0  # it defines constants that nothing reads
    into = [source for source, target in dag.edges if dag.types[target] == "latch-in"]
    assert [dag.types[source] for source in into].count("input") == 8  # the clock and the reset of each
