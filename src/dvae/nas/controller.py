"""The controller of ENAS: an LSTM that writes architectures, trained by REINFORCE (Pham et al., ICML 2018).

For every layer it draws an operation from a softmax, then one bit for every skip input from an attention over the
states (anchors) of the layers before.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dvae.config import check
from dvae.dag.original import ENAS_OPERATIONS
from dvae.nas.architecture import Architecture


@dataclass(frozen=True)
class ControllerConfig:
    """The original's settings."""

    hidden: int = 64
    learning_rate: float = 0.001
    entropy_weight: float = 1e-4
    tanh_constant: float = 1.5  # logits are this times a tanh ...
    operation_tanh_reduction: float = 2.5  # ... those of operations divided by this
    skip_target: float = 0.4  # share of skip inputs that is not penalised
    skip_weight: float = 0.8
    baseline_decay: float = 0.99
    architectures: int = 20  # a step
    steps: int = 50  # an epoch

    def __post_init__(self) -> None:
        check(self.hidden >= 1 and self.architectures >= 1 and self.steps >= 1, "sizes and counts must be positive")
        check(0 < self.skip_target < 1, f"skip_target must lie between 0 and 1: {self.skip_target}")
        check(0 <= self.baseline_decay < 1, f"baseline_decay must lie in [0, 1): {self.baseline_decay}")


@dataclass(frozen=True)
class Drawn:
    """Architectures and, for each, what the loss needs."""

    architectures: list[Architecture]
    log_probability: Tensor  # batch
    entropy: Tensor  # batch
    skip_penalty: Tensor  # batch


class Controller(nn.Module):
    def __init__(self, depth: int, config: ControllerConfig, seed: int = 0) -> None:
        super().__init__()
        self.depth, self.config = depth, config
        hidden = config.hidden
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.cell = nn.LSTMCell(hidden, hidden)
            self.first = nn.Parameter(torch.empty(1, hidden))
            self.operation_embedding = nn.Embedding(len(ENAS_OPERATIONS), hidden)
            self.operation_scores = nn.Linear(hidden, len(ENAS_OPERATIONS), bias=False)
            self.anchor = nn.Linear(hidden, hidden, bias=False)
            self.query = nn.Linear(hidden, hidden, bias=False)
            self.attention = nn.Linear(hidden, 1, bias=False)
            for parameter in self.parameters():
                nn.init.uniform_(parameter, -0.1, 0.1)
        self.register_buffer("baseline", torch.zeros(()))
        self.baseline: Tensor

    def draw(self, count: int, generator: torch.Generator) -> Drawn:
        """`count` architectures at once."""
        config, device = self.config, self.first.device
        state = (torch.zeros(count, config.hidden, device=device), torch.zeros(count, config.hidden, device=device))
        step_input = self.first.expand(count, -1)
        log_probability = entropy = penalty = torch.zeros(count, device=device)
        operations: list[Tensor] = []
        skips: list[Tensor] = []
        anchors: list[Tensor] = []
        keys: list[Tensor] = []
        for layer in range(self.depth):
            state = self.cell(step_input, state)
            constant = config.tanh_constant / config.operation_tanh_reduction
            log_softmax = F.log_softmax(constant * torch.tanh(self.operation_scores(state[0])), 1)
            operation = torch.multinomial(log_softmax.exp(), 1, generator=generator)[:, 0]
            log_probability = log_probability + log_softmax.gather(1, operation[:, None])[:, 0]
            entropy = entropy - (log_softmax.exp() * log_softmax).sum(1)
            operations.append(operation)
            state = self.cell(self.operation_embedding(operation), state)
            if layer:
                joint = torch.tanh(torch.stack(keys, 1) + self.query(state[0])[:, None])  # batch vertex hidden
                score = config.tanh_constant * torch.tanh(self.attention(joint)[:, :, 0])  # batch vertex
                chance = torch.sigmoid(2 * score)  # the softmax of (-score, score)
                bits = (torch.rand(chance.shape, generator=generator, device=device) < chance).to(chance.dtype)
                likelihood = -F.binary_cross_entropy(chance, bits, reduction="none")
                log_probability = log_probability + likelihood.sum(1)
                entropy = entropy + _binary_entropy(chance).sum(1)
                penalty = penalty + _divergence(chance, config.skip_target).sum(1)
                joined = (bits[:, :, None] * torch.stack(anchors, 1)).sum(1)
                step_input = joined / (1 + bits.sum(1, keepdim=True))
                skips.append(bits.bool())
            else:
                step_input = self.first.expand(count, -1)
            anchors.append(state[0])
            keys.append(self.anchor(state[0]))
        return Drawn(_architectures(operations, skips, count), log_probability, entropy, penalty)

    def loss(self, drawn: Drawn, rewards: Tensor) -> Tensor:
        """REINFORCE with a moving baseline, which this call moves."""
        config = self.config
        rewards = rewards + config.entropy_weight * drawn.entropy.detach()
        self.baseline.lerp_(rewards.mean(), 1 - config.baseline_decay)
        gain = -drawn.log_probability * (rewards - self.baseline)
        return (gain + config.skip_weight * drawn.skip_penalty).mean()


def _architectures(operations: list[Tensor], skips: list[Tensor], count: int) -> list[Architecture]:
    codes = torch.stack(operations, 1).tolist()
    bits = [part.tolist() for part in skips]
    made = []
    for row in range(count):
        joined = [()] + [tuple(vertex for vertex, on in enumerate(part[row]) if on) for part in bits]
        made.append(Architecture(tuple(ENAS_OPERATIONS[code] for code in codes[row]), tuple(joined)))
    return made


def _binary_entropy(chance: Tensor) -> Tensor:
    return -(chance * chance.clamp(min=1e-12).log() + (1 - chance) * (1 - chance).clamp(min=1e-12).log())


def _divergence(chance: Tensor, target: float) -> Tensor:
    """Of Bernoulli(chance) from Bernoulli(target)."""
    off = 1 - chance
    return chance * (chance / target).clamp(min=1e-12).log() + off * (off / (1 - target)).clamp(min=1e-12).log()
