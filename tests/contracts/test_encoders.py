"""What every encoder promises. All that `ENCODERS` knows joins by itself, those of installed packages too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from contracts.model_examples import EXACT, TWO_ORDERS, check_gradients, graphs_of, model, task_of
from dvae.dag import DagBatch
from dvae.models import ENCODERS, VAE
from dvae.models.kernels.aligned import aligned

every_encoder = pytest.mark.parametrize("name", ENCODERS.names())


def encoding(name: str, task_name: str = "own") -> tuple[VAE, DagBatch]:
    task = task_of(task_name)
    vae = model("dvae", task, encoder=name)
    return vae, vae.prepare(graphs_of(task))


def vectors(vae: VAE, batch: DagBatch) -> Tensor:
    return vae.encoder(vae.prepare(batch))


@every_encoder
def test_an_encoder_says_what_it_is(name: str) -> None:
    part = ENCODERS.get(name)
    assert part.description
    assert part.settings() == part.settings(), "all settings have defaults"


@pytest.mark.parametrize("task_name", ["enas6", "asia", "own"])
@every_encoder
def test_a_graph_is_one_vector_of_the_promised_width(name: str, task_name: str) -> None:
    vae, batch = encoding(name, task_name)
    encoder = vae.encoder
    width = encoder.blocks * aligned(encoder.width) if encoder.blocks else encoder.width
    assert vectors(vae, batch).shape == (len(batch), width)
    assert bool(vectors(vae, batch).isfinite().all())


@pytest.mark.parametrize("task_name", ["enas6", "asia", "own"])
@every_encoder
def test_no_graph_feels_the_others(name: str, task_name: str) -> None:
    vae, batch = encoding(name, task_name)
    alone = torch.cat([vectors(vae, part) for part in batch.split(1)])
    torch.testing.assert_close(vectors(vae, batch), alone, **EXACT)


@every_encoder
def test_padding_changes_nothing(name: str) -> None:
    vae, batch = encoding(name)
    torch.testing.assert_close(vectors(vae, batch.padded(batch.max_nodes + 2)), vectors(vae, batch), **EXACT)


@every_encoder
def test_a_batch_is_left_as_it_was(name: str) -> None:
    vae, batch = encoding(name)
    before = [tensor.clone() for tensor in (batch.types, batch.adjacency, batch.num_nodes)]
    vectors(vae, batch)
    for tensor, now in zip(before, (batch.types, batch.adjacency, batch.num_nodes), strict=True):
        assert torch.equal(tensor, now)


@every_encoder
def test_preparing_twice_is_preparing_once(name: str) -> None:
    vae, batch = encoding(name)
    again = vae.prepare(batch)
    assert torch.equal(again.types, batch.types)
    assert torch.equal(again.adjacency, batch.adjacency)


@every_encoder
def test_what_it_says_of_node_orders_is_true(name: str) -> None:
    order_free = ENCODERS.get(name).order_free
    if order_free is None:
        pytest.skip(f"{name} does not say whether it is order-free")
    task = task_of("own")
    one, other = vectors(model("dvae", task, encoder=name), task.batch(TWO_ORDERS))
    assert (float((one - other).detach().abs().max()) < 1e-9) == order_free


@every_encoder
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    vae, batch = encoding(name)
    encoder = vae.encoder
    assert isinstance(encoder, torch.nn.Module)
    first = vectors(vae, batch)
    direction = torch.linspace(-1, 1, first.numel(), dtype=torch.float64).view_as(first)
    check_gradients(encoder, lambda: (vectors(vae, batch) * direction).sum())
    assert any(parameter.grad is not None and parameter.grad.any() for parameter in encoder.parameters())
