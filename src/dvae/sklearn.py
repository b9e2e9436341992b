"""For scikit-learn: DAGs to vectors and back as a transformer, and a regressor over it.

Both are estimators as any other: they are cloned, searched over, put into pipelines, cross-validated and pickled.
`X` is a sequence of `Dag`s, a list or an array of objects.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy.typing import NDArray

from dvae.config import replace
from dvae.dag import Dag, Dataset
from dvae.devices import available_device
from dvae.errors import ConfigError, DagError
from dvae.extras import missing
from dvae.models import VAE, build, load
from dvae.models.storage import SETTINGS, TASK, WEIGHTS
from dvae.runs import RunConfig, fit
from dvae.runs.auto import auto_settings
from dvae.runs.config import changed_config, run_settings
from dvae.tasks import GenericTask, Task, get

try:
    from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin, clone
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, column_or_1d
except ImportError:
    raise missing("scikit-learn", "search", "dvae.sklearn") from None

__all__ = ["DagEmbedder", "DagRegressor"]

LATENTS, STATES = SPACES = ("latents", "states")
MODEL_FILES = (TASK, SETTINGS, WEIGHTS)
PENALTIES = tuple(float(penalty) for penalty in numpy.logspace(-3, 4, 15))
MAX_SEED = 2**31


class DagEmbedder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A variational autoencoder of DAGs as a transformer: `transform` encodes, `inverse_transform` decodes.

    `task` says what the DAGs are: a name (`"enas6"`), a `Task`, or None, where the DAGs given to `fit` are all there
    is. In cross-validation a fold may hold a type that the others do not have; a task made of all DAGs
    (`dvae.tasks.GenericTask.infer("mine", dags)`) knows it. `model`, `latent`, `hidden` and `epochs` are chosen for the
    data where they are None, and `settings` are more of them (`{"batch_size": 64, "readout": "sum"}`). `minutes` makes
    the best of so much time. `space` is what `transform` gives: the posterior's means ("latents"), or what the encoder
    knows before the bottleneck ("states"), from which scores are predicted better and which cannot be decoded.

    After `fit`: `vae_`, the model with all its methods; `task_`; `n_features_out_`; `losses_`, one for each epoch.
    """

    vae_: VAE
    task_: Task

    def __init__(
        self,
        task: str | Task | None = None,
        *,
        model: str | None = None,
        latent: int | None = None,
        hidden: int | None = None,
        epochs: int | None = None,
        minutes: float | None = None,
        settings: Mapping[str, Any] | None = None,
        space: str = LATENTS,
        device: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.task, self.model, self.latent, self.hidden = task, model, latent, hidden
        self.epochs, self.minutes, self.settings, self.space = epochs, minutes, settings, space
        self.device, self.random_state = device, random_state

    def fit(self, X: Sequence[Dag], y: object = None) -> DagEmbedder:
        """Trains a model on DAGs; `y` is not looked at."""
        dags = _dags(X)
        if self.space not in SPACES:
            raise ConfigError(f"space is {self.space!r}; it must be {' or '.join(map(repr, SPACES))}")
        task = GenericTask.infer("given DAGs", dags) if self.task is None else get(self.task)
        config = self._config(task, dags)
        vae = build(config.model.name, task, config=config.model, seed=config.training.seed)
        result = fit(vae, dags, config=config.training, device=self.device, progress=False)
        self.vae_, self.task_ = vae.eval(), task
        self.losses_ = [record["loss"] for record in result.history]
        self.n_features_out_ = int(self._encoded(dags[:1]).shape[1])
        return self

    def transform(self, X: Sequence[Dag]) -> NDArray[numpy.float64]:
        """One row for each DAG."""  # dag feature
        check_is_fitted(self)
        encoded: NDArray[numpy.float64] = self._encoded(_dags(X)).double().cpu().numpy()
        return encoded

    def inverse_transform(self, X: Any) -> list[Dag]:
        """The valid DAG that each latent vector most likely stands for."""
        check_is_fitted(self)
        if self.space != LATENTS:
            raise ConfigError(f"what space={self.space!r} gives cannot be decoded; take space={LATENTS!r}")
        latents = torch.as_tensor(numpy.asarray(X, dtype=numpy.float64), dtype=torch.float32)
        return self.vae_.decode(latents, greedy=True, valid=True)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[numpy.object_]:
        """Names of the columns of `transform`: latent0, latent1, ..."""
        check_is_fitted(self)
        word = self.space.removesuffix("s")
        return numpy.asarray([f"{word}{place}" for place in range(self.n_features_out_)], dtype=object)

    def _encoded(self, dags: Sequence[Dag]) -> torch.Tensor:
        return self.vae_.encode(dags).mean if self.space == LATENTS else self.vae_.graph_states(dags)

    def _config(self, task: Task, dags: list[Dag]) -> RunConfig:
        """What was given, and for the rest what the preset `auto` chooses for these DAGs."""
        own = {"name": self.model, "latent": self.latent, "hidden": self.hidden, "epochs": self.epochs}
        named = {key: value for key, value in own.items() if value is not None}
        given = run_settings({**(self.settings or {}), **named})
        data = Dataset.of("given DAGs", dags)
        chosen = auto_settings(task, data, given, minutes=self.minutes, device=self.device)
        config = changed_config(RunConfig(), {**chosen.settings, **given})
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        return replace(config, training=replace(config.training, seed=seed))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # DAGs are no rows of numbers
        tags.input_tags.one_d_array = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """A pickle holds the model as its files, not as objects of PyTorch: another version can read it."""
        state = dict(super().__getstate__())
        vae = state.pop("vae_", None)
        state.pop("task_", None)
        return state if vae is None else {**state, "model_files_": _to_files(vae)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        files = state.pop("model_files_", None)
        super().__setstate__(state)
        if files is not None:
            self.vae_ = _from_files(files, available_device(self.device))
            self.task_ = self.vae_.task


class DagRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predicts a number of each DAG: an embedder, and a regressor on what it gives.

    `embedder` is a `DagEmbedder` (None: one of graph states); `regressor` is any of scikit-learn's (None: ridge
    regression on standardised features, its penalty chosen by cross-validation). A `random_state` is the embedder's.

    After `fit`: `embedder_` and `regressor_`.
    """

    def __init__(self, embedder: Any = None, regressor: Any = None, *, random_state: Any = None) -> None:
        self.embedder, self.regressor, self.random_state = embedder, regressor, random_state

    def fit(self, X: Sequence[Dag], y: Any) -> DagRegressor:
        """Trains the embedder on the DAGs and the regressor on their numbers."""
        dags = _dags(X)
        if y is None:
            raise ValueError("DagRegressor requires y to be passed, but the target y is None.")
        targets = numpy.asarray(column_or_1d(y, warn=True), dtype=numpy.float64)
        if len(targets) != len(dags):
            raise ValueError(f"there are {len(dags)} DAGs and {len(targets)} numbers")
        if not numpy.isfinite(targets).all():
            raise ValueError("y holds a number that is NaN or infinity")
        embedder = DagEmbedder(space=STATES) if self.embedder is None else clone(self.embedder)
        if self.random_state is not None:
            embedder.set_params(random_state=self.random_state)
        default = make_pipeline(StandardScaler(), RidgeCV(alphas=PENALTIES))
        regressor = default if self.regressor is None else clone(self.regressor)
        features = embedder.fit(dags).transform(dags)
        self.embedder_, self.regressor_ = embedder, regressor.fit(features, targets)
        return self

    def predict(self, X: Sequence[Dag]) -> NDArray[numpy.float64]:
        """A number for each DAG."""
        check_is_fitted(self)
        return numpy.asarray(self.regressor_.predict(self.embedder_.transform(_dags(X))), dtype=numpy.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        return tags


def _dags(X: Any) -> list[Dag]:
    """The DAGs of a list, an array of objects or a data frame's column."""
    if isinstance(X, Dag):
        raise DagError("a sequence of DAGs is expected, and one Dag came; give [dag]")
    dags = list(X)
    wrong = next((place for place, dag in enumerate(dags) if not isinstance(dag, Dag)), None)
    if wrong is not None:
        raise DagError(f"a sequence of DAGs is expected, and item {wrong} is {type(dags[wrong]).__name__}")
    return dags


def _to_files(vae: VAE) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        vae.save(folder)
        return {name: (Path(folder) / name).read_bytes() for name in MODEL_FILES}


def _from_files(files: Mapping[str, bytes], device: str) -> VAE:
    with tempfile.TemporaryDirectory() as folder:
        for name in MODEL_FILES:
            (Path(folder) / name).write_bytes(files[name])
        return load(folder, device=device)
