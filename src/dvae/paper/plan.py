"""Which stages a target is made of."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dvae.config import check
from dvae.errors import ConfigError
from dvae.paper.latent_figures import Circle, Cost, Grid, Maps
from dvae.paper.measurements import Baselines, Evaluate, Predict, Smooth
from dvae.paper.presets import Experiment, Preset
from dvae.paper.searches import Landmarks, search_stages
from dvae.paper.stage import Stage, with_needs
from dvae.paper.training import ModelRecipe, Train

TARGETS = ("table1", "table2", "table3", "bo-enas", "bo-bn", "figures", "all")
ABLATIONS = ("dvae-smp", "dvae-fast", "dvae", "svae")  # Table 3, in its order
OUTSIDE_TABLE_1 = ("dvae-smp", "dvae-fast")  # they stand in Table 3
RANDOM_MODEL = "dvae"  # random search is done in the paper's latent space only


def stages_of(
    target: str, preset: Preset, only: Collection[str] | None = None, part: tuple[int, int] = (1, 1)
) -> list[Stage[Any]]:
    """The stages of a target, in the order in which they are best made.

    `only` keeps those of some models, with all that they need; `part` (number, of how many) keeps a share of them, so
    that several machines can work side by side. What needs the same training stays together, so that nothing is made
    twice; only searches are dealt out one by one, and each machine trains, or is given, the model that it searches.
    """
    makers = {
        "table1": table1,
        "table2": table2,
        "table3": table3,
        "bo-enas": lambda plan: searches(plan.enas),
        "bo-bn": lambda plan: searches(plan.bn),
        "figures": figures,
    }
    if target != "all" and target not in makers:
        raise ConfigError(f"there is no target {target!r}; choose one of {', '.join(TARGETS)}")
    wanted = list(makers) if target == "all" else [target]
    stages = [stage for name in wanted for stage in makers[name](preset)]
    if only is not None:
        _check_names(only, preset)
        stages = [stage for stage in stages if not names_of(stage).isdisjoint(only)]
    return _part_of(with_needs(stages), part, apart=target.startswith("bo-"))


def _part_of(stages: list[Stage[Any]], part: tuple[int, int], apart: bool) -> list[Stage[Any]]:
    number, parts = part
    check(1 <= number <= parts, f"there is no part {number} of {parts}")
    group_of = {stage: stage if apart else next(iter(stage.needs()), stage) for stage in stages}
    groups = [group for group in dict.fromkeys(group_of.values()) if not (apart and isinstance(group, Train))]
    chosen = set(groups[number - 1 :: parts])
    if groups and not chosen:
        raise ConfigError(f"there is nothing left for part {number}: the stages go into {len(groups)} parts at most")
    return with_needs([stage for stage in stages if group_of[stage] in chosen])


def table1(preset: Preset) -> list[Stage[Any]]:
    """Reconstruction and prior samples of every model."""
    return [
        Evaluate(train, experiment.evaluation)
        for experiment in (preset.enas, preset.bn)
        for recipe in experiment.recipes
        if recipe.name not in OUTSIDE_TABLE_1
        for train in trainings(preset, experiment, recipe)
    ]


def table2(preset: Preset) -> list[Stage[Any]]:
    """Predictivity of every model, and of plain features."""
    stages: list[Stage[Any]] = []
    for experiment in (preset.enas, preset.bn):
        stages += [Baselines(experiment.source, fit, experiment.prediction) for fit in preset.fits]
        stages += [
            Predict(train, fit, experiment.prediction)
            for recipe in experiment.recipes
            if recipe.name not in OUTSIDE_TABLE_1
            for train in trainings(preset, experiment, recipe)
            for fit in preset.fits
        ]
    return stages


def table3(preset: Preset) -> list[Stage[Any]]:
    """Both, of D-VAE's variants."""
    stages: list[Stage[Any]] = []
    for name in ABLATIONS:
        for train in trainings(preset, preset.enas, preset.enas.recipe(name)):
            stages.append(Evaluate(train, preset.enas.evaluation))
            stages += [Predict(train, fit, preset.enas.prediction) for fit in preset.fits]
    return stages


def searches(experiment: Experiment) -> list[Stage[Any]]:
    """All trials of all strategies, and scores to compare them with."""
    size = experiment.search
    stages: list[Stage[Any]] = [Landmarks(experiment.source)]
    for name in size.models:
        train = Train(experiment.source, experiment.recipe(name), 0)
        strategies = [one for one in size.strategies if one != "random" or name == RANDOM_MODEL]
        stages += search_stages(train, experiment.scored_by, size, strategies)
    return stages


def figures(preset: Preset) -> list[Stage[Any]]:
    """What the pictures show."""
    stages: list[Stage[Any]] = [Cost(preset.cost)]
    for experiment in (preset.enas, preset.bn):
        size, scored_by = experiment.pictures, experiment.scored_by
        for name in size.models:
            train = Train(experiment.source, experiment.recipe(name), 0)
            if experiment is preset.enas:
                stages.append(Circle(train, scored_by, size.circle_points))
            stages.append(Grid(train, scored_by, size.grid_side, size.grid_extent))
            stages.append(Maps(train, scored_by, size.map_side))
            stages.append(Smooth(train, scored_by, experiment.walks))
    return stages


def trainings(preset: Preset, experiment: Experiment, recipe: ModelRecipe) -> Sequence[Train]:
    """One training per seed."""
    return [Train(experiment.source, recipe, seed) for seed in range(preset.seeds)]


def names_of(stage: Stage[Any]) -> set[str]:
    """What a stage can be chosen by: its recipe, alone or with its task, or its kind where it belongs to no model."""
    train = stage if isinstance(stage, Train) else getattr(stage, "train", None)
    if not isinstance(train, Train):
        return {stage.kind}
    return {train.recipe.name, _on_task(train.source.task, train.recipe)}


def _on_task(task: str, recipe: ModelRecipe) -> str:
    return f"{task}/{recipe.name}"


def _check_names(only: Collection[str], preset: Preset) -> None:
    pairs = [(x.source.task, recipe) for x in (preset.enas, preset.bn) for recipe in x.recipes]
    known = (*dict.fromkeys(recipe.name for _, recipe in pairs), Baselines.kind, Landmarks.kind, Cost.kind)
    for name in only:
        if name not in known and name not in {_on_task(*pair) for pair in pairs}:
            raise ConfigError(
                f"the preset {preset.name} has no {name!r}; choose among {', '.join(known)}, or a model on one task, "
                f"such as {_on_task(*pairs[0])}"
            )
