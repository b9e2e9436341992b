"""GCN, D-VAE (SMP) and DeepGMG: all nodes at once, a fixed number of rounds."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from dag_strategies import dags, renumbered
from dvae.compat import from_original
from dvae.dag import Dag, DagBatch
from dvae.models import VAE, build
from dvae.models.decoders.deepgmg import DeepGmgDecoder
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.plan import DensePlan
from dvae.models.reference import Partial, ReferenceDvae
from dvae.tasks import BayesNetTask, EnasTask, RawTask, Task
from models.examples import MAX_NODES, NUM_TYPES, generic_task, latents, model_graphs, pair, raw_batch, raw_dags

CLOSE = {"atol": 1e-10, "rtol": 1e-10}
TASKS: dict[str, Task] = {
    "enas": EnasTask(3),
    "bayesnet": BayesNetTask("small", "ABCD"),
    "generic": generic_task(),
    "virtual ends": generic_task(virtual=True),
    "sampled end edges": generic_task(sampled=True),
    "raw": RawTask(5, 5),
}
MODELS = ("gcn", "dvae-smp", "gcn+smp", "smp+dvae", "deepgmg", "gcn+deepgmg", "deepgmg+smp")
NAMED = ("gcn", "dvae-smp", "deepgmg")


def small(name: str, task: Task, *, scale: float = 1.0, **options: object) -> VAE:
    vae = build(name, task, hidden=5, latent=3, seed=0, **options).double()
    with torch.no_grad():
        for parameter in vae.parameters():
            parameter.mul_(scale)
    return vae


def graphs_of(task: Task, count: int = 12) -> DagBatch:
    """Graphs of a model of `task`, of all sizes."""
    sizes = {"num_types": task.num_types, "max_nodes": task.max_nodes}
    return raw_batch(model_graphs(count, **sizes), **sizes)


# What every model promises


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_the_loop_over_its_graphs_and_padding_changes_nothing(name: str, task: str) -> None:
    vae = small(name, TASKS[task], scale=2.0)
    batch, z = graphs_of(vae.task), latents(12)
    mean, nll = vae.encode(batch).mean, vae.reconstruction_nll(batch, z)
    assert bool(nll.isfinite().all())
    for index in range(len(batch)):
        alone, row = batch.select(slice(index, index + 1)), z[index : index + 1]
        torch.testing.assert_close(vae.encode(alone).mean[0], mean[index], **CLOSE)
        torch.testing.assert_close(vae.reconstruction_nll(alone, row)[0], nll[index], **CLOSE)
    if vae.task.hints.aggregation != "gated-sum-position":
        padded = batch.padded(batch.max_nodes + 2)
        torch.testing.assert_close(vae.encode(padded).mean, mean, **CLOSE)
        torch.testing.assert_close(vae.reconstruction_nll(padded, z), nll, **CLOSE)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NAMED)
def test_valid_decodings_of_an_untrained_model_are_all_valid(name: str, task: str) -> None:
    vae = small(name, TASKS[task], scale=3.0)
    z = latents(40, scale=3.0)
    for greedy in (False, True):
        batch = vae.decode_batch(z, copies=2, seed=0, greedy=greedy, valid=True)
        assert len(batch) == 80
        assert bool(vae.task.valid(batch).all())
    assert len(set(vae.decode(z, copies=2, seed=0, valid=True))) > 5


@pytest.mark.parametrize("name", NAMED)
def test_a_seed_makes_decodings_repeatable(name: str) -> None:
    vae = small(name, TASKS["generic"], scale=3.0)
    z = latents(20)
    first, again, other = (vae.decode(z, copies=3, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert vae.decode(z, greedy=True) == [vae.decode(row[None], greedy=True)[0] for row in z]


def loss_of(vae: VAE, batch: DagBatch, noise: Tensor) -> Tensor:
    losses = vae(batch, noise)
    return (losses.nll + 0.2 * losses.kl).sum()


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("gcn", TASKS["enas"]),
        ("dvae-smp", TASKS["enas"]),
        ("dvae-smp", TASKS["generic"]),
        ("deepgmg", generic_task(max_nodes=4)),
    ],
)
def test_the_gradient_is_that_of_the_loss(name: str, task: Task) -> None:
    vae = small(name, task)
    batch, noise = graphs_of(vae.task, 3), latents(3)
    loss_of(vae, batch, noise).backward()
    chance = random.Random(0)
    for key, parameter in vae.named_parameters():
        assert parameter.grad is not None, f"{key} gets no gradient"
        for entry in {int(parameter.grad.abs().argmax()), chance.randrange(parameter.numel())}:
            with torch.no_grad():
                flat = parameter.view(-1)
                before, values = float(flat[entry]), []
                for step in (1e-5, -1e-5):
                    flat[entry] = before + step
                    values.append(float(loss_of(vae, batch, noise)))
                flat[entry] = before
            slope = (values[0] - values[1]) / 2e-5
            assert float(parameter.grad.view(-1)[entry]) == pytest.approx(slope, rel=1e-4, abs=1e-6), key


# GCN


def test_a_convolution_is_its_formula() -> None:
    vae = small("gcn", RawTask(NUM_TYPES, MAX_NODES), rounds=2)
    encoder, graph = vae.encoder, model_graphs(9)[5]
    counts = [1 + len(predecessors) for predecessors in graph.predecessors()]
    first = [encoder.weight[:, kind] for kind in graph.types]

    def convolved(values: Sequence[Tensor]) -> list[Tensor]:
        return [
            sum(values[u] / (counts[u] * counts[v]) ** 0.5 for u in (*graph.predecessors()[v], v))
            for v in range(len(graph))
        ]

    states = [torch.relu(value + encoder.bias) for value in convolved(first)]
    states = [encoder.layers[0](value) for value in convolved(states)]
    torch.testing.assert_close(encoder(raw_batch([graph]))[0], sum(states[1:-1]), **CLOSE)


def test_the_original_convolution_is_its_formula() -> None:
    """Node after node, each reading what those before it have just become; weights by both degrees, ReLU at the end."""
    vae = small("gcn", RawTask(NUM_TYPES, MAX_NODES), rounds=3, original=True)
    encoder, graph = vae.encoder, model_graphs(9)[5]
    before = graph.predecessors()
    heard = [1 + len(predecessors) for predecessors in before]
    told = [1 + sum(u in predecessors for predecessors in before) for u in range(len(graph))]

    def read(values: Sequence[Tensor], v: int) -> Tensor:
        return values[v] / heard[v] + sum(values[u] / (told[u] * heard[v]) ** 0.5 for u in before[v])

    first = [encoder.weight[:, kind] for kind in graph.types]
    states = [torch.relu(read(first, v) + encoder.bias) for v in range(len(graph))]
    for layer in encoder.layers:
        for v in range(len(graph)):
            states[v] = torch.relu(layer(read(states, v)))
    torch.testing.assert_close(encoder(raw_batch([graph]))[0], sum(states[1:-1]), **CLOSE)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_information_travels_one_edge_a_round(rounds: int) -> None:
    """On a chain, a change of node 1 reaches exactly the nodes up to `rounds` edges downstream."""
    task = RawTask(5, 8)
    chain = tuple(pairwise(range(8)))
    batch = task.batch([Dag((0, kind, 2, 3, 2, 3, 2, 1), chain) for kind in (2, 3)])
    gcn = small("gcn", task, scale=2.0, rounds=rounds)
    smp = small("dvae-smp", task, scale=2.0, rounds=rounds).encoder
    both = [gcn.encoder.node_states(batch), smp.aggregation.propagate(smp.update, batch).states]
    for states in both:
        changed = ((states[0] - states[1]).abs().amax(1) > 1e-9).tolist()
        assert changed == [1 <= node <= 1 + rounds for node in range(8)]


PLAIN = generic_task(virtual=True, max_nodes=9, inner="abc")


@pytest.mark.parametrize("name", NAMED)
@given(dag=dags(labels="abc", min_nodes=2, max_nodes=6))
@settings(max_examples=15)
def test_isomorphic_dags_encode_alike(name: str, dag: Dag) -> None:
    vae = small(name, PLAIN)
    order = sorted(range(len(dag)), key=lambda node: (_depth(dag, node), -node))
    other = renumbered(dag, order)
    torch.testing.assert_close(*vae.encode([dag, other]).mean, **CLOSE)


def _depth(dag: Dag, node: int) -> int:
    return max((1 + _depth(dag, before) for before in dag.predecessors()[node]), default=0)


# D-VAE (SMP) against the slow one


@dataclass(frozen=True)
class Grown(Partial):
    context: Tensor | None = None

    def with_node(self, kind: int, predecessors: Sequence[int], state: Tensor) -> Grown:
        grown = super().with_node(kind, predecessors, state)
        return Grown(grown.types, grown.edges, grown.states, self.context)


@dataclass(frozen=True)
class SmpOracle(ReferenceDvae):
    """Recomputes every state of the whole partial graph, from nothing, before every decision."""

    rounds: int = 3

    def begin(self, z: Tensor, kind: int) -> tuple[Tensor, Partial]:
        context, partial = super().begin(z, kind)
        return context, Grown(partial.types, partial.edges, partial.states, context)

    def type_scores(self, partial: Partial) -> Tensor:
        return super().type_scores(replace(partial, states=tuple(self._states(partial))))

    def edge_score(self, partial, kind, received, source, context):
        whole = self._states(partial.with_node(kind, received, context))
        return super().edge_score(replace(partial, states=tuple(whole[:-1])), kind, received, source, context)

    def new_state(self, partial, kind, received):
        return self._states(partial.with_node(kind, received, partial.context))[-1]

    def _states(self, partial: Partial) -> list[Tensor]:
        return self._rounds(Dag(partial.types, partial.edges), "grud", "forward", partial.context)

    def sweep(self, graph: Dag, direction: str) -> list[Tensor]:
        return self._rounds(graph, f"grue_{direction}", direction, None)

    def _rounds(self, graph: Dag, gru: str, direction: str, first: Tensor | None) -> list[Tensor]:
        neighbours = graph.predecessors() if direction == "forward" else graph.successors()
        nothing = self.nothing()
        incoming, states = [nothing] * len(graph), []
        for number in range(self.rounds + 1):
            if number > 0:
                messages = [self.message(direction, graph.types[u], u, states[u]) for u in range(len(graph))]
                incoming = [sum((messages[u] for u in neighbours[v]), nothing) for v in range(len(graph))]
            if first is not None:
                incoming[0] = first
            states = [self.update(gru, kind, received) for kind, received in zip(graph.types, incoming, strict=True)]
        return states


def smp_pair(name: str, rounds: int = 3, **options: float) -> tuple[VAE, SmpOracle]:
    plain, oracle = pair(name, **options)  # type: ignore[arg-type]
    vae = build("dvae-smp", plain.task, config=plain.config, rounds=rounds).double()
    state = {key.replace("aggregation.", "aggregation.inner."): value for key, value in plain.state_dict().items()}
    vae.load_state_dict(state)
    return vae, SmpOracle(oracle.variant, oracle.weights, oracle.num_types, oracle.max_nodes, rounds)


@pytest.fixture(params=["as it is", "static shapes"])
def layout(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU lays out the decisions of teacher forcing in static shapes."""
    if request.param == "static shapes":

        def dense(self, start, states, messages, batch):
            return self._dense_edge_nll(DensePlan.of(batch), start, states, messages, batch)

        monkeypatch.setattr(DvaeDecoder, "_edge_nll", dense)


