"""Random search: what a model decodes by chance."""

from __future__ import annotations

import torch
from torch import Tensor

from dvae.dag import Dag
from dvae.models import VAE
from dvae.strategies.archive import Archive
from dvae.strategies.base import ATTEMPTS, Drawing, decoded_dags, draw_seed

DRAWS = 256


class RandomSearch(Drawing):
    """Latents from the prior (moved to where the training data lie) or from their range, decoded once each."""

    description = "decodings of the model's prior"
    needs_start = False

    def __init__(self, vae: VAE, archive: Archive, *, seed: int = 0, box: tuple[Tensor, Tensor] | None = None) -> None:
        super().__init__(archive, seed)
        self.vae, self.box = vae, box

    def ask(self, count: int) -> list[Dag]:
        """Valid DAGs decoded from random latents: of the prior, or of a box."""
        found: list[Dag] = []
        for _ in range(ATTEMPTS):
            latents = self._latents(DRAWS)
            decoded = decoded_dags(self.vae, latents, seed=draw_seed(self.generator))
            found += self.archive.take(decoded, count - len(found))
            if len(found) == count:
                break
        return found

    def _latents(self, count: int) -> Tensor:
        if self.box is None:
            return self.vae.prior(count, seed=draw_seed(self.generator))
        low, high = self.box
        return low + (high - low) * torch.rand(count, len(low), generator=self.generator, dtype=low.dtype)
