"""Bayesian optimisation in a trust region of the latent space, over DAGs that really decode.

Each round: a Gaussian process on the latents of scored DAGs; candidates by moving the best latents a little, decoding
them, leaving out what is known, and encoding what came out, so that a candidate's latent is that of its own DAG; one
sample of the process over the candidates, whose best are proposed (Thompson sampling). The region widens after
improvements and narrows without them (Eriksson et al., TuRBO, NeurIPS 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag
from dvae.errors import DvaeError, MissingError
from dvae.models import VAE
from dvae.search.archive import Archive, Evaluation
from dvae.search.strategies import draw_seed, generator_state, restore_generator, valid_dags


@dataclass(frozen=True)
class TrustRegionConfig:
    """Lengths are in standard deviations of the training latents."""

    centres: int = 8  # the best DAGs, around which candidates are drawn
    candidates: int = 600  # latents moved and decoded a round
    first_length: float = 0.8
    shortest: float = 0.1
    longest: float = 2.0
    patience: int = 3  # rounds without an improvement before the region narrows
    points: int = 800  # scored DAGs the process learns from: the best half, the rest at random
    fit_every: int = 5  # rounds between fits of the process's own settings

    def __post_init__(self) -> None:
        check(0 < self.shortest <= self.first_length <= self.longest, "lengths must be in order and positive")
        check(self.centres >= 1 and self.candidates >= 1 and self.points >= 2, "counts must be positive")


class TrustRegion:
    """The default strategy."""

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, config: TrustRegionConfig | None = None) -> None:
        try:
            import botorch  # noqa: F401
        except ImportError:
            raise MissingError("this strategy needs BoTorch: pip install 'dvae[search]'") from None
        self.vae, self.archive, self.config = vae, archive, config or TrustRegionConfig()
        self.generator = torch.Generator().manual_seed(seed)
        self.length = self.config.first_length
        self.stale = 0
        self.rounds = 0
        self.latents = torch.empty(0, vae.config.latent, dtype=torch.float64)
        self.settings: dict[str, Any] | None = None  # of the process, from the last fit

    def tell(self, evaluations: Iterable[Evaluation]) -> None:
        before = self.archive.best()
        new = self.archive.add(evaluations)
        if not new:
            return
        self.latents = torch.cat([self.latents, self._encoded([evaluation.dag for evaluation in new])])
        after = self.archive.best()
        if before is None or after is None or before.score is None or after.score is None:
            return
        if after.score > before.score:
            self.stale, self.length = 0, min(1.5 * self.length, self.config.longest)
        else:
            self.stale += 1
            if self.stale >= self.config.patience:
                self.stale, self.length = 0, self.length / 1.5
                if self.length < self.config.shortest:
                    self.length = self.config.longest

    def state(self) -> dict[str, Any]:
        settings = None
        if self.settings is not None:
            settings = {key: (list(value.shape), value.flatten().tolist()) for key, value in self.settings.items()}
        return {
            "generator": generator_state(self.generator),
            "length": self.length,
            "stale": self.stale,
            "rounds": self.rounds,
            "settings": settings,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        restore_generator(self.generator, state["generator"])
        self.length, self.stale, self.rounds = state["length"], state["stale"], state["rounds"]
        self.settings = None
        if state["settings"] is not None:
            self.settings = {
                key: torch.tensor(values, dtype=torch.float64).reshape(shape)
                for key, (shape, values) in state["settings"].items()
            }

    def ask(self, count: int) -> list[Dag]:
        if len(self.archive) < 2:
            raise DvaeError("a trust region needs at least two scored DAGs to start from: tell it some first")
        dags = self._candidates(count)
        if not dags:
            return []
        values = self._sampled_values(self._encoded(dags))
        order = values.argsort(descending=True).tolist()
        return self.archive.take([dags[place] for place in order], count)

    def _candidates(self, count: int) -> list[Dag]:
        """Distinct, valid, unknown DAGs around the best ones; wider where a narrow region holds too few."""
        length, found = self.length, []
        for _ in range(6):
            moved = self._moved(length)
            found += valid_dags(self.vae, self.vae.decode_batch(moved, greedy=True))
            found += valid_dags(self.vae, self.vae.decode_batch(moved, seed=draw_seed(self.generator)))
            found = self.archive.unknown(found)
            if len(found) >= 4 * count:
                break
            length *= 1.5
        return found

    def _moved(self, length: float) -> Tensor:
        """The best latents plus steps of many sizes, along all or along few dimensions."""  # candidate latent
        scores = torch.tensor(self.archive.scores, dtype=torch.float64)
        best = scores.topk(min(self.config.centres, len(scores))).indices
        weights = torch.softmax(-0.5 * torch.arange(len(best), dtype=torch.float64), 0)
        chosen = torch.multinomial(weights, self.config.candidates, replacement=True, generator=self.generator)
        centres = self.latents[best[chosen]]
        shape = centres.shape
        noise = torch.randn(shape, generator=self.generator, dtype=torch.float64)
        share = torch.rand(shape[0], 1, generator=self.generator, dtype=torch.float64)
        mask = torch.rand(shape, generator=self.generator, dtype=torch.float64) < share.clamp(min=0.1)
        size = length * torch.rand(shape[0], 1, generator=self.generator, dtype=torch.float64).clamp(min=0.1)
        deviation = self.vae.latent_std.double().cpu()
        return centres + size * noise * mask * deviation / share.clamp(min=0.1).sqrt()

    def _sampled_values(self, candidates: Tensor) -> Tensor:
        """One sample of the process at the candidates."""
        from botorch.models import SingleTaskGP

        points, targets = self._learning_set()
        low, high = points.min(0).values, points.max(0).values
        scale = (high - low).clamp(min=1e-9)
        model = SingleTaskGP((points - low) / scale, targets[:, None], outcome_transform=None)
        if self.settings is not None:
            model.load_state_dict(self.settings)
        if self.settings is None or self.rounds % self.config.fit_every == 0:
            self._fit(model)
        self.rounds += 1
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(draw_seed(self.generator))
            sample: Tensor = model.posterior((candidates - low) / scale).rsample()[0, :, 0]
        return sample

    def _fit(self, model: Any) -> None:
        from botorch.fit import fit_gpytorch_mll
        from gpytorch.mlls import ExactMarginalLogLikelihood

        likelihood = ExactMarginalLogLikelihood(model.likelihood, model)
        fit_gpytorch_mll(likelihood, optimizer_kwargs={"options": {"maxiter": 60}})
        kept = ("likelihood", "mean_module", "covar_module")
        self.settings = {key: value.clone() for key, value in model.state_dict().items() if key.startswith(kept)}

    def _learning_set(self) -> tuple[Tensor, Tensor]:
        """Latents and targets. What matters is how far a DAG is from the best: gaps are taken by their logarithm."""
        scores = torch.tensor(self.archive.scores, dtype=torch.float64)
        best = scores.topk(min(self.config.points // 2, len(scores))).indices
        rest = torch.randperm(len(scores), generator=self.generator)[: self.config.points - len(best)]
        chosen = torch.cat([best, rest]).unique()
        gaps = scores.max() - scores[chosen]
        unit = gaps[gaps > 0].quantile(0.1).clamp(min=1e-12) if (gaps > 0).any() else torch.tensor(1.0)
        targets = -torch.log1p(gaps / unit)
        return self.latents[chosen], (targets - targets.mean()) / targets.std().clamp(min=1e-9)

    def _encoded(self, dags: list[Dag]) -> Tensor:
        return self.vae.encode(dags).mean.double().cpu()
