"""The amplifiers that come with the package, and the rules that all of them obey."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from dvae.dag import Dag
from dvae.data.circuits import amplifiers
from dvae.tasks import CircuitsTask, GenericTask, get
from dvae.tasks.circuits import RULES
from dvae.tasks.graph_rules import GraphRules

DEVICES = {"t0": "R", "t1": "C", "t2": "+gm+", "t3": "-gm+", "t4": "+gm-", "t5": "-gm-", "t8": "in", "t9": "out"}
BLOCKS = {"s0": ["in"], "s1": ["out"], "s2": ["R"], "s3": ["C"], "s4": ["R", "C"], "s5": ["R", "C"]} | {
    f"s{first + number}": [*others, gm]
    for first, others in ((6, []), (10, ["C"]), (14, ["R"]), (18, ["R", "C"]), (22, ["R", "C"]))
    for number, gm in enumerate(("+gm+", "-gm+", "+gm-", "-gm-"))
}


def test_the_data_come_with_the_package_in_the_published_parts() -> None:
    data = get("circuits").dataset()
    assert (len(data.train), len(data.validation), len(data.test)) == (8000, 0, 500)
    assert data.train.property_names == ("valid", "gain", "pm", "bw", "fom", "stages")
    assert data.everything.scores == tuple(dag.properties["fom"] for dag in data.everything.dags)
    first = data.train.dags[0]
    assert first.types == ("t8", "t2", "t3", "t1", "t3", "t0", "t3", "t1", "t9")
    assert first.node["size"] == (102, 58, 84, 39, 9, 35, 11, 33, 102)
    assert first.properties["gain"] == pytest.approx(2.84211)


def test_all_amplifiers_obey_the_rules_and_no_narrower_ones() -> None:
    dags = [item.dag for item in amplifiers()]
    assert [dag for dag in dags if RULES.problem(dag) is not None] == []
    strict = GraphRules.infer(dags, strict=True)
    assert RULES.nodes == strict.nodes
    assert set(RULES.allowed_edges or ()) == set(strict.allowed_edges or ())
    for label, limits in (*strict.in_degree, *strict.out_degree):
        assert limits[0] >= 0, label
    leaf = [dict(RULES.in_degree)["t0"], dict(RULES.out_degree)["t4"]]
    assert leaf == [(1, 2), (1, 2)]
    assert dict(RULES.in_degree)["t9"] == dict(strict.in_degree)["t9"]
    assert dict(RULES.out_degree)["t8"] == dict(strict.out_degree)["t8"]


def test_the_task_is_the_one_that_its_data_tell() -> None:
    task = CircuitsTask()
    told = GenericTask.infer("circuits", [item.dag for item in amplifiers()], RULES)
    assert set(task.vocabulary.labels) == set(told.vocabulary.labels)
    assert (task.vocabulary.start, task.vocabulary.end) == (told.vocabulary.start, told.vocabulary.end)
    for name in ("max_nodes", "virtual_start", "virtual_end", "sampled_end_edges", "schema", "graph_rules"):
        assert getattr(task, name) == getattr(told, name), name
    assert task.valid(task.batch([item.dag for item in amplifiers()])).all()


def test_what_the_description_says_beside_the_rules_holds() -> None:
    out_of_order = 0
    for item in amplifiers():
        blocks, types = item.dag.node["subcircuit"], item.dag.types
        counts = Counter(blocks)
        assert all(count % len(BLOCKS[block]) == 0 for block, count in counts.items())
        devices = [
            device for block, count in counts.items() for device in BLOCKS[block] * (count // len(BLOCKS[block]))
        ]
        assert Counter(devices) == Counter(DEVICES[kind] for kind in types)
        out_of_order += any(DEVICES[kind] not in BLOCKS[block] for kind, block in zip(types, blocks, strict=True))
        sizes = item.dag.node["size"]
        assert sizes[0] == sizes[-1] == 102
        assert all(size in range(1, 102) for size in sizes[1:-1])
    assert out_of_order == 1956


@pytest.mark.parametrize(
    ("types", "edges", "problem"),
    [
        (("t8", "t0", "t0", "t9"), ((0, 1), (1, 2), (2, 3)), "from 't0' to 't0'"),
        (("t8", "t1", "t2", "t9"), ((0, 1), (0, 2), (1, 3), (2, 3), (0, 3)), "from 't8' to 't9'"),
        (("t8", "t1", "t9"), ((0, 1), (1, 2)), "3 nodes"),
        (("t8", "t4", "t5", "t9"), ((0, 1), (1, 2), (2, 3)), "from 't4' to 't5'"),
    ],
)
def test_a_broken_rule_is_named(types: tuple[str, ...], edges: tuple[tuple[int, int], ...], problem: str) -> None:
    assert problem in (CircuitsTask().why_invalid(Dag(types, edges)) or "")


def test_an_unknown_sub_circuit_is_named() -> None:
    dag = amplifiers()[0].dag
    other = replace(dag, node={**dag.node, "subcircuit": ("s0", *["s99"] * (len(dag) - 2), "s1")})
    assert "'s99'" in (CircuitsTask().why_invalid(other) or "")
