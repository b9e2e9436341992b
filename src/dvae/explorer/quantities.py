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
_CALLED = re.compile(r"(count|mean)\((.+)\)")


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

    @cached_property
    def _columns(self) -> dict[str, bool]:
        """The columns of nodes and edges, and whether each holds numbers."""
        found: dict[str, bool] = {}
        for dag in self.dags[:SAMPLE]:
            for name, column in (*dag.node.items(), *dag.edge.items()):
                known = next((value for value in column if value is not None), None)
                if known is not None:
                    found.setdefault(name, not isinstance(known, str))
        return found

    @property
    def means(self) -> list[str]:
        """The means of the columns of numbers, one for each."""
        return [f"mean({name})" for name, is_number in self._columns.items() if is_number]

    @property
    def names(self) -> list[str]:
        """All of them, as they are written in a filter."""
        own = [*self._given, NODES, EDGES, *self._named]
        more = [name for name in self._properties if name not in own]
        return [*own, *more, *self.means, *(f"count({label})" for label in self.labels[:MAX_TYPES])]

    @property
    def useful(self) -> list[str]:
        """Those that tell DAGs apart."""
        few = Quantities(self.dags[:SAMPLE], {}, labels=self.labels)  # types are many, and counted one by one
        return [name for name in self.names if (few if _CALLED.fullmatch(name) else self).get(name).varies]

    def is_category(self, name: str) -> bool:
        """Whether this is a column of words, of nodes or edges."""
        return self._columns.get(name) is False and name not in self.names

    def has_value(self, name: str, value: str) -> Mask:
        """Which DAGs have a node or an edge with this word in a column."""
        columns = [(*dag.node.get(name, ()), *dag.edge.get(name, ())) for dag in self.dags]
        return np.array([value in column for column in columns], bool)

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
        called = _CALLED.fullmatch(name)
        if called is None or (called[1] == "mean" and name not in self.means):
            few = ", ".join(self.names[:12])
            raise RequestError(f"there is no {name!r} here; choose one of {few}, or count(TYPE)")
        if called[1] == "mean":
            return Quantity(name, _floats([_mean(dag, called[2]) for dag in self.dags]))
        label = self.label(called[2])
        return Quantity(name, _floats([dag.types.count(label) for dag in self.dags]))

    def label(self, text: str) -> Label:
        """The type of nodes that is written so."""
        bare = text.strip()
        unquoted = bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] == '"' else bare
        for written in (text, bare, unquoted):  # a name may have spaces or quotation marks of its own
            for label in self.labels:
                if str(label) == written:
                    return label
        few = ", ".join(str(label) for label in self.labels[:12])
        raise RequestError(f"no DAG here has a node of type {unquoted!r}; types are {few}")

    def _has_edge(self, source: str, target: str) -> Mask:
        """Which DAGs have an edge from one type to another."""
        ends = self.label(source), self.label(target)
        return np.array([any((dag.types[u], dag.types[v]) == ends for u, v in dag.edges) for dag in self.dags], bool)


def _mean(dag: Dag, column: str) -> float | None:
    """The mean of a column of numbers over the nodes and edges that have one."""
    values = [float(value) for value in (*dag.node.get(column, ()), *dag.edge.get(column, ())) if value is not None]
    return sum(values) / len(values) if values else None


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