@pytest.mark.usefixtures("layout")
@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize("name", ["dvae", "dvae_unidirectional", "dvae_bn"])
def test_smp_is_what_recomputing_everything_gives(name: str, rounds: int) -> None:
    vae, oracle = smp_pair(name, rounds)
    graphs, z = model_graphs(8), latents(8)
    expected = torch.stack([oracle.encode(graph)[0] for graph in graphs])
    torch.testing.assert_close(vae.encode(graphs).mean, expected, **CLOSE)
    expected = torch.stack([oracle.nll(graph, row) for graph, row in zip(graphs, z, strict=True)])
    torch.testing.assert_close(vae.reconstruction_nll(graphs, z), expected, **CLOSE)


def test_rounds_are_not_a_sweep_unless_there_are_enough() -> None:
    graphs, z = model_graphs(8), latents(8)
    plain, _ = pair("dvae")
    sweep = plain.reconstruction_nll(graphs, z)
    few, _ = smp_pair("dvae", 2)
    many, _ = smp_pair("dvae", MAX_NODES)
    assert float((few.reconstruction_nll(graphs, z) - sweep).abs().max()) > 1e-4
    torch.testing.assert_close(many.reconstruction_nll(graphs, z), sweep, **CLOSE)
    torch.testing.assert_close(many.encode(graphs).mean, plain.encode(graphs).mean, **CLOSE)


