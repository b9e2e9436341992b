"""Files of DAGs, tables and latents."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy

from dvae.bayesnet.discrete import DiscreteData
from dvae.dag import Dag, load_dags
from dvae.dag.dot import to_dot
from dvae.dag.original import read_bayesnet, read_enas
from dvae.runs import latents
from dvae.tasks.graph_rules import GraphRules
from fuzz.mutations import changed_gzip, changed_json_lines, changed_lines, changed_npz, changed_toml
from fuzz.target import Target

LINES = (
    b'{"types": ["input", "conv3", "output"], "edges": [[0, 1], [1, 2]], "score": 0.73}\n'
    b'{"types": ["b", "a", 3], "edges": [[1, 0], [2, 0]], "split": "train", "name": "x"}\n'
)
GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" attr.name="type" attr.type="string"/>
<graph edgedefault="directed"><node id="a"><data key="d0">x</data></node><node id="b"><data key="d0">y</data></node>
<edge source="a" target="b"/></graph></graphml>
"""
ENAS = b"[[4], [0, 1], [2, 0, 1]], 0.73\n[[1], [2, 0], [3, 1, 1]], 0.5\n"
NETWORKS = b"[[0], [1, 0], [2, 1, 0]], -11109.74\n[[2], [1, 1], [0, 1, 1]], -11200.5\n"
TABLE = b"A,B,C\nyes,no,1\nno,no,2\nyes,yes,3\n"
RULES = (
    b'nodes = [2, 9]\nsingle_source = true\nsource_types = ["a"]\nallowed_edges = [["a", "b"]]\n'
    b"[in_degree]\na = [0, 2]\n"
)


def targets(folder: Path) -> list[Target]:
    arrays = io.BytesIO()
    numpy.savez(arrays, mean=numpy.arange(12.0).reshape(3, 4), logvar=numpy.zeros((3, 4)))
    dots = b"".join(to_dot(dag).encode() for dag in (Dag(("a", 'b"c', 3), ((0, 1), (1, 2))), Dag(("x",))))
    rows = b'{"mean": [1.0, 2, 3, 4], "logvar": [0, 0, 0, 0]}\n[1, 2, 3, 4]\n'
    columns = b"mean_0,mean_1,mean_2,mean_3,logvar_0\n1.5,2,3,4,0\n1,2,3,4e-3,0\n"
    return [
        Target("jsonl", "x.jsonl", lambda at: load_dags(at / "x.jsonl"), (LINES,), changed_json_lines, share=3),
        Target("gzip", "x.jsonl.gz", lambda at: load_dags(at / "x.jsonl.gz"), (gzip.compress(LINES),), changed_gzip),
        Target("dot", "x.dot", lambda at: load_dags(at / "x.dot"), (dots,), changed_lines, share=2),
        Target("graphml", "x.graphml", lambda at: load_dags(at / "x.graphml"), (GRAPHML,), changed_lines),
        Target("enas", "x.txt", lambda at: list(read_enas(at / "x.txt")), (ENAS,), changed_lines, share=2),
        Target("networks", "x.txt", lambda at: list(read_bayesnet(at / "x.txt", "ABC")), (NETWORKS,), changed_lines),
        Target("table", "x.csv", lambda at: DiscreteData.read_csv(at / "x.csv"), (TABLE,), changed_lines, share=2),
        Target("latents-npz", "x.npz", lambda at: latents.read(at / "x.npz", 4), (arrays.getvalue(),), changed_npz),
        Target("latents-jsonl", "x.jsonl", lambda at: latents.read(at / "x.jsonl", 4), (rows,), changed_json_lines),
        Target("latents-csv", "x.csv", lambda at: latents.read(at / "x.csv", 4), (columns,), changed_lines),
        Target("rules", "x.toml", lambda at: GraphRules.read(at / "x.toml"), (RULES,), changed_toml),
    ]
