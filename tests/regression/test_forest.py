"""The random forest: one for all its users, the same for the same seed."""

from __future__ import annotations

import pytest
import torch

from dvae.regression.forest import Forest, regressor
from dvae.regression.metrics import pearson, rmse

INPUTS = torch.rand(200, 6, generator=torch.Generator().manual_seed(0))
TARGETS = INPUTS[:, 0].double() * 3 + INPUTS[:, 1]


def test_it_learns_and_a_seed_makes_it_repeatable() -> None:
    forest = Forest.fit(INPUTS[:150], TARGETS[:150])
    predicted = forest.predict(INPUTS[150:])
    assert predicted.dtype == torch.float64
    assert pearson(predicted, TARGETS[150:]) > 0.95
    assert rmse(predicted, TARGETS[150:]) < 0.3
    assert torch.equal(predicted, Forest.fit(INPUTS[:150], TARGETS[:150]).predict(INPUTS[150:]))
    assert not torch.equal(predicted, Forest.fit(INPUTS[:150], TARGETS[:150], seed=1).predict(INPUTS[150:]))


def test_as_a_regressor_it_takes_any_seed_and_keeps_the_targets_precision() -> None:
    predict = regressor()
    predicted = predict(INPUTS[:150], TARGETS[:150].float(), INPUTS[150:], 2**40 + 1, lambda share: None)
    assert predicted.dtype == torch.float32
    assert torch.equal(predicted, Forest.fit(INPUTS[:150], TARGETS[:150].float(), seed=1).predict(INPUTS[150:]).float())


def test_rmse_by_hand() -> None:
    assert rmse(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0])) == pytest.approx(2**0.5)
