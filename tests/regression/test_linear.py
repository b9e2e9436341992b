"""Ridge regression: exact where the truth is linear, and honest about points it has not seen."""

from __future__ import annotations

import torch

from dvae.regression.linear import LinearModel


def features(count: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_a_linear_truth_is_found() -> None:
    inputs, weight = features(80, 20), features(20, 1, seed=1)[:, 0]
    model = LinearModel.fit(inputs[:60], 3 + inputs[:60] @ weight)
    torch.testing.assert_close(model.predict(inputs[60:]), 3 + inputs[60:] @ weight)


def test_left_out_is_what_a_model_without_the_point_says() -> None:
    inputs = features(30, 6)
    targets = inputs[:, 0].sin() + inputs[:, 1]
    model = LinearModel.fit(inputs, targets)
    for place in (0, 7):
        others = [other for other in range(30) if other != place]
        alone = LinearModel.fit(inputs[others], targets[others])
        assert abs(float(alone.predict(inputs[place : place + 1])) - float(model.left_out[place])) < 0.05


def test_noise_is_not_learned() -> None:
    inputs, noise = features(40, 60), features(40, 1, seed=2)[:, 0]
    model = LinearModel.fit(inputs, noise)
    assert float((model.left_out - noise).square().mean()) < 1.3 * float(noise.var())
