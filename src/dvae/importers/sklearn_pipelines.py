"""Pipelines of scikit-learn: every estimator a node, unions and column transformers where branches meet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dvae.dag import Dag, Value
from dvae.dag.columns import columns_of
from dvae.errors import DagError
from dvae.extras import missing
from dvae.importers.program import INPUT, OUTPUT

PASS, DROP = "passthrough", "drop"
FEATURES = (("n_features_in_", "features"), ("n_features_out_", "features_out"))


def from_sklearn(estimator: Any) -> Dag:
    """The graph of a pipeline, or of any estimator: from the input through all steps to the output.

    A fitted estimator has the column `features`: how many it reads.
    """
    try:
        from sklearn.base import BaseEstimator
    except ImportError:
        raise missing("scikit-learn", "search", "reading pipelines") from None
    if not isinstance(estimator, BaseEstimator):
        raise DagError(f"an estimator of scikit-learn is expected, not {type(estimator).__name__}")
    graph = _Graph()
    ends = graph.add(estimator, [graph.node(INPUT, [])])
    graph.node(OUTPUT, ends)
    return Dag(tuple(graph.types), tuple(sorted(graph.edges)), columns_of(graph.rows, ()))


@dataclass
class _Graph:
    types: list[str] = field(default_factory=list)
    edges: set[tuple[int, int]] = field(default_factory=set)
    rows: list[dict[str, Value]] = field(default_factory=list)

    def node(self, kind: str, sources: list[int], estimator: Any = None) -> int:
        place = len(self.types)
        self.types.append(kind)
        self.edges |= {(source, place) for source in sources}
        self.rows.append(dict(_values(estimator)))
        return place

    def add(self, estimator: Any, sources: list[int]) -> list[int]:
        """The nodes at the end of an estimator that reads these."""
        if estimator is None or (isinstance(estimator, str) and estimator == PASS):
            return sources
        if hasattr(estimator, "steps"):  # a pipeline
            for _, step in estimator.steps:
                sources = self.add(step, sources)
            return sources
        branches = list(_branches(estimator))
        if not branches:
            return [self.node(type(estimator).__name__, sources, estimator)]
        ends = [end for branch in branches for end in self.add(branch, sources)]
        joined = self.node(type(estimator).__name__, ends, estimator)
        last = getattr(estimator, "final_estimator", None)
        return [joined] if last is None else self.add(last, [joined])


def _branches(estimator: Any) -> Iterator[Any]:
    """What an estimator does side by side, or wraps."""
    for name in ("transformer_list", "transformers", "estimators"):  # unions; column transformers; voting, stacking
        listed = getattr(estimator, name, None)
        if isinstance(listed, list | tuple) and listed and all(isinstance(item, tuple) for item in listed):
            yield from (item[1] for item in listed if item[1] != DROP)
            return
    inner = getattr(estimator, "estimator", None)  # searches, bagging, feature selection
    if inner is not None and hasattr(inner, "get_params"):
        yield inner


def _values(estimator: Any) -> Iterator[tuple[str, Value]]:
    for attribute, column in FEATURES:
        count = getattr(estimator, attribute, None)
        if isinstance(count, int):
            yield column, count
