"""What is special about DeepGMG: gradients of weights gathered over many rounds."""

from __future__ import annotations

import pytest
import torch

import dvae
from dvae.models import VAE
from dvae.models.decoders.deepgmg import DeepGmgDecoder
from dvae.models.deepgmg import WeightGradient
from dvae.models.parts import Sampling
from dvae.tasks.vocabulary import END_INDEX


def small() -> tuple[VAE, torch.Tensor]:
    """A model and its loss on some graphs."""
    task = dvae.tasks.get("enas6")
    vae = dvae.models.build("deepgmg", task, hidden=12, latent=4, seed=0).double()
    batch = vae.prepare(task.sample_batch(6, seed=1))
    return vae, vae(batch, torch.zeros(6, 4, dtype=torch.float64)).nll.sum()


def gradients() -> dict[str, torch.Tensor]:
    vae, loss = small()
    loss.backward()
    return {name: part.grad for name, part in vae.named_parameters() if part.grad is not None}


def test_gradients_do_not_depend_on_how_many_rounds_are_multiplied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together = gradients()
    monkeypatch.setattr(WeightGradient, "ROWS", 1)  # every round by itself, as autograd would
    apart = gradients()
    assert together.keys() == apart.keys()
    for name, value in together.items():
        assert torch.allclose(value, apart[name], rtol=1e-12, atol=1e-14), name


def test_a_second_backward_pass_gathers_afresh() -> None:
    vae, loss = small()
    loss.backward(retain_graph=True)
    once = {name: part.grad.clone() for name, part in vae.named_parameters() if part.grad is not None}
    loss.backward()
    for name, part in vae.named_parameters():
        if part.grad is not None:
            assert torch.allclose(part.grad, 2 * once[name], rtol=1e-12), name


def test_a_backward_pass_that_ends_before_the_weights_leaves_nothing() -> None:
    expected = gradients()
    vae, loss = small()
    torch.autograd.grad(loss, [vae.mean.bias], retain_graph=True)
    loss.backward()
    for name, part in vae.named_parameters():
        if part.grad is not None:
            assert torch.allclose(part.grad, expected[name], rtol=1e-12, atol=1e-14), name


def test_frozen_weights_gather_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    vae, _ = small()
    vae.requires_grad_(False)
    latents = torch.zeros(6, 4, dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(WeightGradient, "add", lambda *_: pytest.fail("gathered"))
    batch = vae.prepare(dvae.tasks.get("enas6").sample_batch(6, seed=1))
    vae.decoder.nll(latents, batch).sum().backward()
    assert latents.grad is not None


def test_sampling_goes_through_the_states_of_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state before every type is the same, whether a DAG is drawn or given, also where all nodes are connected."""
    task = dvae.tasks.get("enas6")
    vae = dvae.models.build("deepgmg", task, hidden=12, latent=4, seed=0).double()
    decoder = vae.decoder
    assert isinstance(decoder, DeepGmgDecoder)
    with torch.no_grad():
        decoder.add_edge.bias += 3.0  # most edges are wanted, so that nodes run out ...
        decoder.add_vertex.bias[END_INDEX] = -100.0  # ... and many nodes
    # The order in which predecessors are given: from the newest on.
    order = 100.0 * torch.arange(task.max_nodes, dtype=torch.float64)
    monkeypatch.setattr(decoder, "node_scores", lambda states: order[None, : states.shape[1] - 1])
    seen: list[torch.Tensor] = []
    score, readout = decoder.type_scores, decoder.parts.readout.of_many
    monkeypatch.setattr(decoder, "type_scores", lambda states: seen.append(states) or score(states))
    latents = torch.randn(1, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    drawn = decoder.sample(latents, Sampling(greedy=False, generator=torch.Generator().manual_seed(0)))
    assert int(drawn.adjacency.sum()) > 10
    given: list[list[torch.Tensor]] = []
    monkeypatch.setattr(decoder.parts.readout, "of_many", lambda states: given.append(states) or readout(states))
    decoder.nll(latents, drawn)
    for one, other in zip(seen, given[0], strict=False):
        assert torch.allclose(one, other, rtol=1e-12), len(one[0])


def test_decodings_of_one_latent_are_drawn_as_decodings_of_equal_ones_are() -> None:
    """Copies share what they have in common; how often each DAG is drawn does not depend on that."""
    task = dvae.tasks.get("enas6")
    vae = dvae.models.build("deepgmg", task, hidden=12, latent=4, seed=0)
    decoder = vae.decoder
    assert isinstance(decoder, DeepGmgDecoder)
    with torch.no_grad():  # decisions that depend on states, and states on what was decided
        for part in (decoder.add_vertex, decoder.add_edge, decoder.select_node):
            part.weight *= 12.0
        for update in decoder.rounds.updates:
            update.weight_ih *= 3.0
    latent = torch.randn(1, 4, generator=torch.Generator().manual_seed(3))
    copies = vae.decode_batch(latent, copies=4000, seed=0)
    alone = vae.decode_batch(latent.expand(4000, -1), seed=1)
    for shared, single in ((copies.types, alone.types), (copies.adjacency, alone.adjacency)):
        error = (shared.float().var(0) + single.float().var(0)).div(4000).sqrt()
        difference = (shared.float().mean(0) - single.float().mean(0)).abs()
        assert bool((difference <= 4.5 * error + 1e-3).all())
