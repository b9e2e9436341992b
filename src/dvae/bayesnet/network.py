"""A Bayesian network as a value: its variables, their parents and, where they are known, its parameters.

Discrete variables have tables; continuous ones are Gaussian, linear in their continuous parents, with a line for each
configuration of their discrete parents (conditional linear Gaussian). A discrete variable has no continuous parent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dvae.dag import Dag
from dvae.dag.value import topological_order
from dvae.errors import DagError, TaskError

Floats: TypeAlias = npt.NDArray[np.float64]
Array: TypeAlias = npt.NDArray[Any]
ROW_TOLERANCE = 0.011  # by which a row of a table may miss 1: tables of others are rounded, thirds to 0.33


@dataclass(frozen=True, eq=False)
class ProbabilityTable:
    """Probabilities of a discrete variable: an axis for each parent, in their order, then its own states."""

    probabilities: Floats

    def __post_init__(self) -> None:
        shares = np.array(self.probabilities, dtype=np.float64)
        if not np.isfinite(shares).all() or (shares < 0).any():
            raise TaskError("a probability is negative or no number")
        sums = shares.sum(-1)
        if (np.abs(sums - 1) > ROW_TOLERANCE).any():
            worst = float(sums.flat[int(np.abs(sums - 1).argmax())])
            raise TaskError(f"the probabilities of a row add up to {worst:.6g}; they must add up to 1")
        object.__setattr__(self, "probabilities", shares)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ProbabilityTable) and np.array_equal(self.probabilities, other.probabilities)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    """Parameters of a continuous variable: axes for its discrete parents and, of the coefficients, its continuous ones.

    Its mean is `intercept + coefficients @ continuous parents`.
    """

    intercept: Floats  # discrete parents...
    coefficients: Floats  # discrete parents... continuous parent
    deviation: Floats  # discrete parents...

    def __post_init__(self) -> None:
        for name in ("intercept", "coefficients", "deviation"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if not np.isfinite(values).all():
                raise TaskError(f"the {name} of a continuous variable is no finite number")
            object.__setattr__(self, name, values)
        if (self.deviation <= 0).any():
            raise TaskError("the deviation of a continuous variable must be positive")

    def __eq__(self, other: object) -> bool:
        names = ("intercept", "coefficients", "deviation")
        return isinstance(other, LinearGaussian) and all(
            np.array_equal(getattr(self, n), getattr(other, n)) for n in names
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True)
class Variable:
    """A variable of a network; `states` is None for a continuous one, `parameters` where they are not known."""

    name: str
    states: tuple[str, ...] | None = None
    parents: tuple[str, ...] = ()
    parameters: ProbabilityTable | LinearGaussian | None = None

    def __post_init__(self) -> None:
        if not self.name:
            raise TaskError("a variable of a network needs a name")
        if self.states is not None and not self.states:
            raise TaskError(f"the variable {self.name!r} has no states")
        if self.states is not None and len(set(self.states)) < len(self.states):
            raise TaskError(f"the variable {self.name!r} has a state twice: {', '.join(self.states)}")
        if len({self.name, *self.parents}) <= len(self.parents):
            raise TaskError(f"the parents of {self.name!r} must differ from it and from one another")

    @property
    def is_discrete(self) -> bool:
        """Whether the variable has states rather than numbers."""
        return self.states is not None


@dataclass(frozen=True)
class Network:
    """A Bayesian network: variables in the order of their table; equal where everything is, parameters included."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "variables", tuple(self.variables))
        names = self.names
        if not names:
            raise TaskError("a network needs at least one variable")
        if len(set(names)) < len(names):
            raise TaskError(f"the variable {next(n for n in names if names.count(n) > 1)!r} is given twice")
        for variable in self.variables:
            self._check_parents(variable)
        try:
            order = topological_order(len(names), self._index_edges())
        except DagError:
            raise TaskError("the network has a cycle; no variable may be its own ancestor") from None
        object.__setattr__(self, "_order", tuple(names[place] for place in order))
        for variable in self.variables:
            self._check_shapes(variable)

    @classmethod
    def of(cls, dag: Dag, states: Mapping[str, Sequence[str] | None], names: Sequence[str] | None = None) -> Network:
        """The structure of a DAG over variables with these states, None for continuous ones, without parameters."""
        labels = [str(label) for label in dag.types]
        parents = {
            labels[node]: tuple(labels[parent] for parent in above) for node, above in enumerate(dag.predecessors())
        }
        missing = [name for name in (names or labels) if name not in parents or name not in states]
        if missing or len(parents) != len(names or labels):
            raise TaskError(f"the DAG and the states do not name the same variables{_first(missing)}")
        return cls(
            tuple(
                Variable(name, None if (given := states[name]) is None else tuple(given), parents[name])
                for name in (names or labels)
            )
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def index_of(self) -> dict[str, int]:
        """The place of every variable."""
        return {name: place for place, name in enumerate(self.names)}

    @property
    def order(self) -> tuple[str, ...]:
        """The names with parents before children."""
        order: tuple[str, ...] = self._order  # type: ignore[attr-defined]
        return order

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Parent and child of every edge."""
        return tuple((parent, variable.name) for variable in self.variables for parent in variable.parents)

    @property
    def dag(self) -> Dag:
        """The structure alone."""
        return Dag(self.names, tuple(self._index_edges()))

    @property
    def is_discrete(self) -> bool:
        """Whether all variables have states."""
        return all(variable.is_discrete for variable in self.variables)

    @property
    def has_parameters(self) -> bool:
        """Whether the parameters of all variables are known."""
        return all(variable.parameters is not None for variable in self.variables)

    @property
    def num_parameters(self) -> int:
        """How many numbers are free in all tables and lines."""
        return sum(free_parameters(self, variable) for variable in self.variables)

    @cached_property
    def children(self) -> dict[str, tuple[str, ...]]:
        """The children of every variable."""
        lists: dict[str, list[str]] = {name: [] for name in self.names}
        for parent, child in self.edges:
            lists[parent].append(child)
        return {name: tuple(below) for name, below in lists.items()}

    def __getitem__(self, name: str) -> Variable:
        if name not in self.index_of:
            known = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
            raise TaskError(f"the network has no variable {name!r} (it has {known})")
        return self.variables[self.index_of[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.index_of

    def __len__(self) -> int:
        return len(self.variables)

    def __repr__(self) -> str:
        return f"Network({len(self)} variables, {len(self.edges)} edges)"

    def code(self, name: str, state: str) -> int:
        """The place of a state of a discrete variable."""
        states = self[name].states
        if states is None:
            raise TaskError(f"{name!r} is continuous; it has no states")
        if state not in states:
            known = ", ".join(states[:12]) + (", ..." if len(states) > 12 else "")
            raise TaskError(f"the variable {name!r} has no state {state!r} (it has {known})")
        return states.index(state)

    def with_parents(self, parents: Mapping[str, Iterable[str]]) -> Network:
        """The network with other parents for some variables, which lose their parameters."""
        return Network(
            tuple(
                replace(variable, parents=tuple(parents[variable.name]), parameters=None)
                if variable.name in parents
                else variable
                for variable in self.variables
            )
        )

    def structure(self) -> Network:
        """The network without its parameters."""
        return Network(tuple(replace(variable, parameters=None) for variable in self.variables))

    def discrete_parents(self, variable: Variable) -> tuple[str, ...]:
        """The parents with states, in their order."""
        return tuple(parent for parent in variable.parents if self[parent].is_discrete)

    def continuous_parents(self, variable: Variable) -> tuple[str, ...]:
        """The parents without states, in their order."""
        return tuple(parent for parent in variable.parents if not self[parent].is_discrete)

    def sizes(self, names: Iterable[str]) -> tuple[int, ...]:
        """The numbers of states of discrete variables."""
        return tuple(len(self[name].states or ()) for name in names)

    def need_parameters(self) -> None:
        """Refuses a network whose parameters are not all known."""
        for variable in self.variables:
            if variable.parameters is None:
                raise TaskError(f"the parameters of {variable.name!r} are not known; fit the network to a table first")

    def _index_edges(self) -> list[tuple[int, int]]:
        return [(self.index_of[parent], self.index_of[child]) for parent, child in self.edges]

    def _check_parents(self, variable: Variable) -> None:
        for parent in variable.parents:
            if parent not in self.index_of:
                raise TaskError(f"{variable.name!r} has the parent {parent!r}, which is no variable of the network")
            if variable.is_discrete and not self[parent].is_discrete:
                raise TaskError(f"the discrete variable {variable.name!r} has the continuous parent {parent!r}")

    def _check_shapes(self, variable: Variable) -> None:
        given = self.sizes(self.discrete_parents(variable))
        parameters = variable.parameters
        if isinstance(parameters, ProbabilityTable):
            wanted = (*given, len(variable.states or ()))
            if not variable.is_discrete or parameters.probabilities.shape != wanted:
                raise TaskError(f"the table of {variable.name!r} is {parameters.probabilities.shape}, not {wanted}")
        elif isinstance(parameters, LinearGaussian):
            lines = (*given, len(self.continuous_parents(variable)))
            shapes = (parameters.intercept.shape, parameters.deviation.shape, parameters.coefficients.shape)
            if variable.is_discrete or shapes != (given, given, lines):
                raise TaskError(f"the parameters of {variable.name!r} do not fit its parents")


def free_parameters(network: Network, variable: Variable) -> int:
    """How many numbers are free in the table or the lines of a variable."""
    rows = math.prod(network.sizes(network.discrete_parents(variable)))
    if variable.states is not None:
        return rows * (len(variable.states) - 1)
    return rows * (len(network.continuous_parents(variable)) + 2)


def _first(missing: Sequence[str]) -> str:
    return f" ({missing[0]!r})" if missing else ""
