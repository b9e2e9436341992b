"""Inputs that would take the machine's memory are refused with a sentence that says how to allow them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dvae.dag import Dag, DagBatch, load_dags
from dvae.dag.dot import to_dot
from dvae.dag.limits import MAX_NODES
from dvae.errors import ConfigError, DagError, FormatError


def line(nodes: int) -> str:
    return json.dumps({"types": ["a"] * nodes, "edges": []}) + "\n"


def test_a_dag_of_too_many_nodes_is_refused_unless_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.jsonl").write_text(line(2) + line(60_000))
    with pytest.raises(FormatError, match=r"x\.jsonl:2: the DAG has 60,000 nodes, and 2,000 are allowed: set DVAE_MAX"):
        load_dags(tmp_path / "x.jsonl")
    monkeypatch.setenv("DVAE_MAX_NODES", "60000")
    assert len(load_dags(tmp_path / "x.jsonl")[1].dag) == 60_000


def test_so_is_one_in_another_format(tmp_path: Path) -> None:
    (tmp_path / "x.dot").write_text(to_dot(Dag(("a",) * (MAX_NODES + 1))))
    with pytest.raises(FormatError, match="2,001 nodes"):
        load_dags(tmp_path / "x.dot")


def test_so_are_many_that_take_too_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    dags = [Dag(("a",))] * 5
    with pytest.raises(DagError, match=r"5 DAGs with room for 60,000 nodes each take 18\.0 GB"):
        DagBatch.from_dags(dags, {"a": 0}, 60_000)
    monkeypatch.setenv("DVAE_MAX_GB", "0")
    with pytest.raises(ConfigError, match="DVAE_MAX_GB must be a positive number"):
        DagBatch.from_dags(dags, {"a": 0}, 60_000)


def test_a_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.gz").write_bytes(gzip.compress((b" " * 99_999 + b"\n") * 400, 9))
    with pytest.raises(FormatError, match="unpacks to more than 300 times its size"):
        load_dags(tmp_path / "x.jsonl.gz")
