"""What every model promises, whatever it is made of. A model joins by its line in `dvae.models.catalogue`."""

from __future__ import annotations

import copy
import itertools
import math

import pytest
import torch

import dvae
from contracts.model_examples import OWN_DAGS, TASKS, TWO_ORDERS, check_gradients, graphs_of, losses, model, task_of
from dvae.dag import DagBatch
from dvae.models import DECODERS, ENCODERS, MODELS, VAE, build
from dvae.models.catalogue import part_names

every_model = pytest.mark.parametrize("name", MODELS)
every_task = pytest.mark.parametrize("task_name", TASKS)


@every_task
@every_model
def test_a_model_encodes_scores_and_decodes(name: str, task_name: str) -> None:
    task = task_of(task_name)
    vae, batch = model(name, task), graphs_of(task)
    posterior = vae.encode(batch)
    assert posterior.mean.shape == posterior.logvar.shape == (len(batch), 3)
    nll = vae.reconstruction_nll(batch, posterior.mean)
    assert nll.shape == (len(batch),)
    assert nll.isfinite().all()
    assert (nll > 0).all()
    assert len(vae.decode(posterior.mean, seed=0)) == len(batch)


@pytest.mark.parametrize(
    "name", [f"{encoder}+{decoder}" for encoder, decoder in itertools.product(ENCODERS.names(), DECODERS.names())]
)
def test_any_encoder_pairs_with_any_decoder(name: str) -> None:
    task = task_of("own")
    vae, batch = model(name, task), graphs_of(task)
    losses(vae, batch).sum().backward()
    assert all(parameter.grad is None or parameter.grad.isfinite().all() for parameter in vae.parameters())
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in vae.encoder.parameters())
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in vae.decoder.parameters())


@pytest.mark.parametrize("task_name", ["enas6", "asia", "own"])
@every_model
def test_a_batch_is_the_loop_over_its_graphs(name: str, task_name: str) -> None:
    task = task_of(task_name)
    vae, batch = model(name, task), graphs_of(task)
    alone = torch.cat([losses(vae, batch.select(slice(i, i + 1))) for i in range(len(batch))])
    torch.testing.assert_close(losses(vae, batch), alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("task_name", ["enas6", "asia", "own"])
@every_model
def test_the_same_seed_gives_the_same_dags(name: str, task_name: str) -> None:
    vae = model(name, task_of(task_name))
    latents = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert vae.decode(latents, seed=5) == vae.decode(latents, seed=5)
    assert vae.decode(latents, greedy=True) == vae.decode(latents, greedy=True)
    assert build(name, vae.task, hidden=6, latent=3, seed=0).num_parameters() == vae.num_parameters()


@every_task
@every_model
def test_decoding_by_the_rules_gives_valid_dags(name: str, task_name: str) -> None:
    task = task_of(task_name)
    dags = model(name, task).decode(5 * torch.randn(20, 3, dtype=torch.float64), seed=0, valid=True)
    assert all(task.is_valid(dag) for dag in dags)


@every_model
def test_a_saved_model_comes_back_whole(name: str, tmp_path: object) -> None:
    task = task_of("own")
    vae, batch = model(name, task), graphs_of(task)
    vae.save(str(tmp_path))
    again = dvae.load(str(tmp_path))
    assert again.config == vae.config
    assert torch.equal(again.encode(batch).mean, vae.encode(batch).mean)
    assert torch.equal(losses(again, batch), losses(vae, batch))


@every_model
def test_latents_see_a_node_order_exactly_if_the_encoder_says_so(name: str) -> None:
    """Theorem 1, on a generic task, whose aggregation has no positions."""
    order_free = ENCODERS.get(part_names(name)[0]).order_free
    mean = model(name, task_of("own")).encode(TWO_ORDERS).mean
    if order_free:
        torch.testing.assert_close(mean[0], mean[1], rtol=1e-9, atol=1e-9)
    else:
        assert order_free is False, "a built-in encoder says whether it is order-free"
        assert (mean[0] - mean[1]).abs().max() > 1e-4


def test_sequence_models_alone_are_bound_to_an_order() -> None:
    bound = [name for name in MODELS if not ENCODERS.get(part_names(name)[0]).order_free]
    assert bound == ["svae", "graphrnn"]


@every_model
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    task = task_of("own")
    vae, batch = model(name, task), graphs_of(task)
    check_gradients(vae, lambda: losses(vae, batch).sum())


@every_model
def test_training_lowers_the_loss(name: str) -> None:
    task = task_of("own")
    vae = build(name, task, hidden=16, latent=4, seed=0, noise_scale=0.0)
    result = dvae.fit(vae, OWN_DAGS * 2, epochs=30, batch_size=10, learning_rate=1e-2, progress=False)
    assert result.history[-1]["nll"] < 0.7 * result.history[0]["nll"]


@pytest.mark.slow
@every_model
def test_a_model_can_learn_32_graphs_by_heart(name: str) -> None:
    """To a loss near zero: every graph comes back."""
    task = dvae.tasks.get("enas6")
    batch = task.sample_batch(32, seed=0)
    vae = build(name, task, hidden=128, latent=24, seed=0, noise_scale=0.0, kl_weight=0.0)
    rate, best, kept = 2e-3, math.inf, copy.deepcopy(vae.state_dict())
    for _ in range(50):
        result = dvae.fit(
            vae, batch, epochs=100, batch_size=32, learning_rate=rate, progress=False, plateau_patience=99
        )
        loss = result.history[-1]["nll"]
        if loss < 0.05:
            break
        if loss < best:
            best, kept = loss, copy.deepcopy(vae.state_dict())
        else:  # near zero a step may be too long, and much is forgotten at once: back, and more slowly
            vae.load_state_dict(kept)
            rate /= 2
    assert result.history[-1]["nll"] < 0.05
    decoded = vae.decode_batch(vae.encode(batch).mean, greedy=True)
    assert torch.equal(decoded.types, batch.types)
    assert torch.equal(decoded.adjacency, batch.adjacency)


@pytest.mark.parametrize("task_name", ["enas6", "own"])
@every_model
def test_a_head_has_a_gradient_and_changes_no_other_loss(name: str, task_name: str) -> None:
    task = task_of(task_name)
    plain, vae = model(name, task), model(name, task, head="linear")
    batch = vae.prepare(graphs_of(task))
    assert vae.feature_head is not None
    vae.feature_head.fit(batch)
    noise = torch.zeros(len(batch), 3, dtype=torch.float64)
    before, after = plain(batch, noise), vae(batch, noise)
    assert torch.equal(before.nll, after.nll)
    assert torch.equal(before.kl, after.kl)
    assert after.heads is not None
    after.heads.sum().backward()
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in vae.encoder.parameters())
    vae.zero_grad()
    check_gradients(vae.feature_head, lambda: _head_loss(vae, batch, noise))


def _head_loss(vae: VAE, batch: DagBatch, noise: torch.Tensor) -> torch.Tensor:
    heads = vae(batch, noise).heads
    assert heads is not None
    total: torch.Tensor = heads.sum()
    return total
