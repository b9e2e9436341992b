"""The Pareto front of a study: what nothing else is better than in every objective, and the volume it covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from dvae.strategies.objectives import Objectives
from dvae.studies.ledger import Trial
from dvae.studies.study import Study
from dvae.studies.values import VALUES, objectives_of, values_of


@dataclass(frozen=True)
class Front:
    """The trials on the front, the first objective falling; `hypervolume` is None where BoTorch is missing.

    The hypervolume is that between the front and the worst of the ranges, as a multiple of the box of the ranges;
    it is above 1 where the front leaves them.
    """

    objectives: Objectives
    trials: tuple[Trial, ...]
    feasible: int
    complete: int
    hypervolume: float | None

    def rows(self) -> list[Mapping[str, float]]:
        """The values of the trials on the front."""
        return [values_of(trial) for trial in self.trials]


def front_of(study: Study) -> Front | None:
    """The front of a study with objectives; None for a study of one score."""
    objectives = objectives_of(study.description)
    if objectives is None:
        return None
    trials = [trial for trial in study.trials if trial.state == "complete" and VALUES in trial.attributes]
    values = [values_of(trial) for trial in trials]
    places = objectives.front(values)
    feasible = sum(map(objectives.feasible, values))
    volume = hypervolume([objectives.gains(values[place]) for place in places])
    return Front(objectives, tuple(trials[place] for place in places), feasible, len(trials), volume)


def hypervolume(gains: Sequence[Sequence[float]]) -> float | None:
    """The volume above 0 that rows of gains dominate, by BoTorch; None where it is not installed."""
    if not gains:
        return 0.0
    if len(gains[0]) == 1:
        return max(0.0, *(row[0] for row in gains))
    try:
        from botorch.utils.multi_objective.hypervolume import Hypervolume
    except ImportError:
        return None
    points = torch.tensor(gains, dtype=torch.float64)
    return float(Hypervolume(torch.zeros(points.shape[1], dtype=torch.float64)).compute(points))
