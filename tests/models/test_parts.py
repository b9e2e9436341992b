"""Every combination of parts builds, gives a finite loss, and has the gradient its loss has."""

from __future__ import annotations

import random
from dataclasses import fields, replace

import pytest
import torch

from dvae.dag import Dag, DagBatch
from dvae.errors import ConfigError
from dvae.models import VAE, build
from dvae.models.config import ModelConfig
from dvae.models.kernels.precision import products_in
from dvae.tasks import EnasTask, Task, get
from models.examples import generic_task, latents, model_graphs, raw_batch

GIVEN = tuple((float(kind), 1.0, -0.5 * kind) for kind in range(5))
FEATURES = {
    "one-hot": {},
    "learned": {"features": "learned", "feature_width": 3},
    "given": {"features": "given", "given_features": GIVEN},
}
CONFIGURATIONS = {
    f"{aggregation}, {readout}, {'both ways' if bidirectional else 'one way'}": {
        "aggregation": aggregation,
        "readout": readout,
        "bidirectional": bidirectional,
    }
    for aggregation in ("gated-sum", "gated-sum-position", "gated-sum-types")
    for readout in ("end", "sum", "both")
    for bidirectional in (False, True)
}


def tiny(task: Task, **options) -> VAE:
    return build("dvae", task, hidden=4, latent=2, seed=0, **options).double()


def loss_of(vae: VAE, batch: DagBatch, noise: torch.Tensor) -> torch.Tensor:
    losses = vae(batch, noise)
    return (losses.nll + 0.2 * losses.kl).sum()


def check_gradients(vae: VAE, batch: DagBatch, entries: int = 2) -> None:
    """Central differences at a few entries of every parameter that has an effect."""
    noise = latents(len(batch), latent=2)
    loss_of(vae, batch, noise).backward()
    chance = random.Random(0)
    for name, parameter in vae.named_parameters():
        assert parameter.grad is not None, f"{name} gets no gradient"
        assert bool(parameter.grad.isfinite().all())
        largest = int(parameter.grad.abs().argmax())
        for entry in {largest, *(chance.randrange(parameter.numel()) for _ in range(entries - 1))}:
            values = []
            with torch.no_grad():
                flat = parameter.view(-1)
                before = float(flat[entry])
                for step in (1e-5, -1e-5):
                    flat[entry] = before + step
                    values.append(float(loss_of(vae, batch, noise)))
                flat[entry] = before
            slope, gradient = (values[0] - values[1]) / 2e-5, float(parameter.grad.view(-1)[entry])
            assert gradient == pytest.approx(slope, rel=1e-4, abs=1e-6), f"{name}[{entry}]"


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_configuration_has_the_gradient_of_its_loss(name: str) -> None:
    vae = tiny(generic_task(max_nodes=5), **CONFIGURATIONS[name])
    check_gradients(vae, raw_batch(model_graphs(6, num_types=4, max_nodes=5), num_types=4, max_nodes=5))


@pytest.mark.parametrize("hidden", [5, 12])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_what_is_added_to_a_width_stays_zero(name: str, hidden: int) -> None:
    """Where widths are rounded up, the weights added are zero and get no gradient: the model is the one asked for."""
    options = {**CONFIGURATIONS[name], **FEATURES["learned"]}
    vae = build("dvae", generic_task(), hidden=hidden, latent=3, seed=0, **options).double()
    batch = raw_batch(model_graphs(12, num_types=4), num_types=4)
    loss_of(vae, batch, latents(12)).backward()
    for key, parameter in vae.named_parameters():
        assert parameter.grad is not None
        assert not bool(parameter.grad[parameter == 0].any()), key


@pytest.mark.parametrize("aggregation", ["gated-sum-position", "gated-sum-types"])
@pytest.mark.parametrize("features", FEATURES)
def test_every_kind_of_node_feature_has_the_gradient_of_its_loss(features: str, aggregation: str) -> None:
    vae = tiny(get("bn:A,B,C"), aggregation=aggregation, bidirectional=True, **FEATURES[features])
    check_gradients(vae, vae.task.sample_batch(6, seed=0))


