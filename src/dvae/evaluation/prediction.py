"""Properties of DAGs, predicted with an interval.

For each property several regressors are fitted: a linear model of graph states, unless these are very wide, and boosted
trees on plain features, with and without latents. The best on DAGs that none was fitted on is fitted again with these;
other DAGs calibrate its intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import torch
from torch import Tensor

from dvae.dag import Dag, DagSet, Dataset
from dvae.errors import CheckpointError, ConfigError
from dvae.evaluation.common import evaluation_mode
from dvae.models import VAE
from dvae.progress import progress_bar
from dvae.regression import Report
from dvae.regression.boosting import BoostedTrees
from dvae.regression.column_features import ColumnFeatures
from dvae.regression.conformal import Calibration
from dvae.regression.linear import LinearModel
from dvae.regression.metrics import pearson, rmse

Candidate = Literal[
    "linear on graph states", "boosted trees on plain features", "boosted trees on plain features and latents"
]
CANDIDATES: tuple[Candidate, ...] = get_args(Candidate)
SCORE = "score"
LEVEL = 0.9
TREES = 300
TRIAL_TREES = 60  # while regressors are compared
HELD_BACK = 0.1  # of the training DAGs, where there is no validation part
MIN_KNOWN = 40  # DAGs with a known value
MIN_HELD_BACK = 20
MAX_STATES = 2048  # numbers of a graph's state; a linear model of more would take minutes


class Prediction(NamedTuple):
    """A predicted number, and the interval that holds the truth with the probability asked for."""

    value: float
    low: float
    high: float


class Inputs(NamedTuple):
    """What regressors see of DAGs, one row each."""

    states: Tensor
    latents: Tensor
    plain: Tensor

    @classmethod
    def of(cls, vae: VAE, features: ColumnFeatures, dags: Sequence[Dag]) -> Inputs:
        """The graph states, the latent means and the plain features of `dags`."""
        batch = vae.task.batch(dags)
        with evaluation_mode(vae), torch.no_grad():
            states = vae.graph_states(batch)
            latents = vae.posterior_of(states).mean
        return cls(states.double().cpu(), latents.float().cpu(), features(dags))

    def at(self, rows: Tensor) -> Inputs:
        """Some of the rows."""
        return Inputs(*(part[rows] for part in self))

    def seen_by(self, candidate: Candidate) -> Tensor:
        """What a regressor sees."""
        if candidate == "linear on graph states":
            return self.states
        return self.plain if not candidate.endswith("latents") else torch.cat([self.plain, self.latents], 1)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The regressors that can be fitted to these in a sensible time."""
        return CANDIDATES if self.states.shape[1] <= MAX_STATES else CANDIDATES[1:]


@dataclass(frozen=True)
class PropertyModel:
    """A fitted regressor of one property and its calibration; `r` and `rmse` are those on the calibration DAGs.

    `rmse` is in standard deviations of the training DAGs, from which `center` and `scale` come.
    """

    candidate: Candidate
    regressor: LinearModel | BoostedTrees
    calibration: Calibration
    center: float
    scale: float
    r: float
    rmse: float

    def predict(self, seen: Tensor, level: float) -> list[Prediction]:
        """A prediction for each row of what the regressor sees."""
        standard = self.regressor.predict(seen)
        half = self.calibration.half_widths(standard, level) * self.scale
        values = standard * self.scale + self.center
        rows = zip(values.tolist(), (values - half).tolist(), (values + half).tolist(), strict=True)
        return [Prediction(*row) for row in rows]


@dataclass(frozen=True)
class Predictor:
    """Regressors of properties by name, for DAGs of one model's task."""

    features: ColumnFeatures
    models: Mapping[str, PropertyModel]

    def predict(self, vae: VAE, dags: Sequence[Dag], *, level: float = LEVEL) -> list[dict[str, Prediction]]:
        """Every property of each DAG with an interval that holds the truth with probability `level`."""
        if not dags:
            return []
        inputs = Inputs.of(vae, self.features, dags)
        columns = {}
        for name, model in self.models.items():
            seen = inputs.seen_by(model.candidate)
            if not model.regressor.fits(seen.shape[1]):
                raise CheckpointError(
                    f"the predictor of {name} that was kept does not fit its model; fit it again (dvae predict --refit)"
                )
            columns[name] = model.predict(seen, level)
        return [{name: column[row] for name, column in columns.items()} for row in range(len(dags))]

    def values(self, vae: VAE, dags: Sequence[Dag]) -> list[dict[str, float]]:
        """The predicted numbers alone."""
        return [{name: one.value for name, one in row.items()} for row in self.predict(vae, dags)]


def predictable(data: DagSet) -> tuple[str, ...]:
    """The properties that enough DAGs have and that differ, and the score, unless it is one of them."""
    known = {name: values[values.isfinite()] for name, values in _numbers(data).items()}
    found = [name for name, values in known.items() if len(values) >= MIN_KNOWN and bool(values.ne(values[0]).any())]
    scores = _numbers(data).get(SCORE)
    same = scores is not None and any(
        torch.equal(scores.nan_to_num(), values.nan_to_num()) for values in data.properties.values()
    )
    return tuple(name for name in found if name != SCORE or not same)


