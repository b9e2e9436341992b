"""How far DAGs and their scores move when a latent moves a little: a number beside the pictures of section 4.4.

Models spread their latents over different lengths, so a length is measured in typical distances: 1 is the root of the
mean squared distance of two training latents. A model that changed its DAGs at an even pace all the way would, in one
typical distance, change about as much as two training DAGs differ; what it changes beyond that, it takes back again.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag
from dvae.evaluation.closeness import edit_distance
from dvae.evaluation.common import evaluation_mode, read_value
from dvae.evaluation.intervals import Estimate, clustered_proportion, mean_estimate
from dvae.evaluation.walks import typical_distance
from dvae.models import VAE
from dvae.progress import progress_bar

STARTS, STEPS, STEP = 100, 10, 0.02
PAIRS = 2000  # of training DAGs, whose mean distance is the yardstick
STARTS_AT_ONCE = 64

Score = Callable[[Sequence[Dag]], Sequence[float]]


@dataclass(frozen=True)
class Smoothness:
    """Means over walks; `edits` and `score` are per typical distance, intervals are over walks."""

    model: str
    edits: Estimate  # changed types and edges
    score: Estimate | None  # in deviations of the training scores, over steps between two valid DAGs; None without any
    changed: Estimate  # share of steps at which the DAG changes at all
    valid: Estimate  # share of decoded DAGs that are valid
    pair_edits: float  # mean distance of two training DAGs
    distance: float  # one typical distance, in the latent space's own units
    starts: int
    steps: int
    step: float  # in typical distances
    seed: int

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "smoothness") -> Smoothness:
        """What `to_mapping` wrote."""
        return read_value(cls, mapping, where)

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        estimates = {"edits": self.edits, "score": self.score, "changed": self.changed, "valid": self.valid}
        facts = ("model", "pair_edits", "distance", "starts", "steps", "step", "seed")
        return {
            **{name: None if value is None else value.to_mapping() for name, value in estimates.items()},
            **{name: getattr(self, name) for name in facts},
        }


def smoothness(
    vae: VAE,
    dags: Sequence[Dag],
    *,
    score: Score | None = None,
    deviation: float = 1.0,
    starts: int = STARTS,
    steps: int = STEPS,
    step: float = STEP,
    seed: int = 0,
    progress: bool | None = None,
) -> Smoothness:
    """Walks of `steps` straight steps from the latents of `starts` of `dags`, decoded greedily at every point.

    Directions are drawn as the training latents spread. `score` scores valid DAGs; `deviation` is that of the training
    scores.
    """
    check(starts >= 1 and steps >= 1, "there must be at least one walk of one step")
    check(step > 0, f"a step must be longer than 0, not {step}")
    check(deviation > 0, f"the scores' deviation must be above 0, not {deviation}")
    check(len(dags) >= 2, "smoothness needs at least two DAGs")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(dags), generator=generator)[:starts].tolist()
    chosen = [dags[place] for place in order]
    unit = typical_distance(vae)
    walks: list[_Walk] = []
    with evaluation_mode(vae), progress_bar("smoothness", len(chosen), "walks", progress) as bar:
        for first in range(0, len(chosen), STARTS_AT_ONCE):
            part = chosen[first : first + STARTS_AT_ONCE]
            latents = _walks(vae, part, steps, step * unit, generator)
            batch = vae.decode_batch(latents.flatten(0, 1), greedy=True)
            decoded, valid = vae.task.unbatch(batch), vae.task.valid(batch).tolist()
            scores = _scores(decoded, valid, score)
            for place in range(len(part)):
                here = slice(place * (steps + 1), (place + 1) * (steps + 1))
                walks.append(_walk(decoded[here], valid[here], scores[here]))
            bar.update(len(part))
    moved = [walk.score / deviation / step for walk in walks if walk.score is not None]
    return Smoothness(
        model=vae.config.name,
        edits=mean_estimate([walk.edits / step for walk in walks]),
        score=mean_estimate(moved) if moved else None,
        changed=clustered_proportion([walk.changed for walk in walks]),
        valid=clustered_proportion([walk.valid for walk in walks]),
        pair_edits=_pair_edits(dags, generator),
        distance=unit,
        starts=len(chosen),
        steps=steps,
        step=step,
        seed=seed,
    )


@dataclass(frozen=True)
class _Walk:
    """Means over the steps of one walk; the score's only over steps between valid DAGs."""

    edits: float
    score: float | None
    changed: float
    valid: float


def _walk(dags: Sequence[Dag], valid: Sequence[bool], scores: Sequence[float | None]) -> _Walk:
    edits = [edit_distance(a, b) for a, b in pairwise(dags)]
    moves = [abs(a - b) for a, b in pairwise(scores) if a is not None and b is not None]
    return _Walk(
        statistics.fmean(edits),
        statistics.fmean(moves) if moves else None,
        statistics.fmean(edit > 0 for edit in edits),
        statistics.fmean(valid),
    )


def _walks(vae: VAE, dags: Sequence[Dag], steps: int, length: float, generator: torch.Generator) -> Tensor:
    """Latents along a straight line from each DAG's own, the start first."""  # walk step latent
    starts = vae.encode(dags).mean.double().cpu()
    noise = torch.randn(starts.shape, generator=generator, dtype=torch.float64)
    directions = noise * vae.latent_std.double().cpu().clamp(min=1e-12)
    directions = directions / directions.norm(dim=1, keepdim=True)
    along = torch.arange(steps + 1, dtype=torch.float64) * length
    latents: Tensor = starts[:, None] + along[None, :, None] * directions[:, None]
    return latents


def _scores(dags: Sequence[Dag], valid: Sequence[bool], score: Score | None) -> list[float | None]:
    if score is None:
        return [None] * len(dags)
    found = iter(score([dag for dag, good in zip(dags, valid, strict=True) if good]))
    return [next(found) if good else None for good in valid]


def _pair_edits(dags: Sequence[Dag], generator: torch.Generator) -> float:
    first = torch.randint(len(dags), (PAIRS,), generator=generator)
    other = (first + torch.randint(1, len(dags), (PAIRS,), generator=generator)) % len(dags)
    pairs = zip(first.tolist(), other.tolist(), strict=True)
    return statistics.fmean(edit_distance(dags[a], dags[b]) for a, b in pairs)
