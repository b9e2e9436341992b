"""Small files of every format, as their programs write them."""

from __future__ import annotations

import json

AIRFLOW_DOT = """digraph etl {
	graph [label=etl labelloc=t rankdir=LR]
	subgraph cluster_load {
		graph [color="#000000" label=load]
		"load.users" [color="#000000" fillcolor="#f0ede4" label=users operator=BashOperator retries=2 shape=rectangle]
		"load.orders" [color="#000000" fillcolor="#f0ede4" label=orders operator=BashOperator shape=rectangle]
	}
	extract [color="#000000" fillcolor="#ffefeb" label=extract operator=PythonOperator shape=rectangle]
	extract -> "load.users"
	extract -> "load.orders"
}
"""
AIRFLOW_JSON = {
    "tasks": [
        {"task_id": "extract", "class_ref": {"class_name": "PythonOperator", "module_path": "airflow.operators.python"},
         "downstream_task_ids": ["users", "orders"], "retries": 1, "owner": "me", "depends_on_past": False},
        {"task_id": "users", "class_ref": {"class_name": "BashOperator"}, "downstream_task_ids": [], "retries": 2},
        {"task_id": "orders", "class_ref": {"class_name": "BashOperator"}, "downstream_task_ids": []},
    ],
    "total_entries": 3,
}  # fmt: skip
AIRFLOW_SERIALISED = {
    "__version": 1,
    "dag": {
        "_dag_id": "etl",
        "tasks": [
            {"__var": {"task_id": "a", "_task_type": "PythonOperator", "downstream_task_ids": ["b"]}, "__type": "o"},
            {"__var": {"task_id": "b", "_task_type": "BashOperator", "downstream_task_ids": []}, "__type": "o"},
        ],
    },
}  # fmt: skip
DAGSTER = {
    "data": {
        "assetNodes": [
            {"assetKey": {"path": ["raw", "users"]}, "computeKind": "python", "dependencyKeys": []},
            {"assetKey": {"path": ["users"]}, "computeKind": "sql", "dependencyKeys": [{"path": ["raw", "users"]}]},
        ]
    }
}
DBT = {
    "nodes": {
        "model.shop.users": {"resource_type": "model", "depends_on": {"macros": [], "nodes": ["source.shop.raw"]}}
    },
    "sources": {"source.shop.raw": {"resource_type": "source"}},
}
NODE_LINK = {
    "directed": True,
    "nodes": [{"id": 0, "type": "a", "size": 3.5}, {"id": 1, "type": "b", "size": 4}],
    "links": [{"source": 0, "target": 1}],
}
WFCOMMONS = {
    "name": "montage",
    "schemaVersion": "1.5",
    "workflow": {
        "specification": {
            "tasks": [
                {"name": "mProject", "id": "mProject_ID0000001", "parents": [], "children": ["mAdd_ID0000003"],
                 "inputFiles": ["a.fits"], "outputFiles": ["b.fits"]},
                {"name": "mProject", "id": "mProject_ID0000002", "parents": [], "children": ["mAdd_ID0000003"]},
                {"name": "mAdd", "id": "mAdd_ID0000003", "parents": ["mProject_ID0000001", "mProject_ID0000002"],
                 "children": [], "inputFiles": ["b.fits"], "outputFiles": []},
            ],
            "files": [{"id": "a.fits", "sizeInBytes": 100}, {"id": "b.fits", "sizeInBytes": 250}],
        },
        "execution": {
            "makespanInSeconds": 12.5,
            "tasks": [
                {"id": "mProject_ID0000001", "runtimeInSeconds": 3.5, "memoryInBytes": 1000},
                {"id": "mAdd_ID0000003", "runtimeInSeconds": 7},
            ],
        },
    },
}  # fmt: skip
WFCOMMONS_OLD = {
    "name": "blast",
    "schemaVersion": "1.2",
    "workflow": {
        "makespan": 9,
        "jobs": [
            {"name": "split_fasta_00000001", "type": "compute", "runtime": 1.5, "parents": [],
             "children": ["blastall_00000002"],
             "files": [{"link": "input", "name": "f", "size": 10}, {"link": "output", "name": "g", "size": 20}]},
            {"name": "blastall_00000002", "type": "compute", "runtime": 2, "parents": ["split_fasta_00000001"],
             "files": []},
        ],
    },
}  # fmt: skip
BLIF = """# a full adder, and a bit that is kept
.model adder
.inputs a b \\
  c
.outputs sum carry q
.names a b x
10 1
01 1
.names x c sum
10 1
01 1
.names a b c carry
11- 1
1-1 1
-11 1
.latch carry q re clk 0
.end
"""
BLIF_GATES = """.model top
.inputs a b
.outputs y
.gate NAND2 A=a B=b O=n
.subckt INV A=n Y=y
.end
"""


def text(content: object) -> str:
    return json.dumps(content)
