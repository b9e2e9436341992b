"""How much of the paper is done: all of it, on a GPU, or a little, on two cores in twenty minutes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dvae.config import check
from dvae.errors import ConfigError
from dvae.models import model_config
from dvae.paper.latent_figures import CostSize, PictureSize
from dvae.paper.measurements import EvaluationSize, Fit, PredictionSize, WalkSize
from dvae.paper.searches import SearchSize
from dvae.paper.sources import Source
from dvae.paper.training import ModelRecipe
from dvae.strategies.paper import PaperSearchConfig
from dvae.training import TrainingConfig

NAMES = ("paper", "quick")  # and "tiny", for tests


@dataclass(frozen=True)
class Experiment:
    """One kind of DAGs: where they come from, what is trained on them and how much is measured."""

    source: Source
    scored_by: Source  # whose scores searches and pictures see
    recipes: tuple[ModelRecipe, ...]
    evaluation: EvaluationSize
    prediction: PredictionSize
    search: SearchSize
    pictures: PictureSize
    walks: WalkSize

    def recipe(self, name: str) -> ModelRecipe:
        """The recipe of this name."""
        return next(recipe for recipe in self.recipes if recipe.name == name)


@dataclass(frozen=True)
class Preset:
    """All that a reproduction depends on, except the device. `note` is shown wherever its numbers are."""

    name: str
    note: str
    seeds: int
    fits: tuple[Fit, ...]  # of the sparse GP
    enas: Experiment
    bn: Experiment
    cost: CostSize

    def __post_init__(self) -> None:
        check(self.seeds >= 1, f"seeds must be at least 1, not {self.seeds}")


def preset(name: str, enas: Source, bn: Source, seeds: int | None = None) -> Preset:
    """The preset `name` on these data."""
    makers = {"paper": _paper, "quick": _quick, "tiny": _tiny}
    if name not in makers:
        raise ConfigError(f"there is no preset {name!r}; choose one of {', '.join(NAMES)}")
    made = makers[name](enas, bn)
    return made if seeds is None else replace(made, seeds=seeds)


STRAIGHT_AXES: dict[str, Any] = {"batch_size": 512, "schedule": "cosine", "clip": 5.0}  # docs/results/straight-axes.md
PAPER_ENAS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # Settings of the model and of its training where they are not the paper's for D-VAE.
    "dvae": ({}, {}),
    "svae": ({}, {}),
    "graphrnn": ({}, {}),
    "gcn": ({}, {}),
    "gcn-original": ({"name": "gcn", "original": True, "noise_scale": 0.01}, {}),
    "deepgmg": ({}, {"epochs": 30}),
    "dvae-smp": ({}, {}),
    "dvae-fast": ({}, {}),
    "dagnn": ({}, {"epochs": 100, "learning_rate": 1e-3}),
    "pace": ({"latent": 64, "dropout": 0.15}, {"epochs": 100}),
    "dvae-original": ({"name": "dvae", "noise_scale": 0.01}, {}),
    "dvae-sum": ({"name": "dvae", "readout": "sum"}, {}),  # not in the paper: it learns many times faster
    "dvae-axes": (
        {"name": "dvae", "readout": "sum", "head": "one-to-one", "head_weight": 3.0, "kl_weight": 0.01},
        {**STRAIGHT_AXES, "epochs": 18, "learning_rate": 3e-3, "warmup": 100},
    ),
}
PAPER_BN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dvae": ({}, {}),
    "svae": ({}, {}),
    "graphrnn": ({}, {}),
    "gcn": ({}, {}),
    "gcn-original": ({"name": "gcn", "original": True, "noise_scale": 0.01}, {}),
    "deepgmg": ({}, {"epochs": 5}),
    "dagnn": ({}, {"epochs": 50, "learning_rate": 1e-3}),
    "pace": ({"latent": 64, "dropout": 0.25}, {"epochs": 50}),
    "dvae-original": ({"name": "dvae", "noise_scale": 0.01}, {}),
    "dvae-axes": (
        {"name": "dvae", "head": "one-to-one", "latent": 28},  # one for each pair of variables
        {**STRAIGHT_AXES, "epochs": 6, "learning_rate": 2e-3, "warmup": 200},
    ),
}


def _recipes(
    table: dict[str, tuple[dict[str, Any], dict[str, Any]]], model: dict[str, Any], training: dict[str, Any]
) -> tuple[ModelRecipe, ...]:
    """The table's models; `model` and `training` hold for all, unless the table says otherwise."""
    return tuple(
        ModelRecipe(
            name, model_config(**{"name": name, **model, **own}), TrainingConfig(**{**training, **own_training})
        )
        for name, (own, own_training) in table.items()
    )


