"""Gradient boosting of oblivious trees: each level of a tree asks one question of all graphs.

Such a tree is a table with a value for each combination of answers, which is small, quick to evaluate and kept as
plain tensors. Features are cut into at most `BINS` bins, and every tree sees a random part of the graphs and features.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.regression import Report

BINS = 32
ROWS_SHARE = 0.7  # of the graphs, for each tree
SEEN_FEATURES = 128  # at most, for each tree


@dataclass(frozen=True)
class BoostedTrees:
    """The sum of `level` and one value from each tree; the questions are whether a feature exceeds a threshold."""

    level: float
    feature: Tensor  # tree depth, int64
    threshold: Tensor  # tree depth, float32
    value: Tensor  # tree leaf, float32

    @classmethod
    def fit(
        cls, features: Tensor, targets: Tensor, *, trees: int = 300, depth: int = 6, rate: float = 0.06,
        penalty: float = 3.0, seed: int = 0, report: Report = lambda share: None,
    ) -> BoostedTrees:  # fmt: skip
        """Fits one row of features per target; the same seed gives the same trees."""
        features, targets = features.float().cpu(), targets.double().cpu()
        level = float(targets.mean())
        cuts = [_cuts(column) for column in features.mT]
        useful = torch.tensor([index for index, cut in enumerate(cuts) if len(cut)], dtype=torch.int64)
        if not len(useful):
            return cls.empty(level, depth)
        columns_of = features.mT.contiguous()
        codes = torch.stack([torch.bucketize(columns_of[index], cuts[index]) for index in useful.tolist()])
        codes = codes.to(torch.uint8)  # feature row
        generator = torch.Generator().manual_seed(seed)
        seen = min(len(useful), SEEN_FEATURES)
        rest = targets - level
        questions, values = [], []
        for tree in range(trees):
            rows = (torch.rand(len(rest), generator=generator) < ROWS_SHARE).nonzero()[:, 0]
            rows = rows if len(rows) else torch.arange(len(rest))
            columns = torch.randperm(len(useful), generator=generator)[:seen]
            asked = _questions(codes[columns][:, rows], rest[rows], depth, penalty)
            asked = [(int(columns[column]), cut) for column, cut in asked]
            leaf = _leaves(codes, asked)
            total = torch.bincount(leaf[rows], rest[rows], 1 << depth)
            count = torch.bincount(leaf[rows], minlength=1 << depth)
            value = rate * total / (count + penalty)
            rest = rest - value[leaf]
            questions.append(asked)
            values.append(value)
            report((tree + 1) / trees)
        feature = torch.tensor([[int(useful[column]) for column, _ in asked] for asked in questions])
        threshold = torch.tensor(
            [[float(cuts[int(useful[column])][cut]) for column, cut in asked] for asked in questions]
        )
        return cls(level, feature, threshold, torch.stack(values).float())

    @classmethod
    def empty(cls, level: float, depth: int) -> BoostedTrees:
        """No tree: the same prediction for all."""
        return cls(level, torch.zeros(0, depth, dtype=torch.int64), torch.zeros(0, depth), torch.zeros(0, 1 << depth))

    def fits(self, width: int) -> bool:
        """Whether rows of `width` features have all that the trees ask about."""
        trees, depth = self.feature.shape if self.feature.dim() == 2 else (-1, 0)
        whole = self.threshold.shape == (trees, depth) and self.value.shape == (trees, 1 << depth)
        return whole and (trees == 0 or (int(self.feature.min()) >= 0 and int(self.feature.max()) < width))

    def predict(self, features: Tensor) -> Tensor:
        """One number per row of features."""  # row, float64
        features = features.float().cpu()
        found = torch.full((len(features),), self.level, dtype=torch.float64)
        for feature, threshold, value in zip(self.feature, self.threshold, self.value, strict=True):
            leaf = torch.zeros(len(features), dtype=torch.int64)
            for above in (features[:, feature] > threshold).unbind(1):
                leaf = 2 * leaf + above
            found += value[leaf]
        return found


def _cuts(column: Tensor) -> Tensor:
    """Where a feature is cut: between its values or, of many, at quantiles; nowhere if it is always the same."""
    values: Tensor = column.unique()
    if len(values) <= BINS:
        return (values[:-1] + values[1:]) / 2
    quantiles = torch.linspace(0, 1, BINS + 1)[1:-1]
    cuts: Tensor = column.sort().values[(quantiles * (len(column) - 1)).long()].unique()
    return cuts[cuts < values[-1]]


def _questions(codes: Tensor, rest: Tensor, depth: int, penalty: float) -> list[tuple[int, int]]:
    """For each level the column and the cut that leave the smallest squared error."""
    width = len(codes)
    offset = torch.arange(width)[:, None] * BINS + codes  # column row
    leaf = torch.zeros(codes.shape[1], dtype=torch.int64)
    weights = rest.repeat(width)
    found = []
    for level in range(depth):
        leaves = 1 << level
        place = (leaf * (width * BINS) + offset).flatten()
        total = torch.bincount(place, weights, leaves * width * BINS).view(leaves, width, BINS).cumsum(2)
        count = torch.bincount(place, minlength=leaves * width * BINS).view(leaves, width, BINS).cumsum(2)
        above, others = total[..., -1:] - total, count[..., -1:] - count
        gain = (total.square() / (count + penalty) + above.square() / (others + penalty)).sum(0)
        gain[:, -1] = -1.0  # nothing is above the last bin
        gain = torch.where((others > 0).any(0), gain, -1.0)
        column, cut = divmod(int(gain.argmax()), BINS)
        found.append((column, cut))
        leaf = 2 * leaf + (codes[column] > cut)
    return found


def _leaves(codes: Tensor, asked: list[tuple[int, int]]) -> Tensor:
    leaf = torch.zeros(codes.shape[1], dtype=torch.int64)
    for column, cut in asked:
        leaf = 2 * leaf + (codes[column] > cut)
    return leaf
