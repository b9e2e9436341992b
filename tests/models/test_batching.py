"""A batch is the loop over its graphs: neither company, nor padding, nor order changes a result."""

from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.models import VAE, build
from dvae.tasks import EnasTask, Task, get
from models.examples import generic_task, latents, model_graphs, pair, raw_batch, raw_dags

CLOSE = {"atol": 1e-11, "rtol": 1e-11}
NAMES = ("dvae", "dvae_unidirectional", "dvae_bn")


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_the_loop_over_its_graphs(name: str) -> None:
    vae, _ = pair(name)
    graphs, z = model_graphs(24), latents(24)
    together, nll = vae.encode(graphs), vae.reconstruction_nll(graphs, z)
    for index, graph in enumerate(graphs):
        alone = vae.encode([graph])
        torch.testing.assert_close(alone.mean[0], together.mean[index], **CLOSE)
        torch.testing.assert_close(alone.logvar[0], together.logvar[index], **CLOSE)
        alone_nll = vae.reconstruction_nll([graph], z[index : index + 1])
        torch.testing.assert_close(alone_nll[0], nll[index], **CLOSE)


@pytest.mark.parametrize("name", NAMES)
def test_greedy_decoding_of_a_batch_is_the_loop_over_its_latents(name: str) -> None:
    vae, _ = pair(name, scale=3.0, seed=3)
    z = latents(30, scale=3.0)
    assert vae.decode(z, greedy=True) == [vae.decode(row[None], greedy=True)[0] for row in z]


@pytest.mark.parametrize("name", NAMES)
def test_permuting_a_batch_permutes_its_results(name: str) -> None:
    vae, _ = pair(name)
    graphs, z = model_graphs(24), latents(24)
    order = torch.randperm(24, generator=torch.Generator().manual_seed(0))
    mixed = [graphs[index] for index in order]
    torch.testing.assert_close(vae.encode(mixed).mean, vae.encode(graphs).mean[order], **CLOSE)
    moved = vae.reconstruction_nll(mixed, z[order])
    torch.testing.assert_close(moved, vae.reconstruction_nll(graphs, z)[order], **CLOSE)


def small_model(task: Task, **options) -> VAE:
    return build("dvae", task, hidden=6, latent=3, seed=0, **options).double()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("readout", ["end", "sum", "both"])
@pytest.mark.parametrize("aggregation", ["gated-sum", "gated-sum-types"])
def test_padding_changes_nothing(aggregation: str, readout: str, bidirectional: bool) -> None:
    options = {"aggregation": aggregation, "readout": readout, "bidirectional": bidirectional}
    vae = small_model(generic_task(), **options)
    batch, z = raw_batch(model_graphs(16, num_types=4), num_types=4), latents(16)
    padded = batch.padded(batch.max_nodes + 3)
    torch.testing.assert_close(vae.encode(padded).mean, vae.encode(batch).mean, **CLOSE)
    nll = vae.reconstruction_nll(batch, z)
    torch.testing.assert_close(vae.reconstruction_nll(padded, z), nll, **CLOSE)


def test_padding_changes_no_gradient() -> None:
    gradients = []
    for room in (0, 3):
        vae = small_model(generic_task(), bidirectional=True)
        batch = raw_batch(model_graphs(16, num_types=4), num_types=4)
        losses = vae(batch.padded(batch.max_nodes + room), latents(16))
        (losses.nll + losses.kl).sum().backward()
        gradients.append({name: parameter.grad for name, parameter in vae.named_parameters()})
    assert gradients[0].keys() == gradients[1].keys()
    for name, gradient in gradients[0].items():
        torch.testing.assert_close(gradient, gradients[1][name], atol=1e-10, rtol=1e-10)


