"""Boosted trees, plain features of DAGs with columns, and calibrated intervals."""

from __future__ import annotations

import pytest
import torch

from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.regression.boosting import BoostedTrees
from dvae.regression.column_features import ColumnFeatures, named_features
from dvae.regression.conformal import Calibration

DAG = Dag(
    ("in", "a", "b", "a", "out"),
    ((0, 1), (0, 2), (1, 3), (3, 4), (2, 4)),
    node={"size": (None, 2.0, 5, 3.0, None), "kind": (None, "x", "y", "x", None)},
    edge={"length": (1, 2, 3, 4, 5), "wire": ("thin", "thin", "thick", "thin", "thin")},
)


def generated(count: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A step, an interaction, and a feature that means nothing."""
    features = torch.rand(count, 4, generator=torch.Generator().manual_seed(seed))
    return features, (features[:, 0] > 0.5) * 2.0 + (features[:, 1] > 0.3) * (features[:, 2] > 0.6) * 3.0


def test_steps_and_interactions_are_learnt_and_repeat() -> None:
    features, targets = generated(800)
    fresh, truth = generated(200, seed=1)
    shares: list[float] = []
    trees = BoostedTrees.fit(features, targets, trees=80, depth=3, rate=0.2, report=shares.append)
    assert float((trees.predict(fresh) - truth).square().mean().sqrt()) < 0.35 * float(truth.std())
    assert shares[-1] == 1.0
    again = BoostedTrees.fit(features, targets, trees=80, depth=3, rate=0.2)
    assert torch.equal(trees.predict(fresh), again.predict(fresh))
    other = BoostedTrees.fit(features, targets, trees=80, depth=3, rate=0.2, seed=1)
    assert not torch.equal(trees.predict(fresh), other.predict(fresh))


def test_one_tree_is_the_means_of_its_leaves() -> None:
    features = torch.tensor([[0.0], [0.0], [1.0], [1.0]]).repeat(50, 1)
    targets = torch.tensor([1.0, 3.0, 7.0, 9.0]).repeat(50)
    tree = BoostedTrees.fit(features, targets, trees=1, depth=1, rate=1.0, penalty=0.0)
    assert tree.threshold.tolist() == [[0.5]]
    low, high = tree.predict(torch.tensor([[0.0], [1.0]])).tolist()
    assert low == pytest.approx(2.0, abs=0.4)
    assert high == pytest.approx(8.0, abs=0.4)


def test_features_that_never_change_leave_the_mean() -> None:
    trees = BoostedTrees.fit(torch.ones(5, 2), torch.arange(5.0))
    assert trees.predict(torch.zeros(2, 2)).tolist() == [2.0, 2.0]


def test_features_say_what_is_where_and_how_large() -> None:
    found = named_features(DAG)
    assert found["a"] == 2
    assert (found["a size sum"], found["a size min"], found["a size max"]) == (5, 2, 3)
    assert found["a kind=x size sum"] == 5
    assert found["kind=y"] == 1
    assert found["a at 2 size sum"] == 3
    assert found["b between 1 and 1"] == 1
    assert found["a between 1 and 2 size max"] == 2
    assert found["a -> a"] == 1
    assert found["edge wire=thin"] == 4
    assert found["edge length sum"] == 15


def test_features_are_those_of_the_dags_they_were_taken_from() -> None:
    features = ColumnFeatures.of([DAG, DAG.plain(), Dag(("in", "z", "out"), ((0, 1), (1, 2)))])
    assert "z" not in features.names  # one DAG alone has it
    rows = features([DAG, Dag(("q",))])
    assert rows.shape == (2, len(features.names))
    assert rows[0, features.names.index("a")] == 2
    assert rows[1, features.names.index("nodes")] == 1
    assert rows[1, features.names.index("a")] == 0


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_hold_as_often_as_they_say_and_are_wide_where_errors_are(level: float) -> None:
    generator = torch.Generator().manual_seed(0)
    predictions = torch.rand(4000, generator=generator, dtype=torch.float64)
    noise = torch.randn(4000, generator=generator, dtype=torch.float64)
    truth = predictions + noise * (0.1 + predictions)
    calibration = Calibration.of(predictions[:2000], truth[:2000])
    half = calibration.half_widths(predictions[2000:], level)
    within = ((truth - predictions)[2000:].abs() <= half).double().mean()
    assert float(within) == pytest.approx(level, abs=0.03)
    assert half[predictions[2000:] > 0.9].min() > 3 * half[predictions[2000:] < 0.1].max()


def test_a_level_lies_between_0_and_1() -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        Calibration.of(torch.zeros(3), torch.ones(3)).half_widths(torch.zeros(1), 1.0)
