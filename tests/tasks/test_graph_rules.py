"""Rules of a user's own DAGs: written, inferred, checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from dag_strategies import dags
from dvae.dag import Dag, write_jsonl
from dvae.errors import ConfigError, FormatError
from dvae.tasks import from_spec, get, to_spec
from dvae.tasks.graph_rules import GraphRules

DIAMOND = Dag(("in", "a", "b", "out"), ((0, 1), (0, 2), (1, 3), (2, 3)))


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        ({"nodes": [5, 9]}, "nodes: it has 4 nodes, and 5 to 9 are allowed"),
        ({"nodes": [0, 3]}, "nodes: it has 4 nodes"),
        ({"source_types": ["a"]}, "source_types: a source has the type 'in'"),
        ({"sink_types": ["in", "a"]}, "sink_types: a sink has the type 'out'"),
        ({"allowed_edges": [["in", "a"], ["in", "b"], ["a", "out"]]}, "allowed_edges: an edge runs from 'b' to 'out'"),
        ({"forbidden_edges": [["a", "out"]]}, "forbidden_edges: an edge runs from 'a' to 'out'"),
        ({"in_degree": {"out": [3, None]}}, "in_degree: a 'out' has 2 predecessors, and at least 3 are allowed"),
        ({"out_degree": {"in": [0, 1]}}, "out_degree: a 'in' has 2 successors, and 0 to 1 are allowed"),
    ],
)
def test_the_broken_rule_is_named(rules: dict[str, object], problem: str) -> None:
    assert problem in (GraphRules.from_mapping(rules).problem(DIAMOND) or "")


def test_sources_sinks_and_pieces_are_counted() -> None:
    apart = Dag(("a", "a", "a"), ((0, 1),))
    assert GraphRules(single_source=True).problem(apart) == "single_source: it has 2 sources"
    assert GraphRules(single_sink=True).problem(apart) == "single_sink: it has 2 sinks"
    assert GraphRules(connected=True).problem(apart) == "connected: it is in 2 pieces"
    assert GraphRules(single_source=True, single_sink=True, connected=True).problem(DIAMOND) is None


@given(dags())
def test_inferred_rules_hold_of_their_data_and_survive_writing(dag: Dag) -> None:
    for strict in (False, True):
        rules = GraphRules.infer([dag], strict=strict)
        assert rules.problem(dag) is None
        again = GraphRules.from_mapping(rules.to_mapping())
        assert again.problem(dag) is None
        assert again.to_mapping() == rules.to_mapping()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nodes = 3", "nodes: expected two whole numbers"),
        ("nodes = [4, 3]", "must not be larger"),
        ("single_sorce = true", "did you mean 'single_source'"),
        ("connected = 1", "connected: expected true or false"),
        ("source_types = []", "source_types: expected a list of types"),
        ('allowed_edges = [["a"]]', "allowed_edges: expected a list of pairs"),
        ("in_degree = 3", "in_degree: expected a table"),
        ('allowed_edges = [["a", "b"]]\nforbidden_edges = [["a", "b"]]', "both allowed and forbidden"),
    ],
)
def test_a_bad_file_of_rules_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "rules.toml").write_text(text)
    with pytest.raises(ConfigError, match=r"rules\.toml") as caught:
        GraphRules.read(tmp_path / "rules.toml")
    assert problem in str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_jsonl(tmp_path / "dags.jsonl", [DIAMOND, Dag(("in", "b", "out"), ((0, 1), (1, 2)))])
    return tmp_path / "dags.jsonl"


def test_a_file_has_the_rules_that_all_its_dags_obey(file: Path) -> None:
    task = get(f"file:{file}")
    loose = Dag(("in", "a", "b", "out"), ((0, 1), (0, 2), (2, 3)))
    assert not task.is_valid(loose)
    assert task.why_invalid(loose) == "single_sink: it has 2 sinks"
    assert task.why_invalid(DIAMOND) is None
    assert get(f"file:{file}?rules=none").is_valid(DIAMOND)
    again = from_spec(to_spec(task))
    assert again.why_invalid(loose) == task.why_invalid(loose)


def test_rules_of_a_file_of_their_own_hold_for_the_data(file: Path, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text('forbidden_edges = [["b", "b"]]\n[in_degree]\nout = [1, 1]\n')
    with pytest.raises(FormatError, match=r"dags\.jsonl:1: the DAG breaks a rule .*in_degree"):
        get(f"file:{file}?rules={tmp_path / 'rules.toml'}")
    (tmp_path / "rules.toml").write_text('forbidden_edges = [["b", "b"]]')
    task = get(f"file:{file}?rules={tmp_path / 'rules.toml'}")
    assert "forbidden_edges" in str(task.why_invalid(Dag(("in", "b", "b", "out"), ((0, 1), (1, 2), (2, 3)))))
