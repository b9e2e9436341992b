"""How far an expression is from 1/3 + x + sin(x * x): log(1 + MSE) on 1,000 points of [-10, 10], at most 7.

As published with the data (Tripp, Daxberger and Hernandez-Lobato, NeurIPS 2020). What overflows or is no number scores
the worst, 7. Nodes are computed with numpy one after another; nothing is evaluated as code.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy
from numpy.typing import NDArray

from dvae.dag import Dag
from dvae.tasks.expression_terms import PRODUCT, RECIPROCAL, SUM

WORST = 7.0
POINTS, LOW, HIGH = 1_000, -10.0, 10.0

Values = NDArray[numpy.float64]


def log_errors(dags: Sequence[Dag]) -> list[float]:
    """log(1 + MSE) of each expression, lower is better."""
    with numpy.errstate(all="ignore"):
        return [_log_error(dag) for dag in dags]


def values(dag: Dag) -> Values:
    """The expression's value at every point."""
    with numpy.errstate(all="ignore"):
        return numpy.broadcast_to(_value(dag), (POINTS,))


@cache
def points() -> Values:
    """The points at which expressions are compared."""
    return numpy.linspace(LOW, HIGH, POINTS)


@cache
def _target() -> Values:
    x = points()
    return 1 / 3 + x + numpy.sin(x * x)


def _log_error(dag: Dag) -> float:
    error = numpy.mean((_value(dag) - _target()) ** 2)
    found = float(numpy.log(1 + error))
    return min(WORST, found) if numpy.isfinite(found) else WORST


def _value(dag: Dag) -> Values:
    """A product with a reciprocal is computed as the quotient that it means, to the last bit."""
    inputs, found = dag.predecessors(), list[Values]()
    for label, operands in zip(dag.types, inputs, strict=True):
        first, second = (operands[0], operands[-1]) if operands else (0, 0)
        if label == "x":
            found.append(points())
        elif label == SUM:
            found.append(found[first] + found[second])
        elif label == PRODUCT and dag.types[second] == RECIPROCAL:
            found.append(found[first] / found[inputs[second][0]])
        elif label == PRODUCT and dag.types[first] == RECIPROCAL:
            found.append(found[second] / found[inputs[first][0]])
        elif label == PRODUCT:
            found.append(found[first] * found[second])
        elif label == RECIPROCAL:
            found.append(1 / found[first])
        elif label in ("sin", "exp"):
            found.append(numpy.sin(found[first]) if label == "sin" else numpy.exp(found[first]))
        else:
            found.append(numpy.float64(str(label)) * numpy.ones(1))
    return found[dag.sinks()[0]]
