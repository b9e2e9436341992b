"""Weighted retraining: during a search the model is trained on, better DAGs weighted more (Tripp et al., NeurIPS 2020).

After every so many evaluations the training DAGs and all that was scored are ranked, the best first. A DAG of rank r
among N is drawn with a weight of 1 / (k N + r); the model is trained on as many draws as there are DAGs, for each
epoch, and the strategy begins anew in the space that comes out, told all that is known. What is trained depends on
nothing but the search so far, so that a search which is resumed comes to the same weights: it reads them where they
were kept, and trains again where they were not.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, ScoredDag
from dvae.files import read_json, write_json
from dvae.models import VAE
from dvae.models.storage import WEIGHTS, load_distinct_state, read_tensors
from dvae.studies.identity import fingerprint, model_fingerprint

log = logging.getLogger("dvae")

RECORD = "retraining.json"
SEED_STEP = 1_000_003  # so that no two retrainings of two seeds share one

Train = Callable[[VAE, Sequence[Dag], int], None]
"""Trains a model in place on DAGs, each as often as it is there, with a seed."""


@dataclass(frozen=True)
class Retraining:
    """When and how a search trains its model on. `dags` are those it was trained on; `folder` keeps the weights."""

    every: int  # evaluations
    train: Train
    dags: Sequence[Dag] = ()
    weight: float = 1e-3  # k: the smaller, the more the best count
    epochs: int = 1  # draws of as many DAGs as there are
    folder: Path | None = None

    def __post_init__(self) -> None:
        check(self.every >= 1, f"a model is retrained after 1 or more evaluations, not {self.every}")
        check(0 < self.weight < math.inf, f"the weight of retraining must be positive and finite, not {self.weight}")
        check(self.epochs >= 1, f"a model is retrained for 1 or more epochs, not {self.epochs}")

    def describe(self) -> dict[str, Any]:
        """What a study must be resumed with."""
        return {"every": self.every, "weight": self.weight, "epochs": self.epochs, "dags": fingerprint(self.dags)}

    def is_due(self, before: int, now: int) -> bool:
        """Whether `every` evaluations, or a multiple of them, were reached between two counts."""
        return now // self.every > before // self.every

    def drawn(self, vae: VAE, known: Iterable[ScoredDag], seed: int) -> list[Dag]:
        """The DAGs to train on; `known` are scored, higher is better."""
        scores: dict[Hashable, tuple[Dag, float | None]] = {}
        items = [*(ScoredDag(dag) for dag in self.dags), *known]
        for key, item in zip(vae.task.keys_of([item.dag for item in items]), items, strict=True):
            if item.score is not None or key not in scores:
                scores[key] = (item.dag, item.score)
        dags = [dag for dag, _ in scores.values()]
        weights = rank_weights([score for _, score in scores.values()], self.weight)
        generator = torch.Generator().manual_seed(seed)
        chosen = torch.multinomial(weights, self.epochs * len(dags), replacement=True, generator=generator)
        return [dags[place] for place in chosen.tolist()]


class RetrainedModel:
    """The model of a search, brought from one retraining to the next; `count` evaluations preceded the newest."""

    def __init__(self, vae: VAE, plan: Retraining, seed: int) -> None:
        self.vae, self.plan, self.seed = vae, plan, seed
        self.count, self.history = 0, model_fingerprint(vae)

    def follow(self, count: int, known: Sequence[ScoredDag]) -> bool:
        """Retrains after `count` evaluations if it is time to; whether it was."""
        if not self.plan.is_due(self.count, count):
            return False
        self.count = count
        # Each depends on all before it: weights of another search of the same name are not taken for this one's.
        asked = json.dumps([self.history, self.plan.describe(), self.seed, count, fingerprint(known)])
        self.history = hashlib.sha256(asked.encode()).hexdigest()[:16]
        folder = None if self.plan.folder is None else self.plan.folder / f"trial-{count:06d}"
        if folder is not None and self._is_kept(folder):
            load_distinct_state(self.vae, read_tensors(folder / WEIGHTS), folder / WEIGHTS)
            return True
        log.info("retraining the model after %d evaluations", count)
        seed = self.next_seed()
        self.plan.train(self.vae, self.plan.drawn(self.vae, known, seed), seed)
        if folder is not None:
            self._keep(folder, seed, len(known))
        return True

    def next_seed(self) -> int:
        """The seed of all that begins anew with the newest retraining."""
        return self.seed * SEED_STEP + self.count

    def _is_kept(self, folder: Path) -> bool:
        if not (folder / RECORD).is_file() or not (folder / WEIGHTS).is_file():
            return False
        record = read_json(folder / RECORD)
        return isinstance(record, dict) and record.get("history") == self.history

    def _keep(self, folder: Path, seed: int, known: int) -> None:
        """The record comes last: weights without it are not believed."""
        (folder / RECORD).unlink(missing_ok=True)
        self.vae.save(folder)
        record = {"history": self.history, "evaluations": self.count, "known": known, "seed": seed}
        write_json(folder / RECORD, {**record, **self.plan.describe()})


def rank_weights(scores: Sequence[float | None], weight: float) -> Tensor:
    """1 / (k N + rank) for each of N scores, the best of rank 0; DAGs without a score rank last, all alike."""
    order = sorted(range(len(scores)), key=lambda place: math.inf if scores[place] is None else -(scores[place] or 0.0))
    ranks = torch.empty(len(scores), dtype=torch.float64)
    ranks[torch.tensor(order, dtype=torch.int64)] = torch.arange(len(scores), dtype=torch.float64)
    ranks[torch.tensor([score is None for score in scores], dtype=torch.bool)] = float(max(len(scores) - 1, 0))
    return 1 / (weight * len(scores) + ranks)
