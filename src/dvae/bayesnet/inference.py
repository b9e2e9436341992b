"""Questions to a network: how likely each value of a variable is, given the values of others. The answers are exact.

Discrete networks by variable elimination, Gaussian ones by conditioning their joint Gaussian. In mixed networks the
discrete parents of the continuous variables that matter are enumerated: each of their configurations has a Gaussian
and a weight, and the answer for a continuous variable is the mean and the deviation of that mixture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from dvae.bayesnet.factors import Factor, all_marginals, eliminate
from dvae.bayesnet.gaussians import JointGaussians, joint_gaussians
from dvae.bayesnet.network import Array, Floats, Network, ProbabilityTable
from dvae.errors import TaskError

MAX_NUMBERS = 2**25  # of the Gaussians of all configurations


@dataclass(frozen=True, eq=False)
class StateShares:
    """How likely each state of a discrete variable is."""

    name: str
    states: tuple[str, ...]
    probabilities: Floats

    @property
    def best(self) -> str:
        """The likeliest state; of equal ones the first."""
        return self.states[int(self.probabilities.argmax())]


@dataclass(frozen=True)
class NumberBelief:
    """The mean and the standard deviation of a continuous variable."""

    name: str
    mean: float
    deviation: float


Belief: TypeAlias = StateShares | NumberBelief
Evidence: TypeAlias = Mapping[str, str | float]


def query(network: Network, target: str, evidence: Evidence | None = None) -> Belief:
    """What a variable is, given what is known of others."""
    return Inference(network, evidence).belief(target)


class Inference:
    """A network and what is known: values of some of its variables, states by name and numbers as numbers."""

    def __init__(self, network: Network, evidence: Evidence | None = None) -> None:
        network.need_parameters()
        self.network = network
        self.codes: dict[str, int] = {}
        self.numbers: dict[str, float] = {}
        for name, value in (evidence or {}).items():
            if network[name].is_discrete:
                self.codes[name] = network.code(name, str(value))
            else:
                self.numbers[name] = _number(name, value)

    def belief(self, target: str) -> Belief:
        """What one variable is."""
        variable = self.network[target]
        if target in self.codes or target in self.numbers:
            raise TaskError(f"{target!r} is given as evidence; ask for another variable")
        if variable.states is None:
            return self._number(target)
        if self.numbers:
            weights = self._mixture([target])
            return StateShares(target, variable.states, weights.sum_to([target]).values)
        return StateShares(target, variable.states, self.joint([target]))

    def beliefs(self) -> dict[str, Belief]:
        """What every variable is that is not given."""
        wanted = [name for name in self.network.names if name not in self.codes and name not in self.numbers]
        if self.numbers:
            return {name: self.belief(name) for name in wanted}
        discrete = [name for name in wanted if self.network[name].is_discrete]
        found = all_marginals(self._factors(discrete))
        shares = {name: StateShares(name, self.network[name].states or (), found[name]) for name in discrete}
        return {name: shares[name] if name in shares else self._number(name) for name in wanted}

    def joint(self, targets: Iterable[str]) -> Floats:
        """The joint probabilities of some discrete variables, an axis for each; numbers that are given do not count."""
        targets = list(targets)
        factors = self._factors(targets)
        return eliminate(factors, targets)[0].values

    @cached_property
    def log_evidence(self) -> float:
        """The logarithm of the probability, or density, of what is known."""
        factors = self._factors([])
        logs = eliminate(factors, [])[1] if factors else 0.0
        if self.numbers:
            shares, densities = self._weighted([])
            top = float(densities.max())
            logs += top + math.log(float((shares.values.ravel() * np.exp(densities - top)).sum()))
        return logs

    def _factors(self, targets: Iterable[str]) -> list[Factor]:
        """The tables that the answer depends on: those of the targets, of what is known, and of their ancestors."""
        names = self._ancestors([*targets, *self.codes])
        factors = []
        for name in self.network.names:
            table = self.network[name].parameters
            if name in names and isinstance(table, ProbabilityTable):
                shares = table.probabilities / table.probabilities.sum(-1, keepdims=True)
                factors.append(Factor((*self.network[name].parents, name), shares).given(self.codes))
        return factors

    def _ancestors(self, names: Iterable[str]) -> set[str]:
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self.network[name].parents
        return found

    def _number(self, target: str) -> NumberBelief:
        shares, gaussians, logs = self._gaussians([], [target])
        weights = _weights(shares.values.ravel(), logs)
        place = gaussians.names.index(target)
        means, variances = gaussians.mean[:, place], gaussians.covariance[:, place, place]
        mean = float(weights @ means)
        variance = float(weights @ (variances + (means - mean) ** 2))
        return NumberBelief(target, mean, math.sqrt(max(variance, 0.0)))

    def _mixture(self, targets: list[str]) -> Factor:
        """The joint probabilities of discrete variables, numbers that are given included."""
        shares, logs = self._weighted(targets)
        return Factor(shares.names, _weights(shares.values.ravel(), logs).reshape(shares.values.shape))

    def _weighted(self, targets: list[str]) -> tuple[Factor, Floats]:
        shares, _, logs = self._gaussians(targets, [])
        return shares, logs

    def _gaussians(self, discrete: list[str], continuous: list[str]) -> tuple[Factor, JointGaussians, Floats]:
        """Configurations of discrete variables with their probabilities, the Gaussian of each, and the log-density
        that it gives to the numbers that are known."""
        involved = self._ancestors([*continuous, *self.numbers])
        numbers = [name for name in involved if not self.network[name].is_discrete]
        parents = {parent for name in numbers for parent in self.network.discrete_parents(self.network[name])}
        names = sorted({*discrete, *parents} - self.codes.keys(), key=self.network.index_of.__getitem__)
        sizes = self.network.sizes(names)
        count = math.prod(sizes)
        if count * len(numbers) ** 2 > MAX_NUMBERS:
            raise TaskError(
                f"the answer depends on {count:,} configurations of {len(names)} discrete variables above "
                f"{len(numbers)} continuous ones, too many to go through; give evidence for some of them"
            )
        shares = Factor(tuple(names), self.joint(names)) if names else Factor((), np.ones(()))
        grid = np.indices(sizes).reshape(len(names), count) if names else np.zeros((0, 1), dtype=np.intp)
        codes: dict[str, Array] = dict(zip(names, grid, strict=True))
        codes |= {name: np.full(count, code) for name, code in self.codes.items()}
        gaussians = joint_gaussians(self.network, numbers, codes, count)
        if not self.numbers:
            return shares, gaussians, np.zeros(count)
        rest, logs = gaussians.given(self.numbers)
        return shares, rest, logs


def _weights(shares: Floats, logs: Floats) -> Floats:
    weights: Floats = shares * np.exp(logs - logs.max())
    found: Floats = weights / weights.sum()
    return found


def _number(name: str, value: str | float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TaskError(f"{name!r} is continuous; {value!r} is no number") from None
    if not math.isfinite(number):
        raise TaskError(f"{name!r} is continuous; {value!r} is no finite number")
    return number
