"""Confidence of edges: bootstrap, averaging, cross-validation, what an edge is worth."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from bayesnet.networks import mixed_network, random_network
from dvae.bayesnet import (
    Confidence,
    EdgeConfidence,
    Knowledge,
    LearnOptions,
    Network,
    NetworkScores,
    averaged_network,
    bootstrap,
    cpdag_of,
    cross_validate,
    edge_strengths,
    read_confidence,
    replicates_done,
    sample,
    write_confidence,
)
from dvae.bayesnet.tables import embedded_asia
from dvae.dag import Dag
from dvae.errors import ConfigError, FormatError, TaskError

NAMES = ("a", "b", "c")


def columns(network: Network, count: int, seed: int = 0) -> dict[str, list[object]]:
    rows = sample(network, count, seed)
    return {name: rows.labels(network, name) for name in network.names}


def test_an_edge_without_direction_is_half_an_edge_each_way() -> None:
    collider, chain, none = Dag(NAMES, ((0, 1), (2, 1))), Dag(NAMES, ((0, 1), (1, 2))), Dag(NAMES)
    found = Confidence.of_classes(NAMES, map(cpdag_of, [collider, chain, chain, none]))
    assert found.edges == (EdgeConfidence("a", "b", 0.75, 2 / 3), EdgeConfidence("b", "c", 0.75, 1 / 3))
    assert (found.of("b", "a"), found.of("a", "c")) == (0.75, 0)
    assert found.direction("b", "a") == pytest.approx(1 / 3)
    assert found.direction("a", "c") == 0.5


def test_the_averaged_network_has_the_strongest_edges_and_no_cycle() -> None:
    ring = (
        EdgeConfidence("a", "b", 0.9, 0.8),
        EdgeConfidence("b", "c", 0.8, 0.9),
        EdgeConfidence("a", "c", 0.7, 0.3),  # c -> a would close the ring
    )
    found = Confidence(NAMES, 100, ring)
    assert found.averaged(0.5) == (("a", "b"), ("a", "c"), ("b", "c"))
    assert found.averaged(0.75) == (("a", "b"), ("b", "c"))
    turned = found.averaged(0.85, allowed=lambda source, target: (source, target) != ("a", "b"))
    assert turned == (("b", "a"),)


@pytest.mark.parametrize("seed", range(6))
def test_edges_without_a_likelier_direction_claim_none_in_the_average(seed: int) -> None:
    dag = random_network(seed, 7, edges=0.4).dag
    found = Confidence.of_classes([str(label) for label in dag.types], [cpdag_of(dag)] * 50)
    place = {str(label): node for node, label in enumerate(dag.types)}
    averaged = Dag(dag.types, tuple((place[u], place[v]) for u, v in found.averaged(0.5)))
    assert cpdag_of(averaged) == cpdag_of(dag)


@pytest.mark.parametrize("seed", range(5))
def test_the_threshold_is_where_the_nearest_step_lies(seed: int) -> None:
    generator = np.random.default_rng(seed)
    names = tuple("abcdef")
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    strengths = np.round(np.where(generator.random(15) < 0.5, generator.beta(1, 6, 15), generator.beta(6, 1, 15)), 2)
    edges = [EdgeConfidence(*pair, float(s), 0.5) for pair, s in zip(pairs, strengths, strict=True) if s > 0]
    found = Confidence(names, 100, tuple(edges)).threshold
    fine = (np.arange(20_000) + 0.5) / 20_000
    shares = np.searchsorted(np.sort(strengths), fine, side="right") / 15
    levels = np.unique(np.concatenate([[np.mean(strengths == 0)], shares]))
    distances = [np.abs(shares - level).mean() for level in levels]
    level = levels[int(np.argmin(distances))]
    steps = np.unique(np.concatenate([[0.0], strengths]))
    wanted = next(step for step in steps if np.mean(strengths <= step) >= level - 1e-12)
    reached = np.mean(strengths <= found)
    assert np.abs(shares - reached).mean() == pytest.approx(min(distances), abs=1e-3)
    assert found == wanted or np.mean(strengths <= wanted) == pytest.approx(reached)


def test_confidence_comes_back_from_its_file(tmp_path: Path) -> None:
    found = Confidence(NAMES, 10, (EdgeConfidence("a", "b", 0.3, 1 / 3),))
    write_confidence(tmp_path / "sure.json", found)
    assert read_confidence(tmp_path / "sure.json") == found
    (tmp_path / "sure.json").write_text('{"format": "dvae-confidence/1", "variables": ["a"]}')
    with pytest.raises(FormatError, match="not as it was written"):
        read_confidence(tmp_path / "sure.json")
    (tmp_path / "sure.json").write_text("[]")
    with pytest.raises(FormatError, match="no confidence"):
        read_confidence(tmp_path / "sure.json")


def test_a_bootstrap_is_sure_of_strong_edges() -> None:
    found = bootstrap(embedded_asia(), 12)
    assert found.networks == 12
    assert found.of("L", "E") == found.of("T", "E") == 1
    assert found.of("A", "X") < 0.5
    assert {("L", "E"), ("T", "E"), ("E", "X")} <= set(found.averaged())


def test_a_bootstrap_goes_on_where_it_was_stopped_and_ends_the_same(tmp_path: Path) -> None:
    table = columns(random_network(0, 5), 300)
    whole = bootstrap(table, 9)
    store = tmp_path / "replicates.jsonl"
    bootstrap(table, 4, store=store)
    text = store.read_bytes()
    store.write_bytes(text[:-7])  # as a kill in the middle of a line leaves it
    assert replicates_done(table, store) == 3
    assert replicates_done(table, tmp_path / "none.jsonl") == 0
    assert bootstrap(table, 9, store=store) == whole
    lines = store.read_text().splitlines()
    assert sorted(json.loads(line)[0] for line in lines[1:]) == list(range(9))
    assert bootstrap(table, 9, store=store) == whole
    assert store.read_text().splitlines() == lines
    store.write_bytes(text[:20])  # not even the first line
    assert bootstrap(table, 9, store=store) == whole


def test_replicates_of_something_else_are_refused(tmp_path: Path) -> None:
    table = columns(random_network(0, 4), 50)
    store = tmp_path / "replicates.jsonl"
    bootstrap(table, 2, store=store)
    before = store.read_bytes()
    for other, options in [(columns(random_network(0, 4), 50, 1), None), (table, LearnOptions(seed=1))]:
        with pytest.raises(ConfigError, match="remove it first"):
            bootstrap(other, 2, store=store, options=options)
    assert store.read_bytes() == before
    store.write_text("not ours\n")
    with pytest.raises(ConfigError, match="no file of replicates"):
        bootstrap(table, 2, store=store)
    with pytest.raises(TaskError, match="at least 1"):
        bootstrap(table, 0)


def test_mixed_tables_average_to_networks_that_can_be_fitted() -> None:
    network = mixed_network()
    table = columns(network, 500)
    found = bootstrap(table, 5)
    averaged = averaged_network(table, found, 0.3)
    assert averaged.has_parameters
    assert ("sex", "height") in averaged.edges
    knowledge = Knowledge(forbidden=(("age", "pressure"),))
    turned = averaged_network(table, found, 0.3, knowledge=knowledge)
    assert ("age", "pressure") not in turned.edges


def test_cross_validation_prefers_edges_that_are_there() -> None:
    table = columns(random_network(3, 5, edges=0.8), 600)
    found = cross_validate(table, 4)
    assert found.gain.value > found.gain.half_width > 0
    assert found.learned.value == pytest.approx(found.independent.value + found.gain.value)
    assert found.learned.rows == 600
    assert len(found.edges) == 4
    with pytest.raises(TaskError, match="1 folds"):
        cross_validate(table, 1)


def test_an_edge_is_worth_what_the_score_loses_without_it() -> None:
    data = embedded_asia()
    dag = Dag(data.names, ((1, 3), (2, 5), (3, 5), (0, 6)))
    states = dict(zip(data.names, data.levels, strict=True))
    found = edge_strengths(data, Network.of(dag, states))
    scores = NetworkScores(data)
    whole = scores.score("bic", dag)
    for place, (source, target) in enumerate(dag.edges):
        rest = Dag(data.names, dag.edges[:place] + dag.edges[place + 1 :])
        loss = found[str(dag.types[source]), str(dag.types[target])]
        assert loss == pytest.approx(whole - scores.score("bic", rest))
    assert found["A", "X"] < 0 < found["L", "E"]


@pytest.mark.slow
def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.bayesnet.replicates.PATIENCE", 0.0)
    table = columns(random_network(0, 4), 100)
    store = tmp_path / "replicates.jsonl"
    assert bootstrap(table, 6, workers=2, store=store) == bootstrap(table, 6)


SCRIPT = """
import sys
from dvae.bayesnet import bootstrap, replicates, write_confidence
from dvae.bayesnet.tables import embedded_asia
if __name__ == "__main__":
    replicates.PATIENCE = 0.0
    found = bootstrap(embedded_asia(), 400, workers=2, store=sys.argv[1])
    write_confidence(sys.argv[2], found)
"""


def children_of(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for processes in /proc")
def test_a_killed_bootstrap_ends_like_one_that_was_not(tmp_path: Path) -> None:
    script = tmp_path / "work.py"
    script.write_text(SCRIPT)
    store, out = tmp_path / "replicates.jsonl", tmp_path / "sure.json"
    command = [sys.executable, str(script), str(store), str(out)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    first = subprocess.Popen(command, env=environment)
    while not store.exists() or store.read_bytes().count(b"\n") < 5:
        assert first.poll() is None
        time.sleep(0.02)
    children = [Path("/proc") / word for word in children_of(first.pid)]
    assert children
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert not out.exists()
    subprocess.run(command, env=environment, check=True)
    assert not any(child.exists() for child in children)
    assert read_confidence(out) == bootstrap(embedded_asia(), 400)
