"""Sampled decodings: repeatable, grouped, and distributed as the model says."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from scipy import stats

from dvae.dag import Dag
from dvae.errors import DvaeError
from dvae.models import VAE, build
from dvae.models.reference import ReferenceDvae, Rules, Variant
from dvae.tasks import BayesNetTask, EnasTask, RawTask
from models.examples import generic_task, latents, pair, raw_dags, task_pair
from models.oracle import CHAIN, CONNECTED, EACH_ONCE, GENERIC, GENERIC_SAMPLED_END, KINDS

SAMPLES = 40_000
NUM_TYPES, MAX_NODES = 4, 4
CASES: dict[str, tuple[str, Variant, object, Rules | None]] = {
    "enas": ("dvae", KINDS["dvae"], EnasTask(2), None),
    "raw": ("dvae_unidirectional", KINDS["dvae_unidirectional"], None, None),
    "bayesnet": ("dvae_bn", KINDS["dvae_bn"], BayesNetTask("small", "AB"), None),
    "sampled end": ("dvae_unidirectional", GENERIC_SAMPLED_END, generic_task(sampled=True, max_nodes=4), None),
    "connected": ("dvae_unidirectional", GENERIC, generic_task(max_nodes=4), CONNECTED),
    "connected, sampled end": (
        "dvae_unidirectional",
        GENERIC_SAMPLED_END,
        generic_task(sampled=True, max_nodes=4),
        CONNECTED,
    ),
    "chain": ("dvae", KINDS["dvae"], EnasTask(2), CHAIN),
    "each once": ("dvae_bn", KINDS["dvae_bn"], BayesNetTask("small", "ABC"), EACH_ONCE),
}


def both(name: str) -> tuple[VAE, ReferenceDvae, Rules | None]:
    model, kind, task, rules = CASES[name]
    task = task or RawTask(NUM_TYPES, MAX_NODES, EnasTask.hints)
    vae, oracle = task_pair(model, kind, task, hidden=5, latent=2, seed=4, scale=1.5)  # type: ignore[arg-type]
    return vae, oracle, rules


def test_variations_lie_between_a_dag_and_the_prior() -> None:
    task = generic_task(virtual=True, max_nodes=6, inner="abc")
    dags = [Dag(("a", "b", "c"), ((0, 1), (1, 2))), Dag(("a",)), Dag(("b", "a"), ((0, 1),))]
    vae = build("dvae", task, hidden=8, latent=4, seed=0)
    vae.calibrate(task.batch(dags))
    seen: list[torch.Tensor] = []
    vae.decode_batch = lambda latents, **_: seen.append(latents) or task.batch([])  # type: ignore[method-assign, func-returns-value]
    for change in (0.0, 0.6, 1.0):
        vae.variations(dags, change, copies=500, seed=0)
    means = vae.encode(dags).mean.repeat_interleave(500, 0)
    torch.testing.assert_close(seen[0], means)
    torch.testing.assert_close(
        seen[1] - vae.latent_mean, 0.8 * (means - vae.latent_mean) + 0.6 * (seen[2] - vae.latent_mean)
    )
    torch.testing.assert_close(seen[2], vae.prior(1500, seed=0))
    with pytest.raises(DvaeError, match="change is a share"):
        vae.variations(dags, 1.5)
    with pytest.raises(DvaeError, match="without conditions"):
        vae.variations(dags, 0.5, given={"size": 1.0})


def p_value(drawn: list[Dag], expected: dict[Dag, float]) -> float:
    """Pearson's test; outcomes expected fewer than five times are counted together."""
    assert sum(expected.values()) == pytest.approx(1)
    impossible = set(drawn) - expected.keys()
    assert not impossible, f"drawn, but impossible: {impossible}"
    counts = Counter(drawn)
    often = [graph for graph, share in expected.items() if share * len(drawn) >= 5]
    assert len(often) >= 3, "the example is too easy: nearly always the same graph"
    observed = [counts[graph] for graph in often]
    predicted = [expected[graph] * len(drawn) for graph in often]
    rest = len(drawn) - sum(predicted)
    if rest > 1:
        observed, predicted = [*observed, len(drawn) - sum(observed)], [*predicted, rest]
    else:  # what is left out is too rare to be counted
        predicted = [value * sum(observed) / sum(predicted) for value in predicted]
    return float(stats.chisquare(observed, predicted).pvalue)