def test_many_graphs_are_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is encoded and decoded in parts comes out as if it were not."""
    vae, _ = pair("dvae", scale=3.0, seed=3)
    graphs, z = model_graphs(50), latents(50, scale=3.0)
    whole = vae.encode(graphs).mean, vae.reconstruction_nll(graphs, z), vae.decode(z, greedy=True)
    monkeypatch.setattr("dvae.models.vae.ENCODE_AT_ONCE", {"cpu": 7})
    monkeypatch.setattr(type(vae.decoder), "rows_at_once", lambda self, device: 7)
    torch.testing.assert_close(vae.encode(graphs).mean, whole[0], **CLOSE)
    torch.testing.assert_close(vae.reconstruction_nll(graphs, z), whole[1], **CLOSE)
    assert vae.decode(z, greedy=True) == whole[2]
    assert len(vae.decode(z, copies=3, seed=0)) == 150


@pytest.mark.parametrize("name", ["dvae", "deepgmg"])
def test_graphs_that_would_take_too_much_memory_at_once_go_in_parts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vae = build(name, pair("dvae")[0].task, hidden=8, latent=3, seed=0).double()
    graphs, z = model_graphs(20), latents(20, scale=3.0)
    whole = vae.reconstruction_nll(graphs, z)
    sizes: list[int] = []
    decode = vae.nll
    monkeypatch.setattr(vae, "nll", lambda z, batch: sizes.append(len(batch)) or decode(z, batch))
    monkeypatch.setattr("dvae.models.vae.SMALL_BYTES", 3 * vae.bytes_per_graph(8, 10))
    torch.testing.assert_close(vae.reconstruction_nll(graphs, z), whole, **CLOSE)
    assert sum(sizes) == 20
    assert 1 < len(sizes) <= 20


def test_nothing_in_nothing_out() -> None:
    vae, _ = pair("dvae")
    assert vae.encode([]).mean.shape == (0, 3)
    assert vae.reconstruction_nll([], torch.zeros(0, 3)).shape == (0,)
    assert vae.decode(torch.zeros(0, 3)) == []
    assert vae.sample(0, seed=0) == []


def test_nothing_writes_to_its_arguments() -> None:
    vae, _ = pair("dvae")
    batch, z = raw_batch(model_graphs(8)), latents(8)
    copies = [tensor.clone() for tensor in (batch.types, batch.adjacency, batch.num_nodes, z)]
    vae.encode(batch)
    vae.reconstruction_nll(batch, z)
    vae.decode(z, copies=3, seed=0, valid=True)
    losses = vae(batch, z)
    (losses.nll + losses.kl).sum().backward()
    for before, now in zip(copies, (batch.types, batch.adjacency, batch.num_nodes, z), strict=True):
        assert torch.equal(before, now)


def test_a_models_words_for_wrong_latents() -> None:
    vae, _ = pair("dvae")
    with pytest.raises(DvaeError, match=r"\(count, 3\)"):
        vae.decode(torch.zeros(4, 5))
    with pytest.raises(DvaeError, match="copies must be at least 1"):
        vae.decode(torch.zeros(1, 3), copies=0)
    with pytest.raises(DvaeError, match="not finite"):
        vae.decode(torch.full((1, 3), torch.nan))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [0, 3, 5])
def test_every_dag_needs_its_latent(name: str, count: int) -> None:
    vae, _ = pair(name)
    with pytest.raises(DvaeError, match=f"4 DAGs need as many latents, not {count}"):
        vae.reconstruction_nll(model_graphs(4), torch.zeros(count, 3))


def test_a_user_sees_no_padding_and_no_virtual_nodes() -> None:
    """A user's DAGs go in whole, and come out unwrapped."""
    vae = small_model(get("bn:A,B,C"))
    dags = [Dag(("A", "B", "C"), ((0, 1),)), Dag(("C", "A", "B"), ((0, 2), (1, 2)))]
    assert vae.encode(dags).mean.shape == (2, 3)
    for dag in vae.decode(latents(20), seed=0, valid=True):
        assert sorted(map(str, dag.types)) == ["A", "B", "C"]
    architectures = small_model(EnasTask(3)).decode(latents(20), seed=0, valid=True)
    assert all(dag.types[0] == "input" and dag.types[-1] == "output" for dag in architectures)
    assert raw_dags(vae.task.batch(dags), 5)[0].types == (0, 2, 3, 4, 1)
