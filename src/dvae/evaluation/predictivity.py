"""How well scores can be predicted from latent means (paper, section 4.2), and from features that need no learning.

The table measures the regressor as much as the encoder, so the row of the latent means never stands alone: the same
regressor, and a random forest, on plain one-hot features stand beside it. So does a linear model of the graph states,
which the latent means are a linear map of: what it predicts better, the bottleneck has left out.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from dvae import provenance
from dvae.config import check, to_mapping
from dvae.dag import Dataset
from dvae.errors import DvaeError, FormatError
from dvae.evaluation.common import evaluation_mode, read_value
from dvae.evaluation.contenders import Contender, ScoredParts, measure, scored_parts
from dvae.models import VAE
from dvae.regression import Regressor, forest, linear
from dvae.regression.features import one_hot_features
from dvae.regression.forest import TREES
from dvae.tasks import Task

Preset = Literal["converged", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
REPEATS = 10  # paper, section 4.2
INDUCING = 500  # paper, section 4.2

LATENT, STATE, ONE_HOT = "latent means", "graph states", "one-hot"
SPARSE_GP, LINEAR, FOREST = "sparse GP", "linear", "random forest"


@dataclass(frozen=True)
class PredictivityRow:
    """One regressor on one kind of features: one number per repeat, on standardised test targets."""

    regressor: str
    features: str
    rmse: tuple[float, ...]
    r: tuple[float, ...]  # Pearson's; 0 where all predictions are equal

    def __post_init__(self) -> None:
        check(len(self.rmse) == len(self.r) >= 1, f"{len(self.rmse)} RMSEs and {len(self.r)} correlations")

    @property
    def rmse_mean(self) -> float:
        """Over repeats."""
        return statistics.fmean(self.rmse)

    @property
    def rmse_std(self) -> float | None:
        """Over repeats; None for a single one."""
        return _deviation(self.rmse)

    @property
    def r_mean(self) -> float:
        """Over repeats."""
        return statistics.fmean(self.r)

    @property
    def r_std(self) -> float | None:
        """Over repeats; None for a single one."""
        return _deviation(self.r)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "row") -> PredictivityRow:
        """What `to_mapping` wrote."""
        return read_value(cls, mapping, where, **{name: mapping[name]["repeats"] for name in ("rmse", "r")})

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        return {
            "regressor": self.regressor,
            "features": self.features,
            "rmse": {"mean": self.rmse_mean, "std": self.rmse_std, "repeats": list(self.rmse)},
            "r": {"mean": self.r_mean, "std": self.r_std, "repeats": list(self.r)},
        }


@dataclass(frozen=True)
class Predictivity:
    """What was predicted, from what, and how well."""

    model: str
    task: str
    data: str
    rows: tuple[PredictivityRow, ...]
    preset: Preset
    settings: Mapping[str, object]  # of the sparse GP's fit
    inducing: int
    repeats: int
    train_graphs: int  # how many each repeat was trained on ...
    train_size: int  # ... of how many with a score
    test_graphs: int
    scores: Literal["data", "task"]  # which of them gave the scores
    seed: int
    device: str
    seconds: float
    provenance: Mapping[str, object]

    @property
    def protocol(self) -> str:
        """How the numbers came about, in words."""
        train = f"all {self.train_size:,} training graphs"
        if self.train_graphs < self.train_size:
            train = f"{self.train_graphs:,} of {self.train_size:,} training graphs, drawn anew each time"
        return (
            f"Sparse GP with {self.inducing} inducing points, preset {self.preset}; random forest of {TREES} trees. "
            f"Repeats: {self.repeats}, each trained on {train} and tested on {self.test_graphs:,}. "
            f"Scores are standardised by those trained on; RMSE and Pearson's r are of standardised scores, "
            f"mean ± standard deviation over repeats."
        )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any], where: str = "predictivity") -> Predictivity:
        """What `to_mapping` wrote."""
        try:
            rows = tuple(PredictivityRow.from_mapping(row, f"{where}.rows") for row in mapping["rows"])
        except (KeyError, TypeError) as error:
            raise FormatError(f"{where}: its rows cannot be read ({type(error).__name__}: {error})") from None
        return read_value(cls, mapping, where, rows=rows)

    def to_mapping(self) -> dict[str, object]:
        """Plain values for JSON."""
        facts = (
            "preset",
            "inducing",
            "repeats",
            "train_graphs",
            "train_size",
            "test_graphs",
            "scores",
            "seed",
            "device",
            "seconds",
            "protocol",
        )
        return {
            "model": self.model,
            "task": self.task,
            "data": self.data,
            "rows": [row.to_mapping() for row in self.rows],
            **{name: getattr(self, name) for name in facts},
            "settings": dict(self.settings),
            "provenance": dict(self.provenance),
        }


def predictivity(
    vae: VAE,
    data: Dataset,
    *,
    preset: Preset = "converged",
    repeats: int = REPEATS,
    train_limit: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    inducing: int = INDUCING,
    baselines: bool = True,
) -> Predictivity:
    """Predicts the scores of the test part of `data` from those of the training part.

    Each repeat draws its own inducing points, minibatches and trees, and, with `train_limit`, its own training
    graphs. Without a limit the task's own holds (`predictivity_limit`: the paper's 5,000 for Bayesian networks). Where
    no graph has a score, the task gives them, if it can; otherwise graphs without one are left out. The same seed,
    sizes and kind of device give the same numbers. `baselines` may be left to `one_hot_predictivity` where many models
    are measured on the same data.
    """
    protocol = _Protocol(preset, repeats, train_limit, inducing, seed)
    started = time.monotonic()
    scored = scored_parts(vae.task, data)
    batch = vae.task.batch([*scored.train.dags, *scored.test.dags])
    with evaluation_mode(vae):
        states = vae.graph_states(batch)
        latents = vae.posterior_of(states).mean.detach()
    if not latents.isfinite().all():
        raise DvaeError("the model gives latents that are not finite; was its training broken off by divergence?")
    contenders = [
        Contender(SPARSE_GP, LATENT, latents, protocol.sparse_gp()),
        Contender(LINEAR, STATE, states, linear.predict),
    ]
    if baselines:
        contenders += protocol.baselines(one_hot_features(batch, vae.task.num_types).to(latents.device))
    facts = {"model": vae.config.name, "provenance": provenance.record(seed, to_mapping(vae.config))}
    return protocol.measured(vae.task, scored, contenders, facts, started, progress)


def one_hot_predictivity(
    task: Task,
    data: Dataset,
    *,
    preset: Preset = "converged",
    repeats: int = REPEATS,
    train_limit: int | None = None,
    seed: int = 0,
    progress: bool | None = None,
    inducing: int = INDUCING,
    device: str = "cpu",
) -> Predictivity:
    """The rows of `predictivity` that need no model."""
    protocol = _Protocol(preset, repeats, train_limit, inducing, seed)
    started = time.monotonic()
    scored = scored_parts(task, data)
    batch = task.batch([*scored.train.dags, *scored.test.dags])
    contenders = protocol.baselines(one_hot_features(batch, task.num_types).to(device))
    facts = {"model": "none", "provenance": provenance.record(seed)}
    return protocol.measured(task, scored, contenders, facts, started, progress)


@dataclass(frozen=True)
class _Protocol:
    """How everything is predicted, whatever it is predicted from."""

    preset: Preset
    repeats: int
    train_limit: int | None
    inducing: int
    seed: int

    def __post_init__(self) -> None:
        check(self.preset in PRESETS, f"preset is one of {', '.join(PRESETS)}, not {self.preset!r}")
        check(self.repeats >= 1, f"repeats must be at least 1, not {self.repeats}")
        check(self.inducing >= 1, f"inducing must be at least 1, not {self.inducing}")
        check(self.train_limit is None or self.train_limit >= 2, f"train_limit must be at least 2: {self.train_limit}")

    def sparse_gp(self) -> Regressor:
        from dvae.regression import sparse_gp

        return sparse_gp.SparseGP(sparse_gp.PRESETS[self.preset], self.inducing)

    def baselines(self, one_hot: Tensor) -> list[Contender]:
        return [
            Contender(SPARSE_GP, ONE_HOT, one_hot, self.sparse_gp()),
            Contender(FOREST, ONE_HOT, one_hot, forest.regressor()),
        ]

    def measured(
        self,
        task: Task,
        scored: ScoredParts,
        contenders: Sequence[Contender],
        facts: Mapping[str, Any],
        started: float,
        progress: bool | None,
    ) -> Predictivity:
        from dvae.regression.sparse_gp import PRESETS as FITS

        train_size = len(scored.train)
        used = min(train_size, self.train_limit or task.predictivity_limit or train_size)
        device = contenders[0].inputs.device
        scores = torch.tensor([*scored.train.scores, *scored.test.scores], dtype=torch.float64, device=device)
        errors = measure(contenders, scores, train_size, used, self.repeats, self.seed, progress)
        return Predictivity(
            task=task.name,
            data=scored.name,
            rows=tuple(
                PredictivityRow(contender.regressor, contender.features, rmse, r)
                for contender, (rmse, r) in zip(contenders, errors, strict=True)
            ),
            preset=self.preset,
            settings=asdict(FITS[self.preset]),
            inducing=self.inducing,
            repeats=self.repeats,
            train_graphs=used,
            train_size=train_size,
            test_graphs=len(scored.test),
            scores=scored.source,
            seed=self.seed,
            device=str(device),
            seconds=time.monotonic() - started,
            **facts,
        )


def _deviation(values: Sequence[float]) -> float | None:
    """The sample's standard deviation; a single number has none."""
    return statistics.stdev(values) if len(values) > 1 else None
