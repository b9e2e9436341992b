"""Regression from features of DAGs: linear models, random forests, sparse Gaussian processes."""

from collections.abc import Callable

from torch import Tensor

Report = Callable[[float], None]  # told how much of a fit is done, 0 to 1
# Training inputs and targets, test inputs, a seed, whom to tell: predictions for the test inputs.
Regressor = Callable[[Tensor, Tensor, Tensor, int, Report], Tensor]
