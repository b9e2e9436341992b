"""How a network is trained from scratch: recipes by name, and those of other packages (entry points `dvae.recipes`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dvae.config import check, check_types, replace
from dvae.errors import ConfigError
from dvae.nas.batches import NO_AUGMENTATION, Augmentation
from dvae.nas.config import FULL, NetworkConfig
from dvae.nas.schedules import Schedule
from dvae.registry import Registry


@dataclass(frozen=True)
class Recipe:
    """How a network is trained; the defaults are the paper's (310 epochs)."""

    epochs: int = 310
    batch: int = 100
    schedule: Schedule = field(default_factory=lambda: Schedule("restarts", 0.05, 0.001))
    weight_decay: float = 2e-4
    momentum: float = 0.9
    gradient_norm: float = 5.0  # longer gradients are shortened to this; 0 leaves all as they are
    label_smoothing: float = 0.0
    seed: int = 0
    compile: bool = False  # with torch.compile, which pays in long trainings on a GPU
    network: NetworkConfig = FULL
    augmentation: Augmentation = field(default_factory=lambda: Augmentation(cutout=0.0))

    def __post_init__(self) -> None:
        check_types(self)
        check(self.epochs >= 1 and self.batch >= 2, "epochs must be 1 or more, batch 2 or more")
        check(0 <= self.label_smoothing < 1, f"label_smoothing must lie in [0, 1): {self.label_smoothing}")
        check(self.weight_decay >= 0 and 0 <= self.momentum < 1, "weight_decay and momentum are out of range")
        check(self.gradient_norm >= 0, f"gradient_norm must not be negative: {self.gradient_norm}")
        check(self.network.statistics == "running", "a fully trained network has running statistics")


def _adapt(name: str, found: Any) -> Recipe:
    """A recipe, or a function without arguments that makes one."""
    made = found() if callable(found) else found
    if not isinstance(made, Recipe):
        raise ConfigError(f"the recipe {name!r} is {type(made).__name__}, not a dvae.nas.Recipe")
    return made


RECIPES: Registry[Recipe] = Registry("recipe", "dvae.recipes", _adapt)
RECIPES.register("paper", Recipe())
# One cycle at a high rate and a large batch, smoothed labels, a small cut-out square and mild distortions
# (benchmarks/nas_recipes.py compares it with others).
RECIPES.register(
    "fast",
    Recipe(
        epochs=30,
        batch=512,
        schedule=Schedule("one-cycle", 0.4, 0.0),
        weight_decay=5e-4,
        gradient_norm=0.0,
        label_smoothing=0.1,
        network=replace(FULL, dropout=0.1),
        augmentation=Augmentation(distortion=0.5),
    ),
)
# For the 8x8 digits on a CPU, where a shift by one pixel is large.
RECIPES.register(
    "digits",
    Recipe(
        epochs=15,
        batch=64,
        schedule=Schedule("one-cycle", 0.2, 0.0),
        weight_decay=5e-4,
        gradient_norm=0.0,
        network=replace(FULL, width=16, widening=1, separable="depthwise", dropout=0.1),
        augmentation=NO_AUGMENTATION,
    ),
)


def get_recipe(recipe: Recipe | str) -> Recipe:
    """A recipe by its name, by `package.module:name`, or as it is."""
    return recipe if isinstance(recipe, Recipe) else RECIPES.get(recipe)
