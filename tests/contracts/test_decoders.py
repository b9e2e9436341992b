"""What every decoder promises. All that `DECODERS` knows joins by itself, those of installed packages too."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from contracts.model_examples import EXACT, TASKS, check_gradients, graphs_of, model, task_of
from dvae.dag import DagBatch
from dvae.models import DECODERS, VAE, Sampling

every_decoder = pytest.mark.parametrize("name", DECODERS.names())
every_task = pytest.mark.parametrize("task_name", TASKS)


def decoding(name: str, task_name: str = "own") -> tuple[VAE, DagBatch, Tensor]:
    task = task_of(task_name)
    vae, batch = model("dvae", task, decoder=name), graphs_of(task)
    return vae, batch, latents(len(batch))


def latents(count: int, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(count, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@every_decoder
def test_a_decoder_says_what_it_is(name: str) -> None:
    part = DECODERS.get(name)
    assert part.description
    assert part.settings() == part.settings(), "all settings have defaults"
    decoder = decoding(name)[0].decoder
    assert decoder.static_shapes in (True, False)
    assert decoder.rows_at_once(torch.device("cpu")) >= 1


@every_task
@every_decoder
def test_every_graph_has_a_likelihood_of_its_own(name: str, task_name: str) -> None:
    vae, batch, z = decoding(name, task_name)
    nll = vae.decoder.nll(z, batch)
    assert nll.shape == (len(batch),)
    assert bool((nll > 0).all())
    alone = [vae.decoder.nll(z[i : i + 1], part) for i, part in enumerate(batch.split(1))]
    torch.testing.assert_close(nll, torch.cat(alone), **EXACT)


@every_decoder
def test_padding_costs_nothing(name: str) -> None:
    vae, batch, z = decoding(name)
    padded = batch.padded(batch.max_nodes + 2)
    torch.testing.assert_close(vae.decoder.nll(z, padded), vae.decoder.nll(z, batch), **EXACT)


@every_decoder
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    vae, batch, z = decoding(name)
    decoder = vae.decoder
    assert isinstance(decoder, torch.nn.Module)
    check_gradients(decoder, lambda: decoder.nll(z, batch).sum())
    z.requires_grad_()
    decoder.nll(z, batch).sum().backward()
    assert z.grad is not None
    assert bool(z.grad.any())


@pytest.mark.parametrize("valid", [False, True])
@pytest.mark.parametrize("task_name", [*TASKS, "own, with rules"])
@every_decoder
def test_decodings_are_whole_graphs_and_by_the_rules_valid_ones(name: str, task_name: str, valid: bool) -> None:
    vae, _, _ = decoding(name, task_name)
    batch = vae.decode_batch(latents(12, 4.0), seed=0, copies=2, valid=valid)
    assert len(batch) == 24
    assert not bool(batch.adjacency.tril().any()), "edges run from earlier to later nodes"
    assert bool((batch.types.gather(1, batch.num_nodes[:, None] - 1) == 1).all()), "every graph ends"
    if valid:
        assert bool(vae.task.valid(batch).all())


@pytest.mark.parametrize("copies", [1, 3])
@every_decoder
def test_a_seed_repeats_decodings_and_greedy_ones_need_none(name: str, copies: int) -> None:
    vae, _, _ = decoding(name)
    z = latents(8, 3.0)
    assert vae.decode(z, seed=5, copies=copies) == vae.decode(z, seed=5, copies=copies)
    greedy = vae.decode(z, greedy=True)
    assert vae.decode(z, greedy=True, copies=copies) == [dag for dag in greedy for _ in range(copies)]
    assert [vae.decode(row[None], greedy=True)[0] for row in z] == greedy, "no graph feels the others"


@every_decoder
def test_latents_and_batches_are_left_as_they_were(name: str) -> None:
    vae, batch, z = decoding(name)
    before = [tensor.clone() for tensor in (batch.types, batch.adjacency, batch.num_nodes, z)]
    vae.decoder.nll(z, batch)
    vae.decoder.sample(z, Sampling(copies=2, rules=vae.task.rules, generator=torch.Generator().manual_seed(0)))
    for tensor, now in zip(before, (batch.types, batch.adjacency, batch.num_nodes, z), strict=True):
        assert torch.equal(tensor, now)
