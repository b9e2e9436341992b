"""Heads on the latent: what they cost, whose gradient they have, and that nothing else changes by them."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from dvae.dag import Dag, DagBatch, DagSet
from dvae.errors import ConfigError
from dvae.models import build, load
from dvae.models.heads import FeatureHead, TargetHead
from dvae.regression.features import MAX_KINDS, count_features
from dvae.tasks import get
from dvae.tasks.generic import GenericTask
from dvae.training import fit

TASK = get("asia")
DAGS = TASK.sample(24, 0)
KINDS = ("linear", "one-to-one")


def batch() -> DagBatch:
    return TASK.batch(DAGS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_costs_the_cross_entropy_of_the_bits_that_change(kind: str) -> None:
    head = FeatureHead(TASK, 44, kind, weight=0.7)  # type: ignore[arg-type]
    head.fit(batch())
    bits = TASK.features(batch())
    varies = bits.std(0) > 0
    latents = torch.randn(len(DAGS), 44, generator=torch.Generator().manual_seed(1))
    predicted = head.map(latents)
    if kind == "linear":
        predicted, truth = predicted[:, varies], bits[:, varies]
    else:
        predicted, truth = predicted[:, : int(varies.sum())], bits[:, varies]
    expected = 0.7 * functional.binary_cross_entropy_with_logits(predicted, truth, reduction="none").sum(1)
    torch.testing.assert_close(head(latents, batch()), expected)


def test_one_to_one_uses_one_latent_per_feature() -> None:
    head = FeatureHead(TASK, 50, "one-to-one")
    head.fit(batch())
    latents = torch.randn(len(DAGS), 50).requires_grad_()
    head(latents, batch()).sum().backward()
    assert latents.grad is not None
    used = int(head.used.sum())
    assert (latents.grad[:, :used] != 0).all()
    assert (latents.grad[:, used:] == 0).all()


def test_too_few_latents_are_for_the_bits_that_change_most() -> None:
    head = FeatureHead(TASK, 3, "one-to-one")
    head.fit(batch())
    spread = TASK.features(batch()).std(0)
    assert spread[head.kept].min() >= spread.sort(descending=True).values[2]


def test_other_features_are_whitened_components() -> None:
    task = GenericTask.infer("own", DAGS)
    task.features = lambda part: count_features(part, task.num_types)  # type: ignore[method-assign]
    task.features_are_bits = False
    part = task.batch(DAGS)
    head = FeatureHead(task, 6, "one-to-one")
    head.fit(part)
    values = (task.features(part) - head.center) * head.scale @ head.kept
    torch.testing.assert_close(values.mT @ values / len(values), torch.eye(6), atol=1e-3, rtol=0)
    linear = FeatureHead(task, 6, "linear", weight=1.0)
    linear.fit(part)
    latents = torch.randn(len(DAGS), 6)
    truth = (task.features(part) - linear.center) * linear.scale
    errors = (linear.map(latents) - truth) * (linear.scale > 0)
    torch.testing.assert_close(linear(latents, part), 0.5 * errors.square().sum(1))


def test_counts_do_not_depend_on_the_order_of_nodes() -> None:
    one = Dag(("a", "b", "c", "b"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    other = Dag(("a", "c", "b", "b"), ((0, 1), (0, 2), (1, 3), (2, 3)))
    task = GenericTask.infer("own", [one, other])
    counts = count_features(task.batch([one, other]), task.num_types)
    assert torch.equal(counts[0], counts[1])
    different = Dag(("a", "b", "c", "b"), ((0, 1), (0, 2), (2, 3)))
    assert not torch.equal(count_features(task.batch([different]), task.num_types)[0], counts[0])


def test_many_types_do_not_make_many_more_features() -> None:
    labels = [f"t{number}" for number in range(100)]
    task = GenericTask.infer("own", [Dag(tuple(labels), tuple((place, place + 1) for place in range(99)))])
    width = count_features(task.batch([]), task.num_types).shape[1]
    assert width == 9 * task.num_types + 2 * MAX_KINDS**2


def test_unknown_targets_cost_nothing_and_known_ones_their_squared_error() -> None:
    head = TargetHead(("score",), 4)
    values = torch.tensor([[1.0], [3.0], [math.nan]])
    head.fit(values)
    assert head.center.tolist() == [2.0]
    latents = torch.randn(3, 4)
    losses = head(latents, values)
    expected = 0.5 * (head.map(latents)[:2, 0] - torch.tensor([-1.0, 1.0])).square()
    torch.testing.assert_close(losses[:2], expected)
    assert losses[2] == 0
    torch.testing.assert_close(head.predict(latents), head.map(latents) + 2)


def test_a_head_leaves_the_other_weights_and_losses_as_they_are() -> None:
    plain = build("dvae", TASK, hidden=16, latent=44, seed=3)
    headed = build("dvae", TASK, hidden=16, latent=44, seed=3, head="linear", targets=("score",))
    assert headed.feature_head is not None
    headed.feature_head.fit(batch())
    noise = torch.randn(len(DAGS), 44)
    before, after = plain(batch(), noise), headed(batch(), noise)
    assert before.heads is None
    assert torch.equal(before.nll, after.nll)
    assert torch.equal(before.kl, after.kl)
    assert after.heads is not None
    after.heads.sum().backward()
    assert headed.mean.weight.grad is not None
    assert headed.mean.weight.grad.abs().sum() > 0
    own = {id(parameter) for parameter in headed.encoder.parameters()}  # type: ignore[attr-defined]
    rest = [each for each in headed.decoder.parameters() if id(each) not in own]  # type: ignore[attr-defined]
    assert all(parameter.grad is None for parameter in rest)


@pytest.mark.parametrize("name", ["dvae", "svae", "pace", "dagnn", "gcn"])
@pytest.mark.parametrize("kind", KINDS)
def test_heads_learn_with_every_encoder_and_come_back_from_disk(name: str, kind: str, tmp_path: object) -> None:
    vae = build(name, TASK, hidden=16, latent=44, seed=0, head=kind, targets=("score",))
    scores = TASK.scores(DAGS)
    result = fit(
        vae, DagSet.of(DAGS, [*scores[:-1], None]), epochs=6, batch_size=8, learning_rate=1e-2, device="cpu",
        progress=False,
    )  # fmt: skip
    assert result.history[-1]["heads"] < result.history[0]["heads"]
    vae.save(str(tmp_path))
    again = load(str(tmp_path))
    noise = torch.zeros(len(DAGS), 44)
    targets = torch.tensor(scores)[:, None]
    part = vae.prepare(batch())
    first, second = vae(part, noise, targets).heads, again(part, noise, targets).heads
    assert first is not None
    assert second is not None
    assert torch.equal(first, second)


def test_targets_need_scores() -> None:
    vae = build("dvae", TASK, hidden=8, latent=4, targets=("score",))
    with pytest.raises(ConfigError, match="give a DagSet"):
        fit(vae, DAGS, epochs=1, device="cpu", progress=False)
    with pytest.raises(ConfigError, match="no training DAG has a score"):
        fit(vae, DagSet.of(DAGS), epochs=1, device="cpu", progress=False)


def test_weights_go_with_their_heads() -> None:
    with pytest.raises(ConfigError, match="head_weight goes with a head"):
        build("dvae", TASK, head_weight=0.3)
    with pytest.raises(ConfigError, match="head_weight must be positive"):
        build("dvae", TASK, head="linear", head_weight=0.0)
