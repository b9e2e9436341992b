"""The results of a reproduction that are there, by what its tables and figures ask for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeVar

from dvae.evaluation import Evaluation, Predictivity
from dvae.paper.measurements import Evaluate, Fit, Predict
from dvae.paper.plan import OUTSIDE_TABLE_1, trainings
from dvae.paper.presets import Experiment, Preset
from dvae.paper.searches import Landmarks, LandmarkScores, SearchResult, search_stages
from dvae.paper.stage import Stage
from dvae.paper.stage_store import StageStore
from dvae.paper.training import ModelRecipe, Train, TrainingResult

Space = Literal["enas", "bn"]
SPACES: tuple[Space, ...] = ("enas", "bn")
SPACE_TITLES = {"enas": "neural architectures", "bn": "Bayesian networks"}

T = TypeVar("T")


class Results:
    """What is there of a preset."""

    def __init__(self, store: StageStore, preset: Preset) -> None:
        self.store, self.preset = store, preset

    def experiment(self, space: Space) -> Experiment:
        """The experiment of a space."""
        return self.preset.enas if space == "enas" else self.preset.bn

    def recipes(self, space: Space) -> list[ModelRecipe]:
        """The rows of Tables 1 and 2."""
        return [recipe for recipe in self.experiment(space).recipes if recipe.name not in OUTSIDE_TABLE_1]

    def train(self, space: Space, model: str) -> Train:
        """The training whose space is searched and drawn: that of seed 0."""
        experiment = self.experiment(space)
        return Train(experiment.source, experiment.recipe(model), 0)

    def evaluations(self, space: Space, recipe: ModelRecipe) -> list[Evaluation]:
        """One per seed that was measured."""
        experiment = self.experiment(space)
        return self._found(Evaluate(train, experiment.evaluation) for train in self._trainings(space, recipe))

    def predictions(self, space: Space, recipe: ModelRecipe, fit: Fit) -> list[Predictivity]:
        """One per seed that was measured."""
        size = self.experiment(space).prediction
        return self._found(Predict(train, fit, size) for train in self._trainings(space, recipe))

    def trainings(self, space: Space) -> list[tuple[Train, TrainingResult]]:
        """All trainings that are finished."""
        stages = [train for recipe in self.experiment(space).recipes for train in self._trainings(space, recipe)]
        return [(train, result) for train in stages if (result := self.store.result(train)) is not None]

    def searches(self, space: Space, model: str, strategy: str) -> list[SearchResult]:
        """One per trial that was made."""
        experiment = self.experiment(space)
        train = self.train(space, model)
        return self._found(search_stages(train, experiment.scored_by, experiment.search, [strategy]))

    def landmarks(self, space: Space) -> LandmarkScores | None:
        """Scores to compare searches with."""
        return self.store.result(Landmarks(self.experiment(space).source))

    def _trainings(self, space: Space, recipe: ModelRecipe) -> list[Train]:
        return list(trainings(self.preset, self.experiment(space), recipe))

    def _found(self, stages: Iterable[Stage[T]]) -> list[T]:
        return [result for stage in stages if (result := self.store.result(stage)) is not None]
