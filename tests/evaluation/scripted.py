"""A model whose every answer is known: latents are looked up, decodings come from a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from dvae.dag import Dag, DagBatch
from dvae.models import Posterior
from dvae.tasks import Task
from dvae.tasks.base import packed_rows

Script = Callable[[Tensor, torch.Generator], Sequence[Dag]]


class ScriptedVae(nn.Module):
    """The mean of a graph is its entry in `means`; `script` decodes latents, repeated copies times."""

    def __init__(self, task: Task, dags: Sequence[Dag], means: Tensor, deviation: float, script: Script) -> None:
        super().__init__()
        self.task, self.means, self.deviation, self.script = task, means, deviation, script
        self.device = torch.device("cpu")
        self.place = {row: place for place, row in enumerate(_rows(task.batch(dags)))}
        self.latent_mean, self.latent_std = torch.zeros(means.shape[1]), torch.ones(means.shape[1])
        self.dropout = nn.Dropout()
        self.largest = 0

    def prepare(self, batch: DagBatch) -> DagBatch:
        return batch

    def encode(self, batch: DagBatch) -> Posterior:
        assert not self.dropout.training
        mean = self.means[[self.place[row] for row in _rows(batch)]]
        return Posterior(mean, torch.full_like(mean, self.deviation).log() * 2)

    def decode_batch(
        self, latents: Tensor, *, greedy: bool = False, copies: int = 1, seed: int | None = None, valid: bool = False
    ) -> DagBatch:
        assert not self.dropout.training
        assert seed is not None
        assert not greedy or copies == 1
        self.largest = max(self.largest, len(latents) * copies)
        generator = torch.Generator().manual_seed(seed)
        return self.task.batch(self.script(latents.repeat_interleave(copies, 0), generator))


def _rows(batch: DagBatch) -> list[object]:
    return list(packed_rows(batch.num_nodes[:, None], batch.types, batch.adjacency))