@pytest.mark.parametrize("name", CASES)
def test_samples_follow_the_probabilities_of_the_steps(name: str) -> None:
    vae, oracle, rules = both(name)
    z = latents(1, latent=2)
    drawn = vae.decode_batch(z.expand(SAMPLES, -1), seed=1, valid=rules is not None)
    assert p_value(raw_dags(drawn, oracle.num_types), oracle.outcomes(z[0], rules)) > 1e-3


@pytest.mark.parametrize("name", CASES)
def test_copies_follow_the_probabilities_of_the_steps(name: str) -> None:
    """Copies share their beginnings; each is an independent draw nevertheless, and beside its own latent."""
    vae, oracle, rules = both(name)
    z, copies = latents(3, latent=2, scale=2.0), SAMPLES // 3
    drawn = vae.decode_batch(z, copies=copies, seed=2, valid=rules is not None)
    graphs = raw_dags(drawn, oracle.num_types)
    assert len(graphs) == 3 * copies
    for index, row in enumerate(z):
        group = graphs[index * copies : (index + 1) * copies]
        assert p_value(group, oracle.outcomes(row, rules)) > 1e-3


def test_a_wrong_distribution_is_noticed() -> None:
    """The test above can fail: samples of one latent do not pass for another's."""
    vae, oracle, _ = both("raw")
    z = latents(2, latent=2)
    graphs = raw_dags(vae.decode_batch(z[:1].expand(SAMPLES, -1), seed=1), NUM_TYPES)
    assert p_value(graphs, oracle.outcomes(z[1])) < 1e-6


@pytest.mark.parametrize("copies", [1, 7])
@pytest.mark.parametrize("valid", [False, True])
def test_a_seed_repeats_and_another_differs(copies: int, valid: bool) -> None:
    vae, _ = pair("dvae", scale=2.0)
    z = latents(20)
    first, again, other = (vae.decode(z, copies=copies, seed=seed, valid=valid) for seed in (5, 5, 6))
    assert first == again
    assert first != other
    assert len(first) == 20 * copies


def test_without_a_seed_decodings_differ_from_call_to_call() -> None:
    vae, _ = pair("dvae")
    assert vae.decode(latents(50)) != vae.decode(latents(50))


def test_sampling_leaves_the_global_random_numbers_alone() -> None:
    vae, _ = pair("dvae")
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    vae.decode(latents(5), seed=1)
    vae.sample(5, seed=1)
    vae.prior(5)
    assert torch.equal(torch.rand(3), expected)


def test_copies_of_greedy_decodings_are_equal_and_grouped() -> None:
    vae, _ = pair("dvae", scale=3.0, seed=3)
    z = latents(10, scale=3.0)
    single = vae.decode(z, greedy=True)
    assert vae.decode(z, greedy=True, copies=3) == [dag for dag in single for _ in range(3)]


def test_prior_samples_lie_where_the_training_data_lie() -> None:
    vae, _ = pair("dvae")
    vae.latent_mean.copy_(torch.tensor([5.0, -2.0, 0.0]))
    vae.latent_std.copy_(torch.tensor([0.1, 2.0, 1.0]))
    z = vae.prior(20_000, seed=0)
    torch.testing.assert_close(z.mean(0), vae.latent_mean, atol=0.06, rtol=0)
    torch.testing.assert_close(z.std(0), vae.latent_std, atol=0.05, rtol=0.03)
    assert torch.equal(z, vae.prior(20_000, seed=0))
    assert vae.sample(5, seed=3) == vae.decode(vae.prior(5, seed=3), seed=3)


def test_posterior_samples_have_its_mean_and_deviation() -> None:
    vae, _ = pair("dvae")
    posterior = vae.encode([Dag((0, 2, 1), ((0, 1), (1, 2)))] * 20_000)
    z = posterior.sample(torch.Generator().manual_seed(0))
    torch.testing.assert_close(z.mean(0), posterior.mean[0], atol=0.05, rtol=0.05)
    torch.testing.assert_close(z.std(0), (posterior.logvar[0] / 2).exp(), atol=0.0, rtol=0.05)
    tight = posterior.sample(torch.Generator().manual_seed(0), scale=0.01)
    torch.testing.assert_close(tight - posterior.mean, (z - posterior.mean) * 0.01)
