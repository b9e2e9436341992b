from __future__ import annotations

import torch

from dvae.nas.architecture import Architecture
from dvae.nas.controller import Controller, ControllerConfig
from dvae.tasks import EnasTask


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_what_it_draws_is_valid_and_repeatable() -> None:
    controller = Controller(5, ControllerConfig())
    drawn = controller.draw(30, chance())
    assert all(EnasTask(5).is_valid(architecture.dag()) for architecture in drawn.architectures)
    assert drawn.architectures == controller.draw(30, chance()).architectures
    assert len(set(drawn.architectures)) > 20
    assert (drawn.log_probability < 0).all()
    assert (drawn.entropy > 0).all()


def test_an_untrained_controller_has_almost_full_entropy() -> None:
    drawn = Controller(3, ControllerConfig()).draw(4, chance())
    most = 3 * torch.tensor(6.0).log() + 3 * torch.tensor(2.0).log()
    torch.testing.assert_close(drawn.entropy, most.expand(4), rtol=0.01, atol=0)


def test_reinforce_finds_what_is_rewarded() -> None:
    controller = Controller(3, ControllerConfig(learning_rate=0.02, baseline_decay=0.9))
    optimizer = torch.optim.Adam(controller.parameters(), lr=0.02)
    generator = chance()

    def reward(architecture: Architecture) -> float:
        return architecture.operations.count("sep5") / 3

    def mean_reward() -> float:
        drawn = controller.draw(200, chance(1)).architectures
        return sum(map(reward, drawn)) / len(drawn)

    before = mean_reward()
    for _ in range(60):
        drawn = controller.draw(20, generator)
        loss = controller.loss(drawn, torch.tensor([reward(one) for one in drawn.architectures]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert before < 0.25
    assert mean_reward() > before + 0.08  # the tanh keeps every operation's chance below a quarter or so


def test_the_skip_penalty_is_least_at_its_target() -> None:
    from dvae.nas.controller import _divergence

    chances = torch.tensor([0.1, 0.4, 0.7])
    penalties = _divergence(chances, 0.4)
    assert penalties.argmin() == 1
    assert abs(float(penalties[1])) < 1e-6
