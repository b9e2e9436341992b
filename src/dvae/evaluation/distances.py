"""How far the shapes of two sets of DAGs are apart: depth, layer sizes, types, degrees.

    W1(depth)  =  the area between the two distribution functions of the number of layers
    MMD^2      =  mean k(x, x') + mean k(y, y') - 2 mean k(x, y),   k(x, y) = exp(-d(x, y)^2 / 2)

x and y are histograms of one graph each, as shares: of the sizes of its layers, of its types, of the in- and the
out-degrees of its nodes. d is the Wasserstein distance of two histograms, for types their total variation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch import Tensor

from dvae.config import check
from dvae.dag import Dag

AT_ONCE = 1_000  # graphs of each set that are compared in pairs


@dataclass(frozen=True)
class Distances:
    """Each 0 for equal distributions; the first is in layers, the others lie between 0 and 2."""

    depth: float
    layer_sizes: float
    types: float
    in_degrees: float
    out_degrees: float

    def to_mapping(self) -> dict[str, float]:
        """Plain values for JSON."""
        return asdict(self)


def distances(found: Sequence[Dag], truth: Sequence[Dag]) -> Distances:
    """How far `found` are from `truth`; of large sets, graphs at equal steps are compared in pairs."""
    check(len(found) >= 1 and len(truth) >= 1, "two sets of DAGs are compared, and one is empty")
    depth = wasserstein([len(layer_sizes(dag)) for dag in found], [len(layer_sizes(dag)) for dag in truth])
    some, others = _spread(found), _spread(truth)
    labels = sorted({label for dag in (*some, *others) for label in dag.types}, key=str)
    code = {label: place for place, label in enumerate(labels)}

    def mmd_of(values: Callable[[Dag], Sequence[int]], *, ordered: bool) -> float:
        rows, other = [[values(dag) for dag in dags] for dags in (some, others)]
        width = 1 + max(max(row, default=0) for row in (*rows, *other))
        return mmd(_histograms(rows, width), _histograms(other, width), ordered=ordered)

    return Distances(
        depth,
        mmd_of(layer_sizes, ordered=True),
        mmd_of(lambda dag: [code[label] for label in dag.types], ordered=False),
        mmd_of(lambda dag: [len(sources) for sources in dag.predecessors()], ordered=True),
        mmd_of(lambda dag: [len(targets) for targets in dag.successors()], ordered=True),
    )


def layer_sizes(dag: Dag) -> list[int]:
    """How many nodes have each length of the longest path to them."""
    counts = Counter(dag.layers())
    return [counts[number] for number in range(len(counts))]


def wasserstein(found: Sequence[float], truth: Sequence[float]) -> float:
    """The 1-Wasserstein distance of two samples of numbers."""
    one, other = np.sort(np.asarray(found, dtype=float)), np.sort(np.asarray(truth, dtype=float))
    places = np.unique(np.concatenate([one, other]))
    below = [np.searchsorted(values, places[:-1], side="right") / len(values) for values in (one, other)]
    return float((np.abs(below[0] - below[1]) * np.diff(places)).sum())


def mmd(found: Tensor, truth: Tensor, *, ordered: bool) -> float:
    """The squared maximum mean discrepancy of histograms (rows); `ordered` where near bins are alike."""
    one, other = (rows.cumsum(1) if ordered else rows / 2 for rows in (found, truth))

    def mean_kernel(rows: Tensor, columns: Tensor) -> float:
        return float((-torch.cdist(rows, columns, p=1).square() / 2).exp().mean())

    return max(0.0, mean_kernel(one, one) + mean_kernel(other, other) - 2 * mean_kernel(one, other))


def _spread(dags: Sequence[Dag]) -> Sequence[Dag]:
    return dags if len(dags) <= AT_ONCE else [dags[place * len(dags) // AT_ONCE] for place in range(AT_ONCE)]


def _histograms(rows: Sequence[Sequence[int]], width: int) -> Tensor:
    counts = [torch.bincount(torch.tensor(row, dtype=torch.int64), minlength=width) for row in rows]
    found = torch.stack(counts).double()
    return found / found.sum(1, keepdim=True).clamp(min=1)