def test_learned_features_move_and_given_ones_stay() -> None:
    learned = tiny(get("bn:A,B,C"), **FEATURES["learned"])
    given = tiny(get("bn:A,B,C"), **FEATURES["given"])
    assert any("embedding" in name for name, _ in learned.named_parameters())
    assert not any("embedding" in name for name, _ in given.named_parameters())


def test_given_features_are_what_the_model_sees() -> None:
    """Types with the same features are the same to the encoder; with other features they are not."""
    dags = [Dag(("A", "B", "C"), ((0, 2),)), Dag(("B", "A", "C"), ((0, 2),))]
    equal = (GIVEN[0], GIVEN[1], GIVEN[2], GIVEN[2], GIVEN[4])
    blind = tiny(get("bn:A,B,C"), features="given", given_features=equal).encode(dags).mean
    seeing = tiny(get("bn:A,B,C"), **FEATURES["given"]).encode(dags).mean
    torch.testing.assert_close(blind[0], blind[1], atol=1e-12, rtol=0)
    assert float((seeing[0] - seeing[1]).abs().max()) > 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"features": "given", "given_features": GIVEN[:4]}, "needs 5 vectors"),
        ({"features": "given", "given_features": (*GIVEN[:4], (1.0,))}, "of one length"),
        ({"features": "given"}, "given_features goes with"),
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"latent": 0}, "latent must be at least 1"),
        ({"kl_weight": -1.0}, "kl_weight"),
        ({"widht": 3}, "no setting 'widht'"),
        ({"preset": "fast"}, "no preset 'fast'"),
    ],
)
def test_wrong_settings_are_refused(options: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        build("dvae", get("bn:A,B,C"), **options)


def test_an_unknown_model_is_refused_and_parts_combine_by_name() -> None:
    with pytest.raises(ConfigError, match="no model 'gcn9'"):
        build("gcn9", EnasTask(3))
    combined = build("dvae+dvae", EnasTask(3), hidden=4, latent=2, seed=0)
    plain = build("dvae", EnasTask(3), hidden=4, latent=2, seed=0)
    dags = EnasTask(3).sample(5, seed=0)
    assert torch.equal(combined.encode(dags).mean, plain.encode(dags).mean)


def test_the_papers_settings_are_the_defaults() -> None:
    config = ModelConfig()
    assert (config.hidden, config.latent, config.kl_weight, config.noise_scale) == (501, 56, 0.005, 1.0)
    assert build("dvae", EnasTask(2), hidden=4, latent=2, preset="original").config.noise_scale == 0.01
    assert replace(config) == config
    assert {field.name for field in fields(config)} >= {"aggregation", "bidirectional", "readout"}


def test_a_seed_makes_the_weights_and_leaves_the_global_random_numbers_alone() -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    models = [build("dvae", EnasTask(3), hidden=4, latent=2, seed=seed) for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(3), expected)
    first, again, other = ([p.detach().clone() for p in model.parameters()] for model in models)
    assert all(torch.equal(one, two) for one, two in zip(first, again, strict=True))
    assert not all(torch.equal(one, two) for one, two in zip(first, other, strict=True))


@pytest.mark.parametrize("task", [EnasTask(6), get("asia")], ids=["enas6", "asia"])
def test_products_in_bf16_are_close_and_train(task: Task) -> None:
    vae = build("dvae", task, hidden=32, latent=8, seed=0)
    batch = task.sample_batch(16, seed=0)
    noise = torch.randn(16, 8, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        exact = vae(batch, noise)
    with products_in(torch.bfloat16):
        losses = vae(batch, noise)
        (losses.nll + losses.kl).sum().backward()
    assert not torch.equal(losses.nll, exact.nll), "the products were taken in float32"
    assert losses.nll.dtype == torch.float32
    torch.testing.assert_close(losses.nll, exact.nll, rtol=2e-2, atol=0)
    for name, parameter in vae.named_parameters():
        assert parameter.grad is not None
        assert bool(parameter.grad.isfinite().all()), name
    assert sum(float(parameter.grad.abs().sum()) for parameter in vae.parameters()) > 0
    with torch.no_grad():
        assert torch.equal(vae(batch, noise).nll, exact.nll), "the format outlives its block"
