"""The surrogate: a sum over families is linear in D-VAE's graph state, trained or not."""

from __future__ import annotations

from typing import TypeAlias

import pytest
import torch

import dvae
from dvae.regression.features import one_hot_features
from dvae.regression.linear import LinearModel
from dvae.regression.metrics import pearson
from dvae.strategies.surrogate import Process, Seen, Surrogate

pytest.importorskip("botorch")

TASK = dvae.tasks.get("asia")
Known: TypeAlias = tuple[Seen, torch.Tensor]  # with their scores


@pytest.fixture(scope="module")
def known() -> Known:
    """States, latents and BIC of 3,000 networks, by a model that has learned nothing."""
    vae = dvae.models.build("dvae", TASK, hidden=320, latent=8, seed=0).double()
    dags = TASK.sample(3000, seed=0)
    states = vae.graph_states(dags)
    with torch.no_grad():
        latents = vae.posterior_of(states).mean
    plain = one_hot_features(TASK.batch(dags), TASK.num_types).double()
    return Seen(states, latents, plain), torch.tensor(TASK.scores(dags), dtype=torch.float64)


def test_bic_is_linear_in_the_state_and_not_in_the_latent(
    known: Known,
) -> None:
    (states, latents, _), scores = known
    of_states = LinearModel.fit(states[:2500], scores[:2500]).predict(states[2500:]) - scores[2500:]
    of_latents = LinearModel.fit(latents[:2500], scores[:2500]).predict(latents[2500:]) - scores[2500:]
    assert float(of_states.square().mean().sqrt()) < 0.02 * float(scores.std())
    assert float(of_latents.square().mean().sqrt()) > 0.2 * float(scores.std())


def test_the_best_are_told_from_the_rest(known: Known) -> None:
    seen, scores = known
    first, last, chosen = seen.at(slice(2500)), seen.at(slice(2500, None)), torch.arange(0, 2500, 20)
    surrogate = Surrogate(first, scores[:2500], chosen)
    assert surrogate.linear is not None
    settings = surrogate.prepare(None, fit=True)
    mean, samples = surrogate.values(last, samples=3)
    assert mean.shape == (500,)
    assert samples.shape == (3, 500)
    truly_best = set(scores[2500:].topk(20).indices.tolist())
    assert len(truly_best & set(mean.topk(20).indices.tolist())) >= 14
    again = Surrogate(first, scores[:2500], chosen)
    again.prepare(settings, fit=False)
    torch.testing.assert_close(again.values(last)[0], mean, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("process", "least"), [("graphs", 0.5), ("latents", 0.3)])
def test_few_scores_are_left_to_the_process(known: Known, process: Process, least: float) -> None:
    """A linear model of more features than scores would be sure of itself, and wrong."""
    seen, scores = known
    few = torch.arange(100)
    surrogate = Surrogate(seen.at(few), scores[few], few, process)
    assert surrogate.linear is None
    surrogate.prepare(None, fit=True)
    mean, _ = surrogate.values(seen.at(slice(2500, None)))
    assert pearson(mean, scores[2500:]) > least


def test_settings_of_another_kernel_are_not_taken(known: Known) -> None:
    seen, scores = known
    few = torch.arange(60)
    of_latents = Surrogate(seen.at(few), scores[few], few, "latents").prepare(None, fit=True)
    surrogate = Surrogate(seen.at(few), scores[few], few, "graphs")
    found = surrogate.prepare(of_latents, fit=False)
    expected = Surrogate(seen.at(few), scores[few], few, "graphs").prepare(None, fit=True)
    assert found.keys() == expected.keys()
    for name, value in found.items():
        torch.testing.assert_close(value, expected[name])
