"""Scores of families, a variable with its parents, as structure learning asks for them: one interface for all data.

A network's score is the sum over its variables. Parents are bit masks over the variables.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias, cast, get_args

import numpy as np

from dvae.bayesnet.conditional_gaussian import ConditionalGaussianFamilies, MixedScoreName
from dvae.bayesnet.counting import Floats
from dvae.bayesnet.gaussian import GaussianFamilies, GaussianScoreName
from dvae.bayesnet.scores import SCORE_NAMES, Booleans, NetworkScores, ScoreName
from dvae.bayesnet.table import Table
from dvae.errors import TaskError
from dvae.registry import suggestion

TableScoreName: TypeAlias = ScoreName | GaussianScoreName | MixedScoreName
GAUSSIAN_SCORES: tuple[GaussianScoreName, ...] = get_args(GaussianScoreName)
MIXED_SCORES: tuple[MixedScoreName, ...] = get_args(MixedScoreName)
TABLE_SCORES: tuple[TableScoreName, ...] = (*SCORE_NAMES, *GAUSSIAN_SCORES, *MIXED_SCORES)
DataKind: TypeAlias = Literal["discrete", "continuous", "mixed"]


class FamilyScores(Protocol):
    """Local scores; higher is better, -inf is a family that the data cannot be fitted to."""

    names: tuple[str, ...]

    @property
    def possible(self) -> Booleans:
        """Which edges there may be at all."""  # source target
        ...

    def local(self, variable: int, parents: int) -> float:
        """The score of a variable with these parents."""
        ...

    def additions(self, variable: int, parents: int) -> Floats:
        """The scores with each variable as one more parent; those it has, and itself, mean nothing."""
        ...

    def tables(self, max_parents: int) -> list[Floats]:
        """For each variable, its scores with every set of parents, as `NetworkScores.local_tables` has them."""
        ...


class DiscreteFamilies:
    """The scores of discrete networks, one of them chosen."""

    def __init__(self, scores: NetworkScores, name: ScoreName) -> None:
        self.scores, self.name, self.names = scores, name, scores.names

    @property
    def possible(self) -> Booleans:
        return ~np.eye(len(self.names), dtype=np.bool_)

    def local(self, variable: int, parents: int) -> float:
        return self.scores.local_of(self.name, variable, parents)

    def additions(self, variable: int, parents: int) -> Floats:
        return self.scores.additions(self.name, variable, parents)

    def tables(self, max_parents: int) -> list[Floats]:
        return self.scores.local_tables(self.name, max_parents)


def families(table: Table, score: str = "auto", iss: float | None = None) -> FamilyScores:
    """The family scores of a table without missing values; `auto` is BIC, as the data need it.

    `iss` is the imaginary sample size of bde (1 by default) and bge (that of the mean, 1).
    """
    name = score_name(table, score)
    if name in SCORE_NAMES:
        return DiscreteFamilies(NetworkScores(table.discrete_data, 1.0 if iss is None else iss), name)
    if name in GAUSSIAN_SCORES:
        values = table.numbers(range(len(table.columns)))
        return GaussianFamilies(table.names, values, name, 1.0 if iss is None else iss)
    return ConditionalGaussianFamilies(table, cast("MixedScoreName", name))


def score_name(table: Table, score: str = "auto") -> TableScoreName:
    """The name of the score, if there is one and it fits the table's columns."""
    kind = data_kind(table)
    fitting: tuple[TableScoreName, ...] = {
        "discrete": (*SCORE_NAMES, *MIXED_SCORES),
        "continuous": (*GAUSSIAN_SCORES, *MIXED_SCORES),
        "mixed": MIXED_SCORES,
    }[kind]
    if score == "auto":
        return {"discrete": "bic", "continuous": "bic-g", "mixed": "bic-cg"}[kind]  # type: ignore[return-value]
    if score not in TABLE_SCORES:
        raise TaskError(f"there is no score {score!r}; {suggestion(score, ('auto', *TABLE_SCORES))}")
    if score not in fitting:
        columns = {"discrete": "discrete", "continuous": "continuous", "mixed": "discrete and continuous"}[kind]
        raise TaskError(f"the score {score!r} is not for {columns} columns; choose auto or one of {', '.join(fitting)}")
    return score


def data_kind(table: Table) -> DataKind:
    """Whether all variables are discrete, all continuous, or some each."""
    if all(table.is_discrete):
        return "discrete"
    return "mixed" if any(table.is_discrete) else "continuous"
