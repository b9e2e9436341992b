"""What is known of a run, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dvae.evaluation import Evaluation, Predictivity


@dataclass(frozen=True)
class TrainingSummary:
    """How far a run was trained; what its folder does not tell (yet) is None."""

    epochs: int
    ended: str | None = None  # None: it still goes on, or was killed
    seconds: float | None = None
    graphs_per_second: float | None = None
    device: str | None = None
    date: str | None = None  # ISO 8601
    loss: float | None = None  # of the last epoch

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class StudySummary:
    """A study of a run: what was searched for, and the best that was found.

    `best` is the best score; of a study with objectives, the hypervolume of its front (None without BoTorch).
    """

    name: str
    strategy: str
    score: str  # in words
    higher_is_better: bool
    evaluations: int
    failed: int
    best: float | None
    objectives: Mapping[str, object] | None = None  # where it has several

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class RunSummary:
    """A run's settings, by their full names, and its numbers, as far as they were measured."""

    name: str  # its folder, as it was given
    settings: Mapping[str, object]
    training: TrainingSummary | None = None
    evaluation: Evaluation | None = None
    predictivity: Predictivity | None = None
    studies: tuple[StudySummary, ...] = ()

    @property
    def task(self) -> str:
        """The name of its task."""
        return str(self.settings["task"])

    @property
    def model(self) -> str:
        """The name of its model."""
        return str(self.settings["model.name"])

    @property
    def is_stale(self) -> bool:
        """Whether it was trained on after its evaluation."""
        if self.training is None or self.training.date is None or self.evaluation is None:
            return False
        return str(self.evaluation.provenance.get("date", "")) < self.training.date

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "task": self.task,
            "model": self.model,
            "settings": dict(self.settings),
            "training": None if self.training is None else self.training.to_mapping(),
            "evaluation": None if self.evaluation is None else self.evaluation.to_mapping(),
            "predictivity": None if self.predictivity is None else self.predictivity.to_mapping(),
            "studies": [study.to_mapping() for study in self.studies],
        }


@dataclass(frozen=True)
class Unreadable:
    """A run that cannot be read, and why."""

    name: str
    error: str
