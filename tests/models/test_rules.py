"""Decoding within the rules of a task's DAGs: every decision keeps to them, and no legal DAG is excluded."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from dvae.dag import Dag, DagBatch
from dvae.models import DECODERS, VAE, DecoderModule, Sampling, build
from dvae.tasks import GenericTask
from dvae.tasks.graph_rules import GraphRules, pieces
from dvae.tasks.rules import ConnectedRules, GrowthRules, PartialGraphs

every_decoder = pytest.mark.parametrize("decoder", DECODERS.names())


def random_dag(
    chance: random.Random, nodes: int, types: str, density: float, *, fed: bool = True, one_sink: bool = False,
    first: str | None = None, last: str | None = None,
) -> Dag:  # fmt: skip
    labels = [chance.choice(types) for _ in range(nodes)]
    labels[0], labels[-1] = first or labels[0], last or labels[-1]
    edges = {(u, v) for v in range(nodes) for u in range(v) if chance.random() < density}
    if fed:
        edges |= {(chance.randrange(v), v) for v in range(1, nodes) if not any((u, v) in edges for u in range(v))}
    if one_sink:
        used = {source for source, _ in edges}
        edges |= {(node, nodes - 1) for node in range(nodes - 1) if node not in used}
    return Dag(tuple(labels), tuple(sorted(edges)))


def random_dags(count: int, low: int, high: int, types: str, density: float, **more: object) -> list[Dag]:
    chance = random.Random(0)
    return [random_dag(chance, chance.randint(low, high), types, density, **more) for _ in range(count)]  # type: ignore[arg-type]


def in_one_piece() -> list[Dag]:
    return [dag for dag in random_dags(120, 3, 7, "abc", 0.3, fed=False) if pieces(dag) == 1]


def trees(upside_down: bool) -> list[Dag]:
    found = []
    for nodes in (3, 5, 7, 9):
        edges = tuple(((node - 1) // 2, node) for node in range(1, nodes))
        if upside_down:
            edges = tuple((nodes - 1 - v, nodes - 1 - u) for u, v in edges)
        found.append(Dag(("a",) * nodes, edges))
    return found


DATA = {
    "one source": random_dags(30, 3, 8, "abc", 0.2),
    "several sources and sinks": random_dags(30, 3, 8, "abc", 0.15, fed=False),
    "one sink": random_dags(30, 3, 8, "abcd", 0.25, one_sink=True),
    "one sink of one type among several": random_dags(40, 4, 9, "abco", 0.25, one_sink=True, last="o"),
    "own start and end": random_dags(30, 4, 9, "abc", 0.2, one_sink=True, first="s", last="t"),
    "own end": random_dags(30, 4, 9, "abc", 0.2, fed=False, one_sink=True, last="t"),
    "own end of two inputs": [Dag(("a",) * (n - 1) + ("t",), ((0, n - 1), (1, n - 1))) for n in (3,)] * 2
    + [Dag(("a", "a", "b", "t"), ((0, 2), (1, 3), (2, 3)))],
    "own start": random_dags(30, 4, 9, "abc", 0.2, first="s"),
    "chains": [Dag(tuple("abcab"[:n]), tuple((i, i + 1) for i in range(n - 1))) for n in (3, 4, 5)],
    "trees": trees(upside_down=False),
    "trees upside down": trees(upside_down=True),
    "few DAGs of many types": random_dags(5, 4, 8, "abcde", 0.3, one_sink=True),
    "in one piece": in_one_piece(),
}


def strict_task(name: str) -> GenericTask:
    return GenericTask.infer(name, DATA[name], GraphRules.infer(DATA[name], strict=True))


def virtual_task(types: str, max_nodes: int, rules: GraphRules | None = None) -> GenericTask:
    labels = ("<start>", "<end>", *types)
    return GenericTask("own", labels, max_nodes, virtual_start=True, virtual_end=True, graph_rules=rules)


def untrained(task: GenericTask, decoder: str | type = "dvae") -> VAE:
    vae = build("dvae", task, decoder=decoder, hidden=6, latent=3, seed=0)
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.mul_(2)
    return vae


def latents(count: int = 200) -> Tensor:
    return torch.randn(count, 3, generator=torch.Generator().manual_seed(1))


HARDEST = ("one sink of one type among several", "own end", "few DAGs of many types", "in one piece")
CASES = [(decoder, name) for name in DATA for decoder in (DECODERS.names() if name in HARDEST else ["dvae", "svae"])]


@pytest.mark.parametrize(("decoder", "name"), CASES)
def test_untrained_models_decode_only_dags_that_obey_strict_rules(decoder: str, name: str) -> None:
    task = strict_task(name)
    vae = untrained(task, decoder)
    dags = vae.decode(latents(), seed=0, valid=True)
    assert all(map(task.is_valid, dags))
    assert dags == vae.decode(latents(), seed=0, valid=True), "attempts are repeatable, too"
    assert bool(task.valid(vae.decode_batch(latents(20), greedy=True, copies=2, valid=True)).all())
    assert float(task.valid(vae.decode_batch(latents(), seed=0)).float().mean()) < 0.9, "or this shows nothing"


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_the_decisions_of_a_legal_dag_are_all_allowed(name: str, strict: bool) -> None:
    task = GenericTask.infer(name, DATA[name], GraphRules.infer(DATA[name], strict=strict))
    if not isinstance(task.rules, GrowthRules):
        assert task.graph_rules == GraphRules()
        return
    sampled = untrained(task, "svae").decode(latents(60), seed=2, valid=True)
    assert not list(refused(task, [*DATA[name], *filter(task.is_valid, sampled)]))


def refused(task: GenericTask, dags: list[Dag]) -> Iterator[tuple[int, object]]:
    """Decisions of DAGs that the rules would have made otherwise."""
    batch, rules = task.batch(dags), task.rules
    assert isinstance(rules, GrowthRules)
    for position in range(1, task.max_nodes):
        types, adjacency = batch.types, batch.adjacency
        there = batch.num_nodes > position
        if position < task.max_nodes - 1:
            graphs = PartialGraphs(types[:, :position], adjacency[:, :position, :position])
            allowed = rules.next_types(graphs, task.num_types).gather(1, types[:, position, None])[:, 0]
            yield from ((position, dags[i]) for i in (there & ~allowed).nonzero())
        asked = there if task.sampled_end_edges else there & (types[:, position] != 1)
        rule = rules.next_edges(PartialGraphs(types[:, : position + 1], adjacency[:, : position + 1, : position + 1]))
        edges = adjacency[:, :position, position]
        for source in reversed(range(position)):
            other = rule(source, edges).applied(edges[:, source]) != edges[:, source]
            yield from ((position, dags[i]) for i in (asked & other).nonzero())


RULES = {
    "node counts": GraphRules(nodes=(4, 5)),
    "degrees": GraphRules(in_degree=(("a", (0, 1)), ("b", (2, 2))), out_degree=(("a", (1, 2)), ("b", (0, 1)))),
    "pairs": GraphRules(forbidden_edges=(("a", "a"), ("b", "b"), ("c", "c"))),
    "in one piece": GraphRules(connected=True),
    "ends": GraphRules(single_source=True, single_sink=True, source_types=("a",), sink_types=("c",)),
    "all": GraphRules(
        nodes=(3, 6), single_sink=True, source_types=("a", "b"), sink_types=("c",), connected=True,
        forbidden_edges=(("a", "c"),), in_degree=(("c", (1, 2)),), out_degree=(("c", (0, 0)), ("b", (1, 1))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
@every_decoder
def test_rules_of_a_user_are_obeyed_one_by_one_and_together(decoder: str, name: str) -> None:
    task = virtual_task("abc", 9, RULES[name])
    dags = untrained(task, decoder).decode(latents(), seed=0, valid=True)
    assert [task.why_invalid(dag) for dag in dags] == [None] * 200
    assert len(set(dags)) > 20


def test_rules_that_contradict_each_other_give_graphs_all_the_same() -> None:
    rules = GraphRules(nodes=(3, 5), in_degree=(("a", (9, 9)), ("b", (9, 9))), single_source=True)
    task = virtual_task("ab", 7, rules)
    for decoder in DECODERS.names():
        batch = untrained(task, decoder).decode_batch(latents(8), seed=0, valid=True)
        assert len(batch) == 8
        assert not bool(task.valid(batch).any())


class CoinDecoder(DecoderModule):
    """Never asks the rules: a chain of "b"s, or with one chance in two of "a"s."""

    def __init__(self, plan: object, settings: object) -> None:
        super().__init__()

    def nll(self, latents: Tensor, batch: DagBatch) -> Tensor:
        return latents.sum(1)

    def sample(self, latents: Tensor, sampling: Sampling) -> DagBatch:
        rows = len(latents) * sampling.copies
        kind = 2 + torch.randint(2, (rows, 1), generator=sampling.generator)
        types = torch.cat([torch.zeros_like(kind), kind, kind, torch.ones_like(kind)], 1)
        adjacency = torch.zeros(4, 4, dtype=torch.bool)
        adjacency[[0, 1, 2], [1, 2, 3]] = True
        return DagBatch(types, adjacency.repeat(rows, 1, 1), torch.full((rows,), 4))


def test_a_decoder_that_knows_no_rules_is_asked_again() -> None:
    rules = GraphRules(source_types=("a",))
    task = virtual_task("ab", 4, rules)
    vae = build("dvae", task, decoder=CoinDecoder, hidden=6, latent=3, seed=0)
    assert {dag.types[0] for dag in vae.decode(latents(), seed=0)} == {"a", "b"}
    assert {dag.types for dag in vae.decode(latents(), seed=0, valid=True)} == {("a", "a")}


@dataclass(frozen=True)
class OldRules:
    """An outside package's rules with the two methods of version 0.1.0."""

    def allowed_types(self, types: Tensor, num_types: int) -> Tensor:
        return ConnectedRules().allowed_types(types, num_types)

    def required_edge(self, source: int, target: int, has_predecessor: Tensor) -> Tensor:
        return ConnectedRules().required_edge(source, target, has_predecessor)


@every_decoder
def test_rules_that_see_types_alone_still_work(decoder: str) -> None:
    task, other = virtual_task("ab", 6), virtual_task("ab", 6)
    other.rules = OldRules()
    ours, theirs = (untrained(each, decoder).decode(latents(), seed=0, valid=True) for each in (task, other))
    assert ours == theirs
