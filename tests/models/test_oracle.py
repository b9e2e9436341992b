"""The package's D-VAE against the slow, obvious one: same weights, same numbers."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dvae.compat import from_original
from dvae.dag import Dag
from dvae.models import aggregation
from dvae.models.decoders import dvae as dvae_decoder
from dvae.models.decoders import intervals
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.decoders.padded_plan import PaddedPlan
from dvae.models.reference import ReferenceDvae
from dvae.models.vae import VAE
from dvae.tasks import BayesNetTask, EnasTask
from models.examples import (
    MAX_NODES,
    NUM_TYPES,
    generic_task,
    latents,
    model_graphs,
    pair,
    raw_batch,
    raw_dags,
    sampled_end_pair,
    task_pair,
)
from models.oracle import CHAIN, CONNECTED, EACH_ONCE, GENERIC, KINDS

NAMES = list(KINDS)
EXACT = {"atol": 1e-10, "rtol": 1e-10}


@pytest.fixture(params=["as it is", "static shapes", "padded", "rectangles", "listed", "cuda"])
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where to compute, and how: a GPU lays out the decisions of teacher forcing in static shapes.

    Large graphs go level by level, and their decisions by rectangles, small ones of which are listed; on a GPU they
    have padded slots.
    """
    if request.param in ("rectangles", "listed"):
        monkeypatch.setattr(aggregation, "SWEEP_NODES", {"cpu": 0})
        monkeypatch.setattr(dvae_decoder, "COMPACT_NODES", 0)
        monkeypatch.setattr(intervals, "SMALLEST_RECTANGLE", 1 if request.param == "rectangles" else 10**6)
        return "cpu"
    if request.param == "padded":

        def padded(self, start, states, messages, batch):
            return self._padded_edge_nll(PaddedPlan.of(batch, self.num_types), start, states, messages)

        monkeypatch.setattr(DvaeDecoder, "_edge_nll", padded)
        return "cpu"
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        return "cuda"
    if request.param == "static shapes":
        if not (hasattr(DvaeDecoder, "_dense_edge_nll") and hasattr(dvae_decoder, "DensePlan")):
            pytest.skip("the decoder lays out its decisions in one way only")

        def dense(self, start, states, messages, batch):
            plan = dvae_decoder.DensePlan.of(batch)
            return self._dense_edge_nll(plan, start, states, messages, batch)

        monkeypatch.setattr(DvaeDecoder, "_edge_nll", dense)
    return "cpu"


def close(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours.cpu(), theirs, **EXACT)


@pytest.mark.parametrize("hidden", [5, 7, 12])
@pytest.mark.parametrize("name", NAMES)
def test_the_posterior_is_the_papers(name: str, hidden: int, device: str) -> None:
    vae, oracle = pair(name, hidden=hidden)
    graphs = model_graphs(16)
    posterior = vae.to(device).encode(graphs)
    means, logvars = zip(*map(oracle.encode, graphs), strict=True)
    close(posterior.mean, torch.stack(means))
    close(posterior.logvar, torch.stack(logvars))
    close(posterior.kl(), torch.stack([oracle.kl(graph) for graph in graphs]))


@pytest.mark.parametrize("hidden", [5, 7, 12])
@pytest.mark.parametrize("name", NAMES)
def test_the_likelihood_is_the_papers(name: str, hidden: int, device: str) -> None:
    vae, oracle = pair(name, hidden=hidden)
    graphs = model_graphs(16)
    z = latents(16)
    expected = torch.stack([oracle.nll(graph, row) for graph, row in zip(graphs, z, strict=True)])
    close(vae.to(device).reconstruction_nll(graphs, z), expected)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_the_plain_gated_sum_of_generic_tasks_is_the_papers(bidirectional: bool, device: str) -> None:
    name = "dvae" if bidirectional else "dvae_unidirectional"
    kind = KINDS[name].__class__(messages="states", bidirectional=bidirectional)
    vae, oracle = task_pair(name, kind, generic_task())
    graphs = model_graphs(12, num_types=4)
    batch, z = raw_batch(graphs, num_types=4), latents(12)
    means, _ = zip(*map(oracle.encode, graphs), strict=True)
    close(vae.to(device).encode(batch).mean, torch.stack(means))
    expected = torch.stack([oracle.nll(graph, row) for graph, row in zip(graphs, z, strict=True)])
    close(vae.reconstruction_nll(batch, z), expected)