def fit_predictor(
    vae: VAE,
    data: Dataset,
    names: Sequence[str] | None = None,
    *,
    seed: int = 0,
    trees: int = TREES,
    progress: bool | None = None,
) -> Predictor:
    """Fits a regressor for each of `names`, properties or `score`; None: for all that can be predicted.

    The validation part chooses and calibrates, or, where it is too small, a tenth of the training part. The test part
    is not looked at.
    """
    names = names if names is not None else predictable(data.train)
    if not names:
        raise ConfigError(
            f"{data.name}: nothing can be predicted: at least {MIN_KNOWN} training DAGs must have a property, or a "
            "score, that differs between them"
        )
    dags = [*data.train.dags, *data.validation.dags]
    known = {name: values[: len(dags)] for name, values in _numbers(data.everything).items()}
    for name in names:
        _check_known(name, known, data)
    features = ColumnFeatures.of(data.train.dags)
    with progress_bar("predictor", len(names) + 1, None, progress) as bar:
        inputs = Inputs.of(vae, features, dags)
        bar.update(1)
        models = {}
        for place, name in enumerate(names, start=1):

            def report(share: float, place: int = place, name: str = name) -> None:
                bar.update(place + share - bar.done, property=name)

            models[name] = _fitted(inputs, known[name], len(data.train), seed, trees, report)
    return Predictor(features, models)


def _fitted(
    inputs: Inputs, values: Tensor, train_size: int, seed: int, trees: int, report: Report
) -> PropertyModel:  # fmt: skip
    """The regressor that does best on DAGs it was not fitted on, and its errors on others."""
    train, choosing, calibrating = _parts(values, train_size, seed)
    center, scale = float(values[train].mean()), float(values[train].std(correction=0)) or 1.0
    truth = (values - center) / scale
    trial = max(1, min(TRIAL_TREES, trees))
    steps = [*([trial] * (len(CANDIDATES) - 1)), trees]
    errors: dict[Candidate, float] = {}
    for candidate in inputs.candidates:
        done = trial * sum(each != CANDIDATES[0] for each in errors) / sum(steps)

        def tell(share: float, done: float = done) -> None:
            report(done + share * trial / sum(steps))

        regressor = _fit(candidate, inputs.at(train), truth[train], seed, trial, tell)
        errors[candidate] = rmse(regressor.predict(inputs.at(choosing).seen_by(candidate)), truth[choosing])
    best = min(errors, key=lambda candidate: errors[candidate])
    rows = torch.cat([train, choosing])
    chosen = _fit(
        best, inputs.at(rows), truth[rows], seed, trees, lambda share: report(1 - (1 - share) * trees / sum(steps))
    )
    predicted = chosen.predict(inputs.at(calibrating).seen_by(best))
    left = truth[calibrating]
    report(1.0)
    return PropertyModel(
        best, chosen, Calibration.of(predicted, left), center, scale, pearson(predicted, left), rmse(predicted, left)
    )


def _fit(
    candidate: Candidate, inputs: Inputs, truth: Tensor, seed: int, trees: int, report: Report
) -> LinearModel | BoostedTrees:
    seen = inputs.seen_by(candidate)
    if candidate == "linear on graph states":
        return LinearModel.fit(seen, truth)
    return BoostedTrees.fit(seen, truth, trees=trees, seed=seed, report=report)


def _parts(values: Tensor, train_size: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows to fit on, to choose by and to calibrate with."""
    known = values.isfinite().nonzero()[:, 0]
    train, validation = known[known < train_size], known[known >= train_size]
    if len(validation) < MIN_HELD_BACK:
        order = train[torch.randperm(len(train), generator=torch.Generator().manual_seed(seed))]
        count = min(max(MIN_HELD_BACK, round(HELD_BACK * len(train))), len(train) // 2)
        train, validation = order[count:].sort().values, order[:count]
    return train, validation[::2], validation[1::2]


def _check_known(name: str, known: Mapping[str, Tensor], data: Dataset) -> None:
    if name not in known:
        names = ", ".join(known) or "none"
        raise ConfigError(f"{data.name}: no DAG has a property {name!r} (there are {names})")
    count = int(known[name][: len(data.train)].isfinite().sum())
    if count < MIN_KNOWN:
        raise ConfigError(f"{data.name}: {count} training DAGs have a {name}; predicting it needs at least {MIN_KNOWN}")


def _numbers(data: DagSet) -> dict[str, Tensor]:
    """The properties and, where any DAG has one, the score; NaN where a DAG has none."""
    found = dict(data.properties)
    if SCORE not in found and any(score is not None for score in data.scores):
        values = [math.nan if score is None else score for score in data.scores]
        found[SCORE] = torch.tensor(values, dtype=torch.float64)
    return found