@pytest.mark.parametrize("name", ["dvae", "dvae_bn"])
def test_smp_decodes_as_it_scores(name: str) -> None:
    vae, oracle = smp_pair(name, 2, scale=3.0, seed=3, max_nodes=5)
    z = latents(25, scale=3.0)
    expected = [oracle.greedy(row) for row in z]
    assert len(set(expected)) > 4
    assert raw_dags(vae.decode_batch(z, greedy=True)) == expected
    vae, oracle = smp_pair(name, 2, scale=1.5, num_types=4, max_nodes=4)
    check_frequencies(raw_dags(vae.decode_batch(z[:1], copies=8000, seed=0), 4), oracle.outcomes(z[0]))


def check_frequencies(drawn: Sequence[Dag], expected: dict[Dag, float]) -> None:
    assert sum(expected.values()) == pytest.approx(1)
    assert set(drawn) <= expected.keys()
    counts, count = Counter(drawn), len(drawn)
    for graph, share in expected.items():
        assert abs(counts[graph] / count - share) < 5 * (share / count) ** 0.5 + 2 / count


# DeepGMG against the slow one


@dataclass(frozen=True)
class DeepGmgOracle:
    """One graph at a time, one message a pair of nodes, with the weights of `decoder`."""

    decoder: DeepGmgDecoder

    def nll(self, graph: Dag, z: Tensor) -> Tensor:
        states, edges = self._first(z, graph.types[0]), []
        total = z.new_zeros(())
        for node in range(1, len(graph)):
            states = self._rounds(states, edges)
            total = total - self._types(states)[graph.types[node]].log()
            states = self._added(states, graph.types[node])
            for source in [*sorted(graph.predecessors()[node], reverse=True), None]:
                states = self._rounds(states, edges)
                more = self._more(states)
                total = total - (more if source is not None else 1 - more).log()
                if source is not None:
                    total = total - self._sources(states, [])[source].log()
                    edges.append((source, node))
        return total

    def outcomes(self, z: Tensor) -> dict[Dag, float]:
        """Every graph with its probability; loose ends go to the end node."""
        result: Counter[Dag] = Counter()

        def grow(types, edges, states, share):
            states = self._rounds(states, edges)
            if len(types) == self.decoder.max_nodes - 1:
                close(types, edges, share)
                return
            for kind, chance in enumerate(self._types(states).tolist()):
                if kind == 1:
                    close(types, edges, share * chance)
                else:
                    connect((*types, kind), edges, self._added(states, kind), [], share * chance)

        def connect(types, edges, states, chosen, share):
            states = self._rounds(states, edges)
            if len(chosen) == len(types) - 1:
                grow(types, edges, states, share)
                return
            more = float(self._more(states))
            grow(types, edges, states, share * (1 - more))
            for source, chance in enumerate(self._sources(states, chosen).tolist()):
                if source not in chosen:
                    longer = [*edges, (source, len(types) - 1)]
                    connect(types, longer, states, [*chosen, source], share * more * chance)

        def close(types, edges, share):
            busy, end = {source for source, _ in edges}, len(types)
            loose = tuple((node, end) for node in range(end) if node not in busy)
            result[Dag((*types, 1), (*edges, *loose))] += share

        grow((0,), [], self._first(z, 0), 1.0)
        return dict(result)

    def _first(self, z: Tensor, kind: int) -> list[Tensor]:
        return [self._init(kind, torch.tanh(self.decoder.start(z)))]

    def _added(self, states: list[Tensor], kind: int) -> list[Tensor]:
        return [*states, self._init(kind, self._graph(self.decoder.readout_init, states))]

    def _init(self, kind: int, graph: Tensor) -> Tensor:
        part = self.decoder.parts.init
        return part.weight_type[:, kind] + part.weight_graph @ graph + part.bias

    def _graph(self, readout, states: list[Tensor]) -> Tensor:
        gates, maps = readout.weight.chunk(2)
        return sum(torch.sigmoid(gates @ state + readout.bias) * (maps @ state) for state in states)

    def _rounds(self, states: list[Tensor], edges: Sequence[tuple[int, int]]) -> list[Tensor]:
        part = self.decoder.parts.messages
        busy = {node for edge in edges for node in edge}
        for update in self.decoder.rounds.updates:
            received = [torch.zeros_like(part.bias) for _ in states]
            for u, v in edges:
                along = part.weight @ torch.cat([states[v], states[u]]) + part.bias + part.direction
                received[v] = received[v] + along
                received[u] = received[u] + part.weight @ torch.cat([states[u], states[v]]) + part.bias
            states = [
                self._gru(update, received[node], state) if node in busy else state for node, state in enumerate(states)
            ]
        return states

    def _gru(self, update, message: Tensor, state: Tensor) -> Tensor:
        candidate, reset, keep = (update.weight_ih @ message + update.bias_ih).chunk(3)
        hidden_reset, hidden_keep, hidden_candidate = (update.weight_hh @ state + update.bias_hh).chunk(3)
        candidate = torch.tanh(candidate + torch.sigmoid(reset + hidden_reset) * hidden_candidate)
        keep = torch.sigmoid(keep + hidden_keep)
        return (1 - keep) * candidate + keep * state

    def _types(self, states: list[Tensor]) -> Tensor:
        return torch.softmax(self.decoder.add_vertex(self._graph(self.decoder.parts.readout, states)), 0)

    def _more(self, states: list[Tensor]) -> Tensor:
        graph = self._graph(self.decoder.parts.readout, states)
        return torch.sigmoid(self.decoder.add_edge(torch.cat([graph, states[-1]])))[0]

    def _sources(self, states: list[Tensor], left_out: Sequence[int]) -> Tensor:
        pairs = [torch.cat([state, states[-1]]) for state in states[:-1]]
        scores = self.decoder.select_node(torch.stack(pairs))[:, 0].clone()
        scores[list(left_out)] = -torch.inf
        return torch.softmax(scores, 0)


