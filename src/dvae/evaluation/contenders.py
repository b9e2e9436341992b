"""Regressors on features of graphs, all trained and tested on the same scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import DagSet, Dataset
from dvae.errors import TaskError
from dvae.evaluation.common import next_seed
from dvae.progress import progress_bar
from dvae.regression import Draw, Regressor, Report, Together
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
    draws, truths = zip(*_draws(scores, train_size, used, repeats, seed), strict=True)
    found = []
    with progress_bar("predictivity", repeats * len(contenders), None, progress) as bar:
        for place, contender in enumerate(contenders):

            def report(done: float, before: int = place * repeats) -> None:
                bar.update(max(0.0, before + done - bar.done))

            errors: list[tuple[float, float]] = []
            for truth, predictions in zip(truths, _predictions(contender, draws, train_size, report), strict=True):
                predicted = predictions.to(truth)
                errors.append((rmse(predicted, truth), pearson(predicted, truth)))
                report(len(errors))
                bar.update(0, last=f"{contender.regressor} on {contender.features}", rmse=errors[-1][0])
            found.append((tuple(error for error, _ in errors), tuple(r for _, r in errors)))
    return found


def _draws(scores: Tensor, train_size: int, used: int, repeats: int, seed: int) -> Iterator[tuple[Draw, Tensor]]:
    """What each repeat is trained on, and what it should predict."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(repeats):
        repeat_seed = next_seed(generator)
        order = torch.randperm(train_size, generator=torch.Generator().manual_seed(repeat_seed))
        chosen = order[:used].sort().values.to(scores.device)
        targets, truth = _standardised(scores[chosen], scores[train_size:])
        yield Draw(repeat_seed, chosen, targets), truth


def _predictions(contender: Contender, draws: Sequence[Draw], train_size: int, report: Report) -> Iterator[Tensor]:
    """Of every repeat: all at a time where the regressor can, one after the other otherwise; `report` is told how many
    are done."""
    inputs, predict = contender.inputs, contender.predict
    draws = [draw._replace(targets=draw.targets.to(inputs)) for draw in draws]
    test = inputs[train_size:]
    if isinstance(predict, Together):
        together = predict.together(inputs, draws, test, lambda share: report(share * len(draws)))
        if together is not None:
            yield from together
            return
    for number, draw in enumerate(draws):

        def tell(share: float, before: int = number) -> None:
            report(before + share)

        yield predict(inputs[draw.rows], draw.targets, test, draw.seed, tell)


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
