"""The sliders of a model's conditions: their ranges and steps, and where each stands for a DAG."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dvae.explorer.space import Space

STEPS = 100  # of a slider, at least


@dataclass(frozen=True)
class Handle:
    """The slider of one condition; `middle` is where it stands for a DAG whose value is not known."""

    name: str
    low: float
    high: float
    step: float
    middle: float

    def at(self, properties: Mapping[str, float]) -> float:
        """Where it stands for a DAG with these properties."""
        return self._near(properties[self.name]) if self.name in properties else self.middle

    def _near(self, value: float) -> float:
        return min(max(round(round(value / self.step) * self.step, 12), self.low), self.high)


def handles(space: Space) -> tuple[Handle, ...]:
    """A slider for each condition of the model."""
    return tuple(_handle(space, one.name, one.low, one.high) for one in space.conditions)


def _handle(space: Space, name: str, low: float, high: float) -> Handle:
    known = space.known.properties.get(name)
    known = None if known is None else known[~known.isnan()]
    step = 10.0 ** math.floor(math.log10((high - low) / STEPS))
    if known is None or not len(known):
        return Handle(name, low, high, step, low)
    if bool((known == known.round()).all()):
        step = max(step, 1.0)
    return Handle(name, low, high, step, Handle(name, low, high, step, low).at({name: float(known.median())}))
