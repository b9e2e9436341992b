"""What is special about DeepGMG: gradients of weights gathered over many rounds."""

from __future__ import annotations

import pytest
import torch

import dvae
from dvae.models import VAE
from dvae.models.deepgmg import _WeightGradient


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
    monkeypatch.setattr(_WeightGradient, "ROWS", 1)  # every round by itself, as autograd would
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
