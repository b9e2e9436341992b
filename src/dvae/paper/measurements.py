"""The stages behind Tables 1, 2 and 3, and the smoothness beside the pictures."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeVar

from dvae.evaluation import (
    Evaluation,
    Predictivity,
    Smoothness,
    evaluate,
    one_hot_predictivity,
    predictivity,
    smoothness,
)
from dvae.paper.sources import Source
from dvae.paper.stage import Result, Stage
from dvae.paper.stage_store import StageStore
from dvae.paper.training import Train
from dvae.training.loop import tf32_products

Fit = Literal["paper", "converged"]
FIT_TITLES: dict[Fit, str] = {"paper": "the paper's 100 epochs", "converged": "until converged"}
T = TypeVar("T")


@dataclass(frozen=True)
class EvaluationSize:
    """How much of Table 1's protocol is done; None is all test graphs."""

    test_limit: int | None = None
    encodings: int = 10
    decodings: int = 10
    prior_latents: int = 1000
    prior_decodings: int = 10


@dataclass(frozen=True)
class PredictionSize:
    """How much of Table 2's protocol is done; None trains on all graphs, or on 5,000 Bayesian networks."""

    repeats: int = 10
    train_limit: int | None = None
    inducing: int = 500


@dataclass(frozen=True)
class WalkSize:
    """The walks that smoothness is measured on."""

    starts: int = 500
    steps: int = 10
    step: float = 0.02  # typical distances


@dataclass(frozen=True)
class OfModel(Stage[T]):
    """A stage that measures a trained model."""

    train: Train
    what: ClassVar[str]

    @property
    def title(self) -> str:
        return f"{self.train.recipe.title} on {self.train.source.label}, seed {self.train.seed}: {self.what}"

    @property
    def slug(self) -> str:
        return self.train.slug

    @property
    def seed_of_model(self) -> int:
        return self.train.seed

    def needs(self) -> tuple[Stage[Any], ...]:
        return (self.train,)


@dataclass(frozen=True)
class Evaluate(OfModel[Evaluation]):
    """Measures Table 1 for a trained model."""

    kind: ClassVar[str] = "evaluate"
    what: ClassVar[str] = "reconstruction and prior"
    size: EvaluationSize = EvaluationSize()
    seed: int = 0

    def run(self, store: StageStore) -> Result:
        size = self.size
        data, vae = store.data(self.train.source), store.model(self.train)
        with tf32_products(self.train.recipe.training.allows_tf32(vae.device)):  # as in training
            measured = evaluate(
                vae,
                data,
                test_limit=len(data.test) if size.test_limit is None else size.test_limit,
                encodings=size.encodings,
                decodings=size.decodings,
                prior_latents=size.prior_latents,
                prior_decodings=size.prior_decodings,
                recompute=True,  # the kept statistics went through half precision
                seed=self.seed,
                progress=store.progress,
            )
        return measured.to_mapping()

    def read(self, result: Result, where: str) -> Evaluation:
        return Evaluation.from_mapping(result, where)


@dataclass(frozen=True)
class Predict(OfModel[Predictivity]):
    """Measures Table 2 for a trained model."""

    kind: ClassVar[str] = "predict"
    what: ClassVar[str] = "scores from latents"
    fit: Fit = "converged"
    size: PredictionSize = PredictionSize()
    seed: int = 0

    @property
    def title(self) -> str:
        return f"{super().title}, sparse GP trained {FIT_TITLES[self.fit]}"

    @property
    def slug(self) -> str:
        return f"{self.train.slug}-{self.fit}"

    def run(self, store: StageStore) -> Result:
        size = self.size
        measured = predictivity(
            store.model(self.train),
            store.data(self.train.source),
            preset=self.fit,
            repeats=size.repeats,
            train_limit=size.train_limit,
            inducing=size.inducing,
            seed=self.seed,
            progress=store.progress,
            baselines=False,
        )
        return measured.to_mapping()

    def read(self, result: Result, where: str) -> Predictivity:
        return Predictivity.from_mapping(result, where)


@dataclass(frozen=True)
class Baselines(Stage[Predictivity]):
    """What needs no model: the same regressor, and a random forest, on plain one-hot features."""

    kind: ClassVar[str] = "baselines"
    source: Source
    fit: Fit = "converged"
    size: PredictionSize = PredictionSize()
    seed: int = 0

    @property
    def title(self) -> str:
        return f"{self.source.label}: scores from one-hot features, sparse GP trained {FIT_TITLES[self.fit]}"

    @property
    def slug(self) -> str:
        return f"{self.source.task}-{self.fit}"

    def run(self, store: StageStore) -> Result:
        size = self.size
        measured = one_hot_predictivity(
            store.task(self.source),
            store.data(self.source),
            preset=self.fit,
            repeats=size.repeats,
            train_limit=size.train_limit,
            inducing=size.inducing,
            seed=self.seed,
            progress=store.progress,
            device=store.device,
        )
        return measured.to_mapping()

    def read(self, result: Result, where: str) -> Predictivity:
        return Predictivity.from_mapping(result, where)


@dataclass(frozen=True)
class Smooth(OfModel[Smoothness]):
    """Measures how far DAGs and scores move with their latents."""

    kind: ClassVar[str] = "smoothness"
    what: ClassVar[str] = "smoothness"
    scored_by: Source
    size: WalkSize = WalkSize()
    seed: int = 0

    def run(self, store: StageStore) -> Result:
        data, oracle = store.data(self.train.source), store.oracle(self.scored_by)
        scores = [score for score in data.train.scores if score is not None]
        measured = smoothness(
            store.model(self.train),
            data.test.dags,
            score=oracle.score,
            deviation=statistics.pstdev(scores),
            starts=self.size.starts,
            steps=self.size.steps,
            step=self.size.step,
            seed=self.seed,
            progress=store.progress,
        )
        return {**measured.to_mapping(), "score_of": oracle.facts}

    def read(self, result: Result, where: str) -> Smoothness:
        return Smoothness.from_mapping(result, where)
