"""Where the numbers of a column lie: values of their own that come often, and bins between quantiles for the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

MAX_VALUES = 256  # a column with no more different numbers has no bins: each number is a value of its own
BINS = 64
TOLERANCE = 0.05  # of the scale: binned numbers that round to the same multiple are the same
_NORMAL_QUARTILES = 1.349  # the distance of a normal distribution's quartiles, in standard deviations


@dataclass(frozen=True)
class NumberGrid:
    """Numbers of a column, on a line: `values` that come often, and `edges` of the bins that hold the others.

    `centre` and `scale` standardise robustly: the median, and the distance of the quartiles as that of a normal
    distribution with this standard deviation.
    """

    values: tuple[float, ...] = ()
    edges: tuple[float, ...] = ()
    centre: float = 0.0
    scale: float = 1.0
    integer: bool = False

    @classmethod
    def of(cls, counts: Mapping[float, int]) -> NumberGrid:
        """The grid of numbers that come so many times each."""
        if not counts:
            return cls()
        ordered = sorted(counts)
        low, centre, high = _quantiles(counts, (0.25, 0.5, 0.75))
        scale = (high - low) / _NORMAL_QUARTILES or _deviation(counts) or 1.0
        integer = all(float(value).is_integer() for value in ordered)
        if len(ordered) <= MAX_VALUES:
            return cls(tuple(map(float, ordered)), (), float(centre), float(scale), integer)
        total = sum(counts.values())
        often = [value for value in ordered if counts[value] * BINS >= total]
        rest = {value: counts[value] for value in ordered if counts[value] * BINS < total}
        edges = sorted({float(edge) for edge in _quantiles(rest, [step / BINS for step in range(BINS + 1)])})
        return cls(tuple(map(float, often)), tuple(edges), float(centre), float(scale), integer)

    @property
    def low(self) -> float:
        """The smallest number."""
        return min((*self.values, *self.edges), default=0.0)

    @property
    def high(self) -> float:
        """The largest number."""
        return max((*self.values, *self.edges), default=0.0)

    @property
    def tolerance(self) -> float:
        """How far apart two numbers may be and still be the same; 0 where each is a value of its own."""
        return TOLERANCE * self.scale if self.edges else 0.0

    def rounded(self, value: float) -> float:
        """The number that stands for all that are the same."""
        return float(round(value / self.tolerance)) if self.tolerance else float(value)

    def bin_of(self, value: float) -> int | None:
        """The bin that a number falls into, the first or the last for one outside; None where there are no bins."""
        if len(self.edges) < 2:
            return None
        return min(max(bisect_right(self.edges, value) - 1, 0), len(self.edges) - 2)

    @property
    def num_options(self) -> int:
        """How many values and bins there are."""
        return len(self.values) + max(len(self.edges) - 1, 0)

    def option_of(self, value: float) -> int:
        """The value or the bin that stands for a number; where there are no bins, the nearest value."""
        place = bisect_left(self.values, value)
        if place < len(self.values) and self.values[place] == value:
            return place
        bin_number = self.bin_of(value)
        if bin_number is not None:
            return len(self.values) + bin_number
        around = range(max(place - 1, 0), min(place + 1, len(self.values)))
        return min(around, key=lambda index: abs(self.values[index] - value), default=0)

    def spans(self) -> list[tuple[float, float]]:
        """Where each option begins and ends; a value does both at itself."""
        return [*((value, value) for value in self.values), *pairwise(self.edges)]

    def to_mapping(self) -> dict[str, Any]:
        """Plain values; `from_mapping` reads them."""
        return {
            "values": list(self.values), "edges": list(self.edges), "centre": self.centre, "scale": self.scale,
            "integer": self.integer,
        }  # fmt: skip

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> NumberGrid:
        """The grid that `to_mapping` described."""
        return cls(
            tuple(map(float, mapping["values"])),
            tuple(map(float, mapping["edges"])),
            float(mapping["centre"]),
            float(mapping["scale"]),
            bool(mapping["integer"]),
        )


NO_NUMBERS = NumberGrid()


def _quantiles(counts: Mapping[float, int], shares: Sequence[float]) -> list[float]:
    """For each share, the smallest number with at least that share of all numbers below or at it."""
    ordered = sorted(counts)
    seen = list(accumulate(counts[value] for value in ordered))
    return [ordered[min(bisect_left(seen, share * seen[-1]), len(ordered) - 1)] for share in shares]


def _deviation(counts: Mapping[float, int]) -> float:
    total = sum(counts.values())
    mean = sum(value * count for value, count in counts.items()) / total
    return float((sum(count * (value - mean) ** 2 for value, count in counts.items()) / total) ** 0.5)
