"""What DAGs can be coloured, filtered and sorted by: scores, sizes, counts of types, properties, parts of the data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from dvae.dag import Dag, Label
from dvae.explorer.places import RequestError

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

SCORE, NODES, EDGES, SPLIT, NUMBER = "score", "nodes", "edges", "split", "number"
SAMPLE = 500  # DAGs that tell whether a type is worth counting
MAX_TYPES = 60  # that a list of quantities names; any can be written


@dataclass(frozen=True, eq=False)
class Quantity:
    """One value for each DAG, NaN where it has none; with `words`, values are places in that list."""

    name: str
    values: Floats
    words: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        known = self.values[~np.isnan(self.values)]
        return bool((known == known.round()).all())

    @property
    def varies(self) -> bool:
        """Whether it tells DAGs apart."""
        known = self.values[~np.isnan(self.values)]
        return len(known) > 0 and bool(known.min() < known.max())

    def text(self, place: int) -> str:
        """The value of one DAG, in words."""
        value = self.values[place]
        if np.isnan(value):
            return "–"
        return self.words[int(value)] if self.words else f"{value:,.0f}" if self.is_whole else f"{value:,.5g}"


class Quantities:
    """The quantities of some DAGs; each is computed when it is first asked for.

    `given` has numbers that do not follow from the DAGs, `named` words, each by the name of the quantity.
    """

    def __init__(
        self,
        dags: Sequence[Dag],
        given: Mapping[str, Sequence[float | None]],
        named: Mapping[str, Sequence[str]] | None = None,
        labels: Sequence[Label] = (),
    ) -> None:
        self.dags, self._given, self._named = dags, dict(given), dict(named or {})
        self._order = tuple(labels)
        self.get = lru_cache(maxsize=64)(self._get)
        self.has_edge = lru_cache(maxsize=32)(self._has_edge)

    @cached_property
    def labels(self) -> list[Label]:
        """The types of nodes that these DAGs have."""
        present = {label for dag in self.dags for label in dag.types}
        return [label for label in self._order if label in present] or sorted(present, key=str)

    @cached_property
    def _properties(self) -> list[str]:
        return list(dict.fromkeys(name for dag in self.dags for name in dag.properties))

    @property
    def names(self) -> list[str]:
        """All of them, as they are written in a filter."""
        own = [*self._given, NODES, EDGES, *self._named]
        more = [name for name in self._properties if name not in own]
        return [*own, *more, *(f"count({label})" for label in self.labels[:MAX_TYPES])]

    @property
    def useful(self) -> list[str]:
        """Those that tell DAGs apart."""
        few = Quantities(self.dags[:SAMPLE], {}, labels=self.labels)  # types are many, and counted one by one
        return [name for name in self.names if (few if name.startswith("count(") else self).get(name).varies]

    def _get(self, name: str) -> Quantity:
        """The quantity called `name`."""
        if name in self._given:
            return Quantity(name, _floats(self._given[name]))
        if name in self._named:
            words = tuple(dict.fromkeys(self._named[name]))
            places = {word: float(place) for place, word in enumerate(words)}
            return Quantity(name, _floats([places[word] for word in self._named[name]]), words)
        if name == NODES:
            return Quantity(name, _floats([len(dag) for dag in self.dags]))
        if name == EDGES:
            return Quantity(name, _floats([len(dag.edges) for dag in self.dags]))
        if name in self._properties:
            return Quantity(name, _floats([dag.properties.get(name) for dag in self.dags]))
        counted = re.fullmatch(r"count\((.+)\)", name)
        if counted is None:
            few = ", ".join(self.names[:12])
            raise RequestError(f"there is no {name!r} here; choose one of {few}, or count(TYPE)")
        label = self.label(counted[1])
        return Quantity(name, _floats([dag.types.count(label) for dag in self.dags]))

    def label(self, text: str) -> Label:
        """The type of nodes that is written so."""
        written = text.strip().strip('"')
        for label in self.labels:
            if str(label) == written:
                return label
        few = ", ".join(str(label) for label in self.labels[:12])
        raise RequestError(f"no DAG here has a node of type {written!r}; types are {few}")

    def _has_edge(self, source: str, target: str) -> Mask:
        """Which DAGs have an edge from one type to another."""
        ends = self.label(source), self.label(target)
        return np.array([any((dag.types[u], dag.types[v]) == ends for u, v in dag.edges) for dag in self.dags], bool)


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
