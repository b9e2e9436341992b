"""Regressors on features of graphs, all trained and tested on the same scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import DagSet, Dataset
from dvae.errors import TaskError
from dvae.evaluation.common import next_seed
from dvae.progress import progress_bar
from dvae.regression import Regressor
from dvae.regression.metrics import pearson, rmse, standardised
from dvae.tasks import Task


class Contender(NamedTuple):
    """A regressor and the features that it sees."""

    regressor: str
    features: str
    inputs: Tensor  # train+test feature
    predict: Regressor


class ScoredParts(NamedTuple):
    """The graphs of a data set that have a score, and who gave it."""

    name: str
    train: DagSet
    test: DagSet
    source: Literal["data", "task"]


def measure(
    contenders: Sequence[Contender],
    scores: Tensor,
    train_size: int,
    used: int,
    repeats: int,
    seed: int,
    progress: bool | None,
) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    """RMSE and Pearson's r of every contender, one number per repeat; all are trained on the same graphs.

    `scores` are those of `train_size` training graphs, of which each repeat draws `used`, and of the test graphs.
    """
    generator = torch.Generator().manual_seed(seed)
    errors: list[list[tuple[float, float]]] = [[] for _ in contenders]  # RMSE and r of each repeat
    with progress_bar("predictivity", repeats * len(contenders), None, progress) as bar:
        for repeat in range(repeats):
            repeat_seed = next_seed(generator)
            order = torch.randperm(train_size, generator=torch.Generator().manual_seed(repeat_seed))
            chosen = order[:used].sort().values.to(scores.device)
            targets, truth = _standardised(scores[chosen], scores[train_size:])
            for place, (regressor, features, inputs, predict) in enumerate(contenders):
                before = repeat * len(contenders) + place

                def report(share: float, before: int = before) -> None:
                    bar.update(before + share - bar.done)

                predictions = predict(inputs[chosen], targets.to(inputs), inputs[train_size:], repeat_seed, report)
                predictions = predictions.to(truth)
                errors[place].append((rmse(predictions, truth), pearson(predictions, truth)))
                bar.update(before + 1 - bar.done, last=f"{regressor} on {features}", rmse=errors[place][-1][0])
    return [(tuple(rmse for rmse, _ in pairs), tuple(r for _, r in pairs)) for pairs in errors]


def _standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """As in the paper, appendix "SGP Training Details"."""
    varies = bool(train.std(correction=0) > 0)
    check(varies, f"all {len(train):,} training scores are {float(train.mean()):g}: nothing can be predicted")
    return standardised(train, test)


def scored_parts(task: Task, data: Dataset) -> ScoredParts:
    """The graphs of `data` that have a score, or all of them with the task's scores where none has."""
    if all(score is None for score in data.everything.scores):
        try:
            scores = task.scores(data.everything.dags)
        except TaskError as error:
            raise TaskError(f"{data.name}: no graph has a score to predict, and {error}") from None
        data = replace(data, everything=DagSet.of(data.everything.dags, scores))
        scored = ScoredParts(data.name, data.train, data.test, "task")
    else:
        scored = ScoredParts(data.name, data.train.with_scores_only(), data.test.with_scores_only(), "data")
    check(
        len(scored.train) >= 2 and len(scored.test) >= 2,
        f"{data.name}: {len(scored.train)} training and {len(scored.test)} test graphs have a score; "
        "predicting needs at least 2 of each",
    )
    return scored
