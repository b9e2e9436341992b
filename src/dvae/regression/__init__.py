"""Regression from features of DAGs: linear models, random forests, sparse Gaussian processes."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from torch import Tensor

Report = Callable[[float], None]  # told how much of a fit is done, 0 to 1
# Training inputs and targets, test inputs, a seed, whom to tell: predictions for the test inputs.
Regressor = Callable[[Tensor, Tensor, Tensor, int, Report], Tensor]


class Draw(NamedTuple):
    """What one of several fits is trained on."""

    seed: int
    rows: Tensor  # of the inputs
    targets: Tensor


@runtime_checkable
class Together(Protocol):
    """A regressor that can make several fits side by side."""

    def together(self, inputs: Tensor, draws: Sequence[Draw], test: Tensor, report: Report) -> Tensor | None:
        """The predictions of every fit; None where that is not faster than one after the other."""  # draw test
