"""What comes out of the prior: valid, distinct, new graphs? (paper, section 4.1 and appendix F.1)"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag, DagBatch
from dvae.evaluation.common import MIN_LATENTS, as_batch, block_size, blocks, evaluation_mode, next_seed
from dvae.evaluation.intervals import Estimate, clustered_proportion
from dvae.models import VAE
from dvae.progress import progress_bar
from dvae.tasks import Task

PRIOR_LATENTS = 1000  # paper, section 4.1
PRIOR_DECODINGS = 10  # paper, section 4.1
KEY_BATCH = 16_384

Statistics = Literal["stored", "computed"]


@dataclass(frozen=True)
class PriorSamples:
    """Shares of graphs decoded from the prior; intervals are over latents.

    Uniqueness and novelty are of the valid graphs, and None where none is valid. Uniqueness has no interval:
    it falls as more graphs are drawn, so it belongs to `latents` and `decodings` and says nothing of others.
    """

    validity: Estimate
    uniqueness: Estimate | None
    novelty: Estimate | None
    latents: int
    decodings: int  # of each latent
    valid: int
    distinct: int  # of the valid ones
    novel: int  # of the valid ones, repeats counted
    statistics: Statistics  # the model's own mean and deviation of the training latents, or computed here
    rules: bool = False  # whether decisions kept to the task's rules; not in older files

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        shares = {"validity": self.validity, "uniqueness": self.uniqueness, "novelty": self.novelty}
        counts = ("latents", "decodings", "valid", "distinct", "novel", "statistics", "rules")
        return {
            **{name: None if share is None else share.to_mapping() for name, share in shares.items()},
            **{name: getattr(self, name) for name in counts},
        }


@dataclass(frozen=True)
class TrainingSpace:
    """What samples are compared with: where the training graphs lie in the latent space, and which they are."""

    mean: Tensor
    deviation: Tensor
    statistics: Statistics
    known: frozenset[Hashable]

    @classmethod
    def of(cls, vae: VAE, train: Sequence[Dag] | DagBatch, *, recompute: bool = False) -> TrainingSpace:
        """That of a model and its training graphs; the model's stored statistics, if it has any, unless `recompute`."""
        batch = as_batch(vae, train)
        check(len(batch) >= 1, "novelty needs the training graphs, and there is none")
        with evaluation_mode(vae):
            statistics: Statistics = "computed" if recompute or not calibrated(vae) else "stored"
            mean, deviation = vae.latent_mean, vae.latent_std
            if statistics == "computed":
                mean, deviation = _latent_statistics(vae, batch)
        return cls(mean, deviation, statistics, frozenset(_distinct_keys(vae.task, batch)))


def prior_samples(
    vae: VAE,
    train: Sequence[Dag] | DagBatch | TrainingSpace,
    *,
    latents: int = PRIOR_LATENTS,
    decodings: int = PRIOR_DECODINGS,
    seed: int = 0,
    rules: bool = False,
    recompute: bool = False,
    seconds: float | None = None,
    progress: bool | None = None,
) -> PriorSamples:
    """Decodes z * std(Z_train) + mean(Z_train), `decodings` times each; with `rules`, within the task's rules.

    Z_train are the posterior means of the training set. The model's stored statistics are used where it has
    them, unless `recompute`; where it has none they are computed from `train`, and the model stays as it is.
    With `seconds`, as many latents are decoded as fit in that time, but at least `MIN_LATENTS`.
    """
    check(latents >= 1 and decodings >= 1, "latents and decodings must be at least 1")
    space = train if isinstance(train, TrainingSpace) else TrainingSpace.of(vae, train, recompute=recompute)
    mean, deviation, known = space.mean, space.deviation, space.known
    generator = torch.Generator().manual_seed(seed)
    counts: list[tuple[int, int]] = []  # of each latent: valid graphs, novel ones
    seen: set[Hashable] = set()
    with evaluation_mode(vae), progress_bar("prior samples", latents, "latents", progress) as bar:
        noise = torch.randn(latents, len(mean), generator=generator, dtype=mean.dtype)  # as VAE.prior draws it
        points = noise.to(vae.device) * deviation + mean  # latents latent
        for chosen in blocks(latents, block_size(vae, decodings), seconds, MIN_LATENTS):
            part = points[chosen]
            decoded = vae.decode_batch(part, copies=decodings, seed=next_seed(generator), valid=rules)
            valid = vae.task.valid(decoded)
            keys = vae.task.keys(decoded.select(valid.nonzero().squeeze(1)))
            novel = torch.zeros(len(decoded), dtype=torch.bool)
            novel[valid.cpu()] = torch.tensor([key not in known for key in keys], dtype=torch.bool)
            seen.update(keys)
            per_latent = torch.stack([valid.cpu().view(-1, decodings).sum(1), novel.view(-1, decodings).sum(1)], 1)
            counts += [(valid_count, novel_count) for valid_count, novel_count in per_latent.tolist()]
            bar.update(len(part))
    return _summary(counts, len(seen), decodings, space.statistics, rules)


def _summary(
    counts: Sequence[tuple[int, int]], distinct: int, decodings: int, statistics: Statistics, rules: bool
) -> PriorSamples:
    """The shares, from the valid and the novel graphs of each latent."""
    valid = sum(valid_count for valid_count, _ in counts)
    uniqueness = novelty = None
    if valid:
        producing = [(valid_count, novel_count) for valid_count, novel_count in counts if valid_count]
        uniqueness = Estimate(distinct / valid, None, None, len(producing))
        novelty = clustered_proportion(
            [novel_count / valid_count for valid_count, novel_count in producing],
            sizes=[valid_count for valid_count, _ in producing],
        )
    return PriorSamples(
        validity=clustered_proportion([valid_count / decodings for valid_count, _ in counts]),
        uniqueness=uniqueness,
        novelty=novelty,
        latents=len(counts),
        decodings=decodings,
        valid=valid,
        distinct=distinct,
        novel=sum(novel_count for _, novel_count in counts),
        statistics=statistics,
        rules=rules,
    )


def calibrated(vae: VAE) -> bool:
    """Whether the model knows where its training data lie; a fresh one holds exactly N(0, I)."""
    return not (bool((vae.latent_mean == 0).all()) and bool((vae.latent_std == 1).all()))


def _latent_statistics(vae: VAE, batch: DagBatch) -> tuple[Tensor, Tensor]:
    means = vae.encode(batch).mean
    check(len(means) >= 2, "the deviation of the training latents needs at least 2 training graphs")
    return means.mean(0), means.std(0)


def _distinct_keys(task: Task, batch: DagBatch) -> set[Hashable]:
    keys: set[Hashable] = set()
    for part in batch.split(KEY_BATCH):
        keys.update(task.keys(part))
    return keys