@pytest.fixture(params=["as it is", "static shapes"])
def deepgmg(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> VAE:
    if request.param == "static shapes":
        monkeypatch.setattr(DeepGmgDecoder, "_is_static", lambda self, device: True)
    return small("deepgmg", RawTask(NUM_TYPES, MAX_NODES), scale=1.5)


def test_deepgmg_is_one_decision_after_another(deepgmg: VAE) -> None:
    graphs, z = model_graphs(8), latents(8)
    oracle = DeepGmgOracle(deepgmg.decoder)  # type: ignore[arg-type]
    with torch.no_grad():
        expected = torch.stack([oracle.nll(graph, row) for graph, row in zip(graphs, z, strict=True)])
    torch.testing.assert_close(deepgmg.reconstruction_nll(graphs, z), expected, **CLOSE)


def test_deepgmg_decodes_as_it_scores() -> None:
    vae = small("deepgmg", RawTask(4, 4), scale=2.0)
    z = latents(1)
    with torch.no_grad():
        expected = DeepGmgOracle(vae.decoder).outcomes(z[0])  # type: ignore[arg-type]
    check_frequencies(raw_dags(vae.decode_batch(z, copies=8000, seed=0), 4), expected)


@pytest.mark.shared
@pytest.mark.parametrize("name", ["deepgmg_enas6", "deepgmg_bn8"])
def test_deepgmg_gives_the_originals_numbers(name: str, golden_folder: Path) -> None:
    with np.load(golden_folder / f"{name}.npz") as file:
        arrays = {key: torch.from_numpy(file[key]) for key in file.files}
    about = json.loads((golden_folder / f"{name}.json").read_text())
    weights = {key.removeprefix("param/"): value for key, value in arrays.items() if key.startswith("param/")}
    vae = from_original("deepgmg", weights, about["num_types"], about["max_nodes"])
    graphs = [Dag(tuple(graph["types"]), tuple(map(tuple, graph["edges"]))) for graph in about["graphs"]]
    posterior = vae.encode(graphs)
    nll = vae.reconstruction_nll(graphs, posterior.mean)
    for found, expected in [
        (posterior.mean, "mu"),
        (posterior.logvar, "logvar"),
        (posterior.kl(), "kl"),
        (nll, "reconstruction_nll"),
    ]:
        torch.testing.assert_close(found, arrays[expected], rtol=1e-8, atol=1e-8)
    alone = torch.cat([vae.reconstruction_nll([graph], posterior.mean[i : i + 1]) for i, graph in enumerate(graphs)])
    torch.testing.assert_close(nll, alone, rtol=1e-8, atol=1e-8)  # no graph feels the others
