"""Intervals around predictions that hold as often as they say, by split conformal prediction.

Errors on graphs that the regressor has not seen are its calibration. Where there are enough of them, they are grouped
by what was predicted, so that an interval is wide where errors are large (Vovk's Mondrian variant).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from dvae.config import check

GROUP = 80  # errors in a group, at least
MAX_GROUPS = 5


@dataclass(frozen=True)
class Calibration:
    """Sizes of errors, and the predictions between which groups end."""

    edges: Tensor  # group - 1, float64
    group: Tensor  # error, int64
    errors: Tensor  # error, float64, sorted within groups

    @classmethod
    def of(cls, predictions: Tensor, truth: Tensor) -> Calibration:
        """The calibration of a regressor by predictions for graphs it was not fitted on."""
        predictions, truth = predictions.double().cpu(), truth.double().cpu()
        groups = min(MAX_GROUPS, max(1, len(truth) // GROUP))
        edges = torch.quantile(predictions, torch.linspace(0, 1, groups + 1, dtype=torch.float64)[1:-1])
        group = torch.bucketize(predictions, edges)
        errors = (predictions - truth).abs()
        order = errors.argsort()
        return cls(edges, group[order], errors[order])

    def half_widths(self, predictions: Tensor, level: float) -> Tensor:
        """Half the length of the interval at each prediction that holds the truth with probability `level`.

        Where a group has too few errors for the level, its largest error stands in.
        """  # row, float64
        check(0 < level < 1, f"the level of an interval lies between 0 and 1, not {level}")
        widths = []
        for number in range(len(self.edges) + 1):
            errors = self.errors[self.group == number]
            errors = errors if len(errors) else self.errors
            rank = min(math.ceil((len(errors) + 1) * level), len(errors))
            widths.append(errors[rank - 1])
        return torch.stack(widths)[torch.bucketize(predictions.double().cpu(), self.edges)]