def oracle_loss(oracle: ReferenceDvae, graphs: list[Dag], noise: Tensor) -> Tensor:
    total = noise.new_zeros(())
    for graph, row in zip(graphs, noise, strict=True):
        mean, logvar = oracle.encode(graph)
        total = total + oracle.nll(graph, mean + row * (0.5 * logvar).exp()) + 0.3 * oracle.kl(graph)
    return total


def as_our_gradients(name: str, state: dict[str, Tensor]) -> VAE:
    """Gradients in the original's naming, moved to where our model keeps the weights they belong to."""
    gradients = {key: torch.zeros_like(value) if value.grad is None else value.grad for key, value in state.items()}
    return from_original(name, gradients, NUM_TYPES, MAX_NODES)


JOINLESS = {
    "two nodes": [Dag((0, 1), ((0, 1),))],
    "no edges": [Dag((0, 2, 3, 1))],
    "chains": [Dag((0, 2, 3, 1), ((0, 1), (1, 2), (2, 3))), Dag((0, 4, 1), ((0, 1), (1, 2)))],
    "a tree": [Dag((0, 2, 3, 4, 2, 1), ((0, 1), (0, 2), (1, 3), (1, 4), (2, 5)))],
}


@pytest.mark.parametrize("graphs", JOINLESS)
@pytest.mark.parametrize("name", NAMES)
def test_graphs_without_a_node_of_two_predecessors(name: str, graphs: str, device: str) -> None:
    """No state lies between a node's first and its last one; the likelihood and its gradients are there."""
    check_gradients(name, 5, JOINLESS[graphs], device)


@pytest.mark.parametrize("hidden", [5, 12])
@pytest.mark.parametrize("name", NAMES)
def test_all_gradients_are_those_of_the_plain_formulas(name: str, hidden: int, device: str) -> None:
    graphs = model_graphs(10)
    check_gradients(name, hidden, graphs + graphs[:3], device)  # equal graphs share computations; each counts


def check_gradients(name: str, hidden: int, graphs: list[Dag], device: str) -> None:
    vae, oracle = pair(name, hidden=hidden)
    state = {key: value.clone().requires_grad_() for key, value in oracle.weights.items()}
    slow = ReferenceDvae(oracle.variant, state, NUM_TYPES, MAX_NODES)
    noise = latents(len(graphs))
    expected_loss = oracle_loss(slow, graphs, noise)
    expected_loss.backward()
    losses = vae.to(device)(raw_batch(graphs).to(device), noise.to(device))
    loss = (losses.nll + 0.3 * losses.kl).sum()
    loss.backward()
    close(loss, expected_loss)
    expected = dict(as_our_gradients(name, state).named_parameters())
    for key, parameter in vae.named_parameters():
        assert parameter.grad is not None, f"{key} gets no gradient"
        torch.testing.assert_close(
            parameter.grad.cpu(),
            expected[key].detach(),
            atol=1e-10,
            rtol=1e-9,
            msg=lambda text, key=key: f"{key}: {text}",
        )


@pytest.mark.parametrize("name", NAMES)
def test_greedy_decodings_are_the_papers(name: str) -> None:
    vae, oracle = pair(name, scale=3.0, seed=3)
    z = latents(40, scale=3.0)
    expected = [oracle.greedy(row) for row in z]
    assert len(set(expected)) > 5, "the example is too easy: all latents decode alike"
    assert raw_dags(vae.decode_batch(z, greedy=True)) == expected


def test_greedy_decodings_with_sampled_end_edges() -> None:
    vae, oracle = sampled_end_pair(scale=3.0, seed=3)
    z = latents(40, scale=3.0)
    expected = [oracle.greedy(row) for row in z]
    assert len(set(expected)) > 3
    assert raw_dags(vae.decode_batch(z, greedy=True), 4) == expected


@pytest.mark.parametrize(
    ("name", "task", "kind", "rules"),
    [
        ("dvae", EnasTask(3), KINDS["dvae"], CHAIN),
        ("dvae_bn", BayesNetTask("small", "ABCD"), KINDS["dvae_bn"], EACH_ONCE),
        ("dvae_unidirectional", generic_task(), GENERIC, CONNECTED),
    ],
    ids=["chain", "each-once", "connected"],
)
def test_greedy_decodings_that_obey_the_rules_are_the_likeliest_allowed(name, task, kind, rules) -> None:
    vae, oracle = task_pair(name, kind, task, scale=3.0, seed=5)
    z = latents(40, scale=3.0)
    expected = [oracle.greedy(row, rules) for row in z]
    assert len(set(expected)) > 5
    assert raw_dags(vae.decode_batch(z, greedy=True, valid=True), task.num_types) == expected
