"""Regression from features of DAGs: linear models, random forests, sparse Gaussian processes."""

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor

Report = Callable[[float], None]  # told how much of a fit is done, 0 to 1
# Training inputs and targets, test inputs, a seed, whom to tell: predictions for the test inputs.
Regressor = Callable[[Tensor, Tensor, Tensor, int, Report], Tensor]


@runtime_checkable
class Together(Protocol):
    """A regressor that can make several fits side by side, each with its own data and seed."""

    def together(
        self,
        inputs: Tensor,
        chosen: Sequence[Tensor],
        targets: Sequence[Tensor],
        test: Tensor,
        seeds: Sequence[int],
        report: Report,
    ) -> Tensor | None:
        """The predictions of fits to the `chosen` rows of `inputs`, one row for each; None where that is not faster."""
