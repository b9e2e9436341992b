"""Ascent on a predictor: a small network learns scores from latents, and latents climb what it has learned.

The network is trained afterwards, on the latents of scored DAGs; the model of the DAGs stays as it is. Each round
trains it anew, climbs from the best latents with some noise, decodes all along the way, encodes what came out, and
proposes those unknown DAGs that the network likes best where they really are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.errors import DvaeError
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import Drawing, decoded_dags, draw_seed


@dataclass(frozen=True)
class GradientConfig:
    """Lengths are in standard deviations of the training latents."""

    hidden: int = 128
    epochs: int = 40
    batch_size: int = 256
    learning_rate: float = 3e-3
    weight_decay: float = 1e-4
    starts: int = 40
    noise: float = 0.3
    steps: int = 20
    step: float = 0.1
    decode_every: int = 4

    def __post_init__(self) -> None:
        counts = (self.hidden, self.epochs, self.batch_size, self.starts, self.steps, self.decode_every)
        check(all(count >= 1 for count in counts), "counts must be positive")
        check(self.step > 0 and self.noise >= 0, "steps must be positive, and noise not negative")


class GradientAscent(Drawing):
    """Ascent on a network that is trained anew in each round."""

    description = "ascent on a network that predicts scores from latents"
    needs_start = True

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, config: GradientConfig | None = None) -> None:
        super().__init__(archive, seed)
        self.vae, self.config = vae, config or GradientConfig()
        self.latents = torch.empty(0, vae.config.latent)

    def tell(self, evaluations: Iterable[ScoredDag]) -> None:
        new = self.archive.add(evaluations)
        if new:
            self.latents = torch.cat([self.latents, self._encoded([evaluation.dag for evaluation in new])])

    def ask(self, count: int) -> list[Dag]:
        """Valid DAGs decoded on the way up the predicted score."""
        if len(self.archive) < 2:
            raise DvaeError("a gradient needs at least two scored DAGs to start from: tell it some first")
        predictor = self._predictor()
        found: list[Dag] = []
        for widening in (1.0, 2.0, 4.0):
            for latents in self._climb(predictor, widening):
                found += decoded_dags(self.vae, latents, greedy=True)
                found += decoded_dags(self.vae, latents, seed=draw_seed(self.generator))
            found = self.archive.unknown(found)
            if len(found) >= 2 * count:
                break
        if not found:
            return []
        with torch.no_grad():
            liked = predictor(self._standardised(self._encoded(found))).squeeze(1)
        return self.archive.take([found[place] for place in liked.argsort(descending=True).tolist()], count)

    def _predictor(self) -> nn.Module:
        """Trained on all that is known, the same for the same generator."""
        config = self.config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw_seed(self.generator))
            predictor = nn.Sequential(
                nn.Linear(self.latents.shape[1], config.hidden),
                nn.SiLU(),
                nn.Linear(config.hidden, config.hidden),
                nn.SiLU(),
                nn.Linear(config.hidden, 1),
            )
        inputs, targets = self._standardised(self.latents), self._targets()
        optimizer = torch.optim.AdamW(predictor.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
        for _ in range(config.epochs):
            for chosen in torch.randperm(len(inputs), generator=self.generator).split(config.batch_size):
                optimizer.zero_grad(set_to_none=True)
                (predictor(inputs[chosen]).squeeze(1) - targets[chosen]).square().mean().backward()
                optimizer.step()
        return predictor.requires_grad_(False)

    def _climb(self, predictor: nn.Module, widening: float) -> list[Tensor]:
        """Latents along the way up from the best DAGs."""
        config = self.config
        scores = torch.tensor(self.archive.scores, dtype=torch.float64)
        best = scores.topk(min(config.starts, len(scores))).indices
        points = self._standardised(self.latents[best])
        points = points + widening * config.noise * torch.randn(points.shape, generator=self.generator)
        kept = []
        for number in range(config.steps):
            points.requires_grad_(True)
            (slope,) = torch.autograd.grad(predictor(points).sum(), points)
            length = slope.norm(dim=1, keepdim=True).clamp(min=1e-12)
            points = (points + widening * config.step * slope / length).detach()
            if (number + 1) % config.decode_every == 0:
                kept.append(points * self._deviation() + self._mean())
        return kept

    def _targets(self) -> Tensor:
        """Ranks, as normal scores: outliers far below the best say little about where to climb."""
        scores = torch.tensor(self.archive.scores, dtype=torch.float64)
        ranks = scores.argsort().argsort().double()
        targets: Tensor = torch.special.ndtri((ranks + 0.5) / len(scores))
        return targets.to(self.latents.dtype)

    def _standardised(self, latents: Tensor) -> Tensor:
        return (latents - self._mean()) / self._deviation()

    def _mean(self) -> Tensor:
        return self.vae.latent_mean.cpu()

    def _deviation(self) -> Tensor:
        return self.vae.latent_std.cpu()

    def _encoded(self, dags: list[Dag]) -> Tensor:
        return self.vae.encode(dags).mean.cpu()
