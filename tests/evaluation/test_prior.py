from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.evaluation import common, prior_samples, wilson
from dvae.models import build
from dvae.tasks import BayesNetTask, EnasTask, get
from evaluation.scripted import Script, ScriptedVae

TASK = BayesNetTask("abc", ("A", "B", "C"))
EMPTY = Dag(("A", "B", "C"), ())
CHAIN = Dag(("A", "B", "C"), ((0, 1), (1, 2)))
COLLIDER = Dag(("A", "B", "C"), ((0, 2), (1, 2)))
COLLIDER_AGAIN = Dag(("B", "A", "C"), ((0, 2), (1, 2)))
FORK = Dag(("A", "B", "C"), ((0, 1), (0, 2)))
TWICE_A = Dag(("A", "A", "C"), ((0, 2),))


def scripted(script: Script, train: list[Dag], means: torch.Tensor | None = None) -> ScriptedVae:
    means = torch.randn(len(train), 2, generator=torch.Generator().manual_seed(0)) if means is None else means
    return ScriptedVae(TASK, train, means, 0.1, script)


def in_turn(*dags: Dag) -> Script:
    return lambda latents, _: [dags[count % len(dags)] for count in range(len(latents))]


def test_shares_of_a_hand_made_sample() -> None:
    vae = scripted(in_turn(COLLIDER, COLLIDER_AGAIN, TWICE_A, CHAIN), [CHAIN, EMPTY])
    result = prior_samples(vae, [CHAIN, EMPTY], latents=50, decodings=4)
    assert (result.valid, result.distinct, result.novel) == (150, 2, 100)
    assert result.validity == wilson(37.5, 50)
    assert result.novelty == wilson(50 * (2 / 3), 50)
    assert result.uniqueness is not None
    assert (result.uniqueness.value, result.uniqueness.low, result.uniqueness.high) == (2 / 150, None, None)


def test_novelty_is_of_the_valid_graphs_of_all_latents() -> None:
    script = in_turn(FORK, FORK, FORK, FORK, CHAIN, TWICE_A, TWICE_A, TWICE_A)
    result = prior_samples(scripted(script, [CHAIN, EMPTY]), [CHAIN, EMPTY], latents=60, decodings=4)
    assert result.novelty is not None
    assert result.novelty.value == pytest.approx(4 / 5)
    assert result.validity.value == pytest.approx(5 / 8)


def test_a_network_known_in_another_order_is_not_new() -> None:
    vae = scripted(in_turn(COLLIDER_AGAIN), [COLLIDER, EMPTY])
    assert prior_samples(vae, [COLLIDER, EMPTY], latents=5, decodings=2).novel == 0


def test_nothing_valid_leaves_uniqueness_and_novelty_open() -> None:
    result = prior_samples(scripted(in_turn(TWICE_A), [CHAIN, EMPTY]), [CHAIN, EMPTY], latents=5, decodings=2)
    assert result.validity == wilson(0, 5)
    assert (result.uniqueness, result.novelty) == (None, None)
    assert result.to_mapping()["novelty"] is None


def test_latents_lie_where_the_training_means_lie() -> None:
    train = [CHAIN, EMPTY, COLLIDER]
    means = torch.tensor([[10.0, -3.0], [12.0, -3.5], [14.0, -4.0]])
    seen: list[torch.Tensor] = []

    def script(latents: torch.Tensor, _: torch.Generator) -> list[Dag]:
        seen.append(latents)
        return [CHAIN] * len(latents)

    vae = scripted(script, train, means)
    assert prior_samples(vae, train, latents=4000, decodings=1).statistics == "computed"
    latents = torch.cat(seen)
    assert latents.mean(0).tolist() == pytest.approx([12.0, -3.5], abs=0.15)
    assert latents.std(0).tolist() == pytest.approx([2.0, 0.5], rel=0.05)
    assert (vae.latent_mean == 0).all()

    seen.clear()
    vae.latent_mean.fill_(7.0)
    assert prior_samples(vae, train, latents=4000, decodings=1).statistics == "stored"
    assert torch.cat(seen).mean().item() == pytest.approx(7.0, abs=0.1)
    assert prior_samples(vae, train, latents=10, decodings=1, recompute=True).statistics == "computed"


def test_a_calibrated_model_is_asked_at_its_own_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    task = EnasTask(2)
    train = task.sample(30, seed=0)
    vae = build("dvae", task, hidden=8, latent=3, seed=0)
    vae.calibrate(task.batch(train))
    asked: list[torch.Tensor] = []
    decode = vae.decode_batch
    monkeypatch.setattr(vae, "decode_batch", lambda z, **options: asked.append(z) or decode(z, **options))
    monkeypatch.setitem(common.NODES_AT_ONCE, "cpu", 7 * 3 * task.max_nodes)
    result = prior_samples(vae, train, latents=20, decodings=3, seed=5)
    assert [len(part) for part in asked] == [7, 7, 6]
    assert torch.equal(torch.cat(asked), vae.prior(20, seed=5))
    assert prior_samples(vae, train, latents=20, decodings=3, seed=5) == result
    assert prior_samples(vae, train, latents=20, decodings=3, seed=6) != result


def test_what_cannot_be_measured_is_refused() -> None:
    vae = scripted(in_turn(CHAIN), [CHAIN])
    with pytest.raises(ConfigError, match="training graphs"):
        prior_samples(vae, [])
    with pytest.raises(ConfigError, match="at least 2"):
        prior_samples(vae, [CHAIN])
    with pytest.raises(ConfigError, match="latents"):
        prior_samples(vae, [CHAIN], latents=0)


def test_samples_within_the_rules_are_all_valid() -> None:
    task = get("asia")
    vae = build("dvae", task, hidden=8, latent=3, seed=0)
    train = task.sample(20, seed=0)
    free, ruled = (prior_samples(vae, train, latents=10, decodings=4, rules=rules) for rules in (False, True))
    assert free.validity.value < 0.5
    assert ruled.validity.value == 1.0
    assert (free.rules, ruled.rules) == (False, True)
    assert ruled.to_mapping()["rules"] is True