def _shortened(
    table: dict[str, tuple[dict[str, Any], dict[str, Any]]], epochs: dict[str, int], others: int
) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """The table's models, trained with one schedule for all; of their own settings only what makes them variants."""
    variants = {name: own for name, (own, _) in table.items() if own.get("name", name) != name}
    return {
        name: (variants.get(name, {}) | SMALLER.get(name, {}), {"epochs": epochs.get(name, others)}) for name in table
    }


def _paper(enas: Source, bn: Source) -> Preset:
    pictures, walks = PictureSize(), WalkSize()
    search = SearchSize(strategies=("paper", "random", "trust-region"))
    return Preset(
        name="paper",
        note="",
        seeds=3,
        fits=("paper", "converged"),
        enas=Experiment(
            enas, enas, _recipes(PAPER_ENAS, {}, {}), EvaluationSize(), PredictionSize(), search, pictures, walks
        ),
        bn=Experiment(
            bn,
            bn,
            _recipes(PAPER_BN, {}, {}),
            EvaluationSize(),
            PredictionSize(),
            replace(search, warm=5000),  # as many as the paper's sparse GP sees
            pictures,
            walks,
        ),
        cost=CostSize(layers=(6, 12, 24, 48, 96)),
    )


# Of a small run: DeepGMG takes many times as long as the others; 24 latents are too few for one feature each.
SMALLER: dict[str, dict[str, Any]] = {"deepgmg": {"hidden": 32}, "dvae-axes": {"head": "linear", "latent": 24}}
QUICK_NOTE = (
    "A small run: models of hidden size 64 and 96 (DeepGMG: 32), a few thousand graphs, few epochs, subsampled "
    "protocols. It shows that everything works and how it looks; its numbers are not the paper's experiment and say "
    "nothing against it."
)


def _quick(enas: Source, bn: Source) -> Preset:
    """Long enough for D-VAE and S-VAE, whose spaces are searched and drawn; the others only begin to learn."""
    rates = {"plateau_patience": 3, "plateau_factor": 0.4}
    architectures = _recipes(
        _shortened(PAPER_ENAS, {"dvae": 40, "svae": 60, "dvae-original": 40, "dvae-sum": 40, "deepgmg": 4}, 25),
        {"hidden": 64, "latent": 24},
        {**rates, "learning_rate": 3e-3, "batch_size": 64},
    )
    networks = _recipes(
        _shortened(PAPER_BN, {"dvae": 30, "svae": 30, "dvae-original": 30, "deepgmg": 1}, 8),
        {"hidden": 96, "latent": 24},
        {**rates, "learning_rate": 4e-3, "batch_size": 128},
    )
    evaluation = EvaluationSize(200, 5, 5, 300, 5)
    prediction = PredictionSize(3, 1500, 150)
    bo = PaperSearchConfig(inducing=100, epochs=60, decodings=32, raw_samples=64, restarts=1, iterations=12)
    search = SearchSize(("paper", "random"), trials=3, rounds=5, batch=15, warm=500, paper=bo)
    pictures, walks = PictureSize(grid_side=7, map_side=32), WalkSize(starts=60, steps=8, step=0.02)
    return Preset(
        name="quick",
        note=QUICK_NOTE,
        seeds=1,
        fits=("converged",),
        enas=Experiment(
            replace(enas, size=4000), enas, architectures, evaluation, prediction, search, pictures, walks,
        ),
        bn=Experiment(
            replace(bn, size=10_000), replace(bn, size=10_000), networks, evaluation, prediction, search, pictures,
            walks,
        ),
        cost=CostSize(layers=(6, 12, 24, 48), hidden=64, latent=24, batch=16, repeats=3),
    )  # fmt: skip


def _tiny(enas: Source, bn: Source) -> Preset:
    sizes, rates = {"hidden": 8, "latent": 4}, {"epochs": 1, "batch_size": 32, "learning_rate": 5e-3}
    models: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {"dvae": ({}, {}), "svae": ({}, {})}
    variants = {**models, "dvae-smp": ({}, {}), "dvae-fast": ({}, {})}
    evaluation, prediction = EvaluationSize(4, 2, 2, 5, 2), PredictionSize(2, 40, 10)
    search = SearchSize(("random",), trials=2, rounds=2, batch=3, warm=10)
    pictures, walks = PictureSize(5, 3, 0.3, 4), WalkSize(3, 2, 0.1)
    small_enas, small_bn = replace(enas, size=80), replace(bn, size=80)
    return Preset(
        name="tiny",
        note="A run for tests: its numbers mean nothing.",
        seeds=1,
        fits=("converged",),
        enas=Experiment(
            small_enas, small_enas, _recipes(variants, sizes, rates), evaluation, prediction, search, pictures, walks
        ),
        bn=Experiment(
            small_bn, small_bn, _recipes(models, sizes, rates), evaluation, prediction, search, pictures, walks
        ),
        cost=CostSize(("dvae", "dvae-fast"), (3, 6), 8, 4, 4, 1),
    )
