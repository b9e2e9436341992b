"""The surrogate: a sum over families is linear in D-VAE's graph state, trained or not."""

from __future__ import annotations

import pytest
import torch

import dvae
from dvae.evaluation.linear import LinearModel
from dvae.search.surrogate import Surrogate

pytest.importorskip("botorch")

TASK = dvae.tasks.get("asia")


@pytest.fixture(scope="module")
def known() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """States, latents and BIC of 3,000 networks, by a model that has learned nothing."""
    vae = dvae.models.build("dvae", TASK, hidden=320, latent=8, seed=0).double()
    dags = TASK.sample(3000, seed=0)
    states = vae.graph_states(dags)
    with torch.no_grad():
        latents = vae.posterior_of(states).mean
    return states, latents, torch.tensor(TASK.scores(dags), dtype=torch.float64)


def test_bic_is_linear_in_the_state_and_not_in_the_latent(
    known: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
) -> None:
    states, latents, scores = known
    of_states = LinearModel.fit(states[:2500], scores[:2500]).predict(states[2500:]) - scores[2500:]
    of_latents = LinearModel.fit(latents[:2500], scores[:2500]).predict(latents[2500:]) - scores[2500:]
    assert float(of_states.square().mean().sqrt()) < 0.02 * float(scores.std())
    assert float(of_latents.square().mean().sqrt()) > 0.2 * float(scores.std())


def test_the_best_are_told_from_the_rest(known: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    states, latents, scores = known
    chosen = torch.arange(0, 2500, 20)
    surrogate = Surrogate(states[:2500], latents[:2500], scores[:2500], chosen)
    settings = surrogate.prepare(None, fit=True)
    mean, samples = surrogate.values(states[2500:], latents[2500:], samples=3)
    assert mean.shape == (500,)
    assert samples.shape == (3, 500)
    truly_best = set(scores[2500:].topk(20).indices.tolist())
    assert len(truly_best & set(mean.topk(20).indices.tolist())) >= 14
    again = Surrogate(states[:2500], latents[:2500], scores[:2500], chosen)
    again.prepare(settings, fit=False)
    torch.testing.assert_close(again.values(states[2500:], latents[2500:])[0], mean, rtol=1e-6, atol=1e-6)
