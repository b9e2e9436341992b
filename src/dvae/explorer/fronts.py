"""The front of a search with several objectives as the page follows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from dvae.strategies.objectives import Objectives, Values
from dvae.studies.pareto import hypervolume

ON_FRONT, FEASIBLE, INFEASIBLE, UNKNOWN = "on the front", "feasible", "infeasible", "not known"


@dataclass(frozen=True)
class FrontView:
    """All candidates of a study with objectives: their values, which obey the constraints, which are on the front."""

    objectives: Objectives
    values: Mapping[int, Values]  # by the number of the trial
    feasible: frozenset[int]
    front: tuple[int, ...]  # the first objective falling
    hypervolume: float | None  # None where BoTorch is not installed

    @property
    def words(self) -> str:
        """What was found, in one line."""
        parts = [f"{len(self.front):,} of {len(self.values):,} on the front"]
        if self.objectives.constraints:
            parts.append(f"{len(self.feasible):,} obey the constraints")
        if self.hypervolume is not None and self.front:
            parts.append(f"hypervolume {self.hypervolume:.4f}")
        return ", ".join(parts)

    @property
    def axes(self) -> tuple[str, ...]:
        """What the candidates can be drawn by: the objectives, then other properties with constraints."""
        return self.objectives.needed

    @cached_property
    def _standings(self) -> Mapping[int, str]:
        front = set(self.front)
        return {
            number: ON_FRONT if number in front else FEASIBLE if number in self.feasible else INFEASIBLE
            for number in self.values
        }

    def standing(self, number: int) -> str:
        """What became of a trial: `ON_FRONT`, `FEASIBLE`, `INFEASIBLE` or `UNKNOWN`."""
        return self._standings.get(number, UNKNOWN)

    def having(self, standing: str) -> list[int]:
        """The trials of which the same became."""
        return [number for number, each in self._standings.items() if each == standing]

    def note(self, number: int) -> str | None:
        """What is worth saying of a trial: that it is on the front, or that it breaks a constraint."""
        return {ON_FRONT: ON_FRONT, INFEASIBLE: "breaks a constraint"}.get(self.standing(number))

    def broken_constraints(self, number: int) -> str | None:
        """The constraints that a trial breaks, in words; None where it breaks none."""
        if self.standing(number) != INFEASIBLE:
            return None
        broken = [each for each in self.objectives.constraints if each.excess(self.values[number]) > 0]
        return f"breaks {' and '.join(map(str, broken))}" if broken else None

    def is_high(self, number: int, name: object) -> bool:
        """Whether a value of a trial is in the upper half of the range of all."""
        if name not in self.axes or number not in self.values:
            return False
        found = [values[str(name)] for values in self.values.values()]
        return self.values[number][str(name)] > (min(found) + max(found)) / 2

    def pair(self, x: object, y: object) -> tuple[str, str] | None:
        """The two axes that are asked for, or the first that make two different ones; None where there is only one."""
        if len(self.axes) < 2:
            return None
        across = str(x) if x in self.axes else next(name for name in self.axes if name != y)
        return across, str(y) if y in self.axes and y != across else next(n for n in self.axes if n != across)


def front_view(objectives: Objectives, values: Mapping[int, Values]) -> FrontView:
    """The front among candidates, whose values are given by the numbers of their trials."""
    numbers, rows = list(values), list(values.values())
    front = objectives.front(rows)
    return FrontView(
        objectives=objectives,
        values=values,
        feasible=frozenset(number for number, row in values.items() if objectives.feasible(row)),
        front=tuple(numbers[place] for place in front),
        hypervolume=_volume(tuple(tuple(objectives.gains(rows[place])) for place in front)),
    )


@lru_cache(maxsize=16)
def _volume(gains: Sequence[Sequence[float]]) -> float | None:
    """Kept, because the page asks every two seconds and a front seldom moves."""
    return hypervolume(gains)
