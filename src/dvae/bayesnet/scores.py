"""Scores of discrete Bayesian networks, as R's bnlearn defines them; higher is better.

A score is a sum of local terms, one for each variable X with its parents P. Each local term is a difference of two
functions of the joint counts n_s of the configurations s of a set of variables (q of them, r levels of X):

    log-likelihood   E(P + X) - E(P)         E = sum_s n_s ln n_s
    BIC, AIC         the same - c (r - 1) q  c = ln(n) / 2 and 1; configurations that never occur count in q
    K2               F(P + X) - R(P)         F = sum_s ln n_s!,  R = sum_s ln (n_s + r - 1)! / (r - 1)!
    BDe              D(P + X) - D(P)         D = sum_s ln Gamma(a + n_s) / Gamma(a),  a = imaginary sample size / q

so that all variables of a family share its counts. Sets of variables are bit masks; nothing is computed twice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from dvae.bayesnet.counting import Extension, Floats, Integers, JointCounts, bits
from dvae.bayesnet.discrete import DiscreteData
from dvae.dag import Dag
from dvae.errors import TaskError

ScoreName = Literal["bic", "aic", "loglik", "k2", "bde"]
SCORE_NAMES: tuple[ScoreName, ...] = get_args(ScoreName)

Booleans: TypeAlias = npt.NDArray[np.bool_]
Term: TypeAlias = tuple[Literal["entropy", "factorial", "rising", "dirichlet"], int]

MAX_TABULATED = 22  # variables whose 2^n sets are all tabulated: 22 take 1.5 GB and minutes
CELLS_AT_ONCE = 2**25  # of adjacency matrices, when many networks are scored


class NetworkScores:
    """Scores of networks over the variables of `data`; `iss` is BDe's imaginary sample size.

    Local terms and the terms of sets of variables are kept, so an instance grows with use.
    """

    def __init__(self, data: DiscreteData, iss: float = 1.0) -> None:
        if not (math.isfinite(iss) and iss > 0):
            raise TaskError(f"the imaginary sample size is {iss}; it must be a positive number")
        self.data = data
        self.iss = float(iss)
        self.names = data.names
        self.index_of = {name: index for index, name in enumerate(data.names)}
        self.num_levels = data.num_levels
        rows, weights = data.grouped
        self._columns = [np.ascontiguousarray(column) for column in rows.T]
        self._joint = JointCounts(self._columns, self.num_levels, weights)
        self._level_counts = np.array(self.num_levels, dtype=np.float64)
        self._terms: dict[tuple[Term, int], float] = {}
        self._extensions: dict[tuple[Term, int], Floats] = {}
        self._tables: dict[Term, Floats] = {}
        self._locals: dict[tuple[str, int, int], float] = {}

    def local(self, name: ScoreName, variable: str, parents: Iterable[str] = ()) -> float:
        """The term of `variable` with these parents."""
        places = [self._place(parent) for parent in (variable, *parents)]
        if len(set(places)) < len(places):
            raise TaskError(f"the parents of {variable!r} must differ from it and from one another")
        return self.local_of(_checked(name), places[0], sum(1 << place for place in places[1:]))

    def local_of(self, name: ScoreName, variable: int, parents: int) -> float:
        """The term of the variable at an index with the parents in a bit mask."""
        key = (name, variable, parents)
        found = self._locals.get(key)
        if found is None:
            whole, given = self._parts(name, variable)
            gain = self._term(whole, parents | 1 << variable) - self._term(given, parents)
            cells = math.prod(self.num_levels[place] for place in bits(parents))
            found = gain - self._price(name) * (self.num_levels[variable] - 1) * cells
            self._locals[key] = found
        return found

    def additions(self, name: ScoreName, variable: int, parents: int) -> Floats:
        """The terms of a variable with each variable as one more parent; those it has, and itself, mean nothing."""
        whole, given = self._parts(name, variable)
        family = parents | 1 << variable
        if (whole, family) not in self._extensions and (given, parents) not in self._extensions:
            self._extend(((whole, family), (given, parents)), self._joint.extended_family(variable, parents))
        gain = self._extended(whole, family) - self._extended(given, parents)
        cells = math.prod(self.num_levels[place] for place in bits(parents)) * self._level_counts
        added: Floats = gain - self._price(name) * (self.num_levels[variable] - 1) * cells
        return added

    def _extended(self, term: Term, mask: int) -> Floats:
        """The terms of a set with each variable as one more."""
        key = (term, mask)
        if key not in self._extensions:
            self._extend((key,), zip(self._joint.extended(mask)))
        return self._extensions[key]

    def _extend(self, keys: Sequence[tuple[Term, int]], extensions: Iterable[tuple[Extension, ...]]) -> None:
        """Keeps the terms of some sets with each variable as one more, from their counts."""
        found = [np.empty(len(self.names)) for _ in keys]
        for parts in extensions:
            for (term, mask), (places, counts, firsts), terms in zip(keys, parts, found, strict=True):
                if term[0] == "dirichlet":
                    cells = math.prod(self.num_levels[place] for place in bits(mask))
                    wide = np.diff([*firsts, counts.shape[1]])
                    values = _rising(counts, np.repeat(self.iss / (cells * self._level_counts[places]), wide))
                else:
                    values = self._by_count(term)[counts]
                terms[places] = np.add.reduceat(values.sum(0), firsts)
        self._extensions.update(zip(keys, found, strict=True))

    def _by_count(self, term: Term) -> Floats:
        """What one configuration adds, by the number of rows that have it."""
        if term not in self._tables:
            counts = np.arange(self.data.num_rows + 1)
            kind, levels = term
            if kind == "entropy":
                table: Floats = counts.astype(np.float64) * np.log(np.maximum(counts, 1))
            else:
                table = _rising(counts, 1.0 if kind == "factorial" else float(levels))
            self._tables[term] = table
        return self._tables[term]

    def score(self, name: ScoreName, dag: Dag) -> float:
        """The score of one network."""
        return float(self.score_many(name, [dag])[0])

    def score_many(self, name: ScoreName, networks: Sequence[Dag] | Booleans) -> Floats:
        """One score per network: DAGs over the variables, or adjacency matrices in the order of the data's columns.

        `adjacency[b, u, v]` says that u is a parent of v.
        """
        _checked(name)
        step = max(1, CELLS_AT_ONCE // len(self.names) ** 2)
        scores = np.zeros(len(networks))
        for start in range(0, len(networks), step):
            part = networks[start : start + step]
            adjacency = _acyclic(part, len(self.names)) if isinstance(part, np.ndarray) else self.adjacency(part)
            masks = parent_masks(adjacency)
            for variable in range(len(self.names)):
                families, which = np.unique(masks[:, variable], return_inverse=True)
                terms = [self.local_of(name, variable, int(parents)) for parents in families]
                scores[start : start + step] += np.array(terms)[which]
        return scores

    def adjacency(self, dags: Sequence[Dag]) -> Booleans:
        """The DAGs as matrices, in the order of the data's columns."""  # batch variable variable
        size = len(self.names)
        for number, dag in enumerate(dags):
            if len(dag) != size or set(dag.types) != self.index_of.keys():
                raise TaskError(f"DAG {number} is no network over the variables of the data: {self.problem(dag)}")
        places = np.array([[self.index_of[str(label)] for label in dag.types] for dag in dags], dtype=np.intp)
        counts = [len(dag.edges) for dag in dags]
        graphs = np.repeat(np.arange(len(dags)), counts)
        ends = np.fromiter(chain.from_iterable(chain.from_iterable(dag.edges for dag in dags)), np.intp)
        sources, targets = ends.reshape(-1, 2).T
        adjacency = np.zeros((len(dags), size, size), dtype=np.bool_)
        if len(graphs):
            adjacency[graphs, places[graphs, sources], places[graphs, targets]] = True
        return adjacency

    def problem(self, dag: Dag) -> str | None:
        """Why `dag` is no network over the variables of the data, if it is none."""
        times = Counter(dag.types)
        for label in dag.types:
            if label not in self.index_of:
                known = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
                return f"the data have no variable {label!r} (they have {known})"
            if times[label] > 1:
                return f"the variable {label!r} stands {times[label]} times in the DAG"
        missing = [name for name in self.names if name not in times]
        return f"the variable {missing[0]!r} is missing from the DAG" if missing else None

    def dag(self, parents: Sequence[int]) -> Dag:
        """The network of one bit mask of parents a variable."""
        edges = [(source, target) for target, mask in enumerate(parents) for source in bits(mask)]
        return Dag(self.names, tuple(edges))

    def local_tables(self, name: ScoreName, max_parents: int | None = None) -> list[Floats]:
        """For each variable, its local terms with every set of parents, -inf where there are more than allowed.

        A set's place is its bit mask with the variable's own bit squeezed out (`squeezed`).
        """
        size = len(self.names)
        if size > MAX_TABULATED:
            raise TaskError(f"all parent sets are tabulated for at most {MAX_TABULATED} variables, not {size}")
        limit = size - 1 if max_parents is None else min(max_parents, size - 1)
        parts = [self._parts(_checked(name), variable) for variable in range(size)]
        terms = self._all_terms(set(chain.from_iterable(parts)), limit + 1)
        cells = np.ones(1)
        for levels in self.num_levels:
            cells = np.concatenate([cells, cells * levels])
        too_many = np.bitwise_count(np.arange(2 ** (size - 1))) > limit
        tables = []
        for variable, (whole, given) in enumerate(parts):
            gain = _halves(terms[whole], variable)[1] - _halves(terms[given], variable)[0]
            price = self._price(name) * (self.num_levels[variable] - 1)
            tables.append(np.where(too_many, -np.inf, gain - price * _halves(cells, variable)[0]))
        return tables

    def _place(self, variable: str) -> int:
        if variable not in self.index_of:
            raise TaskError(f"the data have no variable {variable!r}")
        return self.index_of[variable]

    def _parts(self, name: ScoreName, variable: int) -> tuple[Term, Term]:
        """Whose difference the local term is: of the family, and of the parents alone."""
        if name == "k2":
            return ("factorial", 0), ("rising", self.num_levels[variable])
        return (("dirichlet", 0),) * 2 if name == "bde" else (("entropy", 0),) * 2

    def _price(self, name: ScoreName) -> float:
        """What a parameter costs."""
        return {"bic": math.log(self.data.num_rows) / 2, "aic": 1.0}.get(name, 0.0)

    def _term(self, term: Term, mask: int) -> float:
        key = (term, mask)
        if key not in self._terms:
            cells = math.prod(self.num_levels[place] for place in bits(mask))
            self._terms[key] = self._value(term, self._joint.counts(mask), cells)
        return self._terms[key]

    def _value(self, term: Term, counts: Floats, cells: float) -> float:
        """A term from the counts of the configurations that occur; the others, of `cells`, add nothing."""
        kind, levels = term
        if kind == "entropy":
            return float(counts @ np.log(counts))
        if kind == "factorial":
            return float(gammaln(counts + 1).sum())
        start = levels if kind == "rising" else self.iss / cells
        return float(gammaln(start + counts).sum() - len(counts) * gammaln(start))

    def _all_terms(self, wanted: set[Term], most: int) -> dict[Term, Floats]:
        """The terms of all sets of at most so many variables, by bit mask; each set's counts refine a smaller one's."""
        size = len(self.names)
        terms = {term: np.zeros(2**size) for term in wanted}

        def visit(mask: int, first: int, room: int, codes: Integers, counts: Floats, cells: float) -> None:
            for term, table in terms.items():
                table[mask] = self._value(term, counts, cells)
            scaled: dict[int, Integers] = {}  # by number of levels, which many variables share
            for place in range(first, size if room else first):
                levels = self.num_levels[place]
                if levels not in scaled:
                    scaled[levels] = codes * levels
                finer = scaled[levels] + self._columns[place]
                every = self._joint.counted(finer, len(counts) * levels)
                seen = every.nonzero()[0]
                if room > 1 and place + 1 < size:  # it has children, for which it is made dense
                    numbers[seen] = np.arange(len(seen))
                    finer = numbers[finer]
                visit(mask | 1 << place, place + 1, room - 1, finer, every[seen], cells * levels)

        numbers = np.empty(self._joint.num_rows * max(self.num_levels), dtype=np.intp)
        rows = np.zeros(self._joint.num_rows, dtype=np.intp)
        visit(0, 0, most, rows, np.array([float(self.data.num_rows)]), 1.0)
        return terms


def parent_masks(adjacency: Booleans) -> npt.NDArray[np.generic]:
    """The parents of every variable as a bit mask, of as many bits as it takes."""  # batch variable
    size = adjacency.shape[1]
    if size <= 62:
        masks: npt.NDArray[np.int64] = np.einsum("buv,u->bv", adjacency, 1 << np.arange(size, dtype=np.int64))
        return masks
    packed = np.packbits(adjacency, axis=1, bitorder="little").swapaxes(1, 2)
    whole = np.empty(packed.shape[:2], dtype=object)
    for place in np.ndindex(*whole.shape):
        whole[place] = int.from_bytes(packed[place].tobytes(), "little")
    return whole


def squeezed(mask: int, variable: int) -> int:
    """A bit mask without the place of `variable`."""
    return mask & ((1 << variable) - 1) | mask >> (variable + 1) << variable


def _rising(counts: npt.NDArray[np.integer], start: Floats | float) -> Floats:
    """ln Gamma(start + count) / Gamma(start)."""
    found: Floats = gammaln(start + counts) - gammaln(start)
    return found


def _halves(table: Floats, variable: int) -> tuple[Floats, Floats]:
    """A table over all sets as two: the sets without a variable, and the same with it."""
    pairs = table.reshape(-1, 2, 2**variable)
    return pairs[:, 0].ravel(), pairs[:, 1].ravel()


def _checked(name: ScoreName) -> ScoreName:
    if name not in SCORE_NAMES:
        raise TaskError(f"there is no score {name!r}; choose one of {', '.join(SCORE_NAMES)}")
    return name


def _acyclic(adjacency: npt.NDArray[np.generic], size: int) -> Booleans:
    """Adjacency matrices, checked."""
    if adjacency.ndim != 3 or adjacency.shape[1:] != (size, size):
        raise TaskError(f"adjacency matrices of {size} variables are batch x {size} x {size}, not {adjacency.shape}")
    edges = adjacency.astype(np.bool_)
    left = np.ones(edges.shape[:2], dtype=np.bool_)  # variables not yet reached from the sources
    for _ in range(size):
        left &= (edges & left[:, :, None]).any(axis=1)
    cyclic = left.any(axis=1)
    if cyclic.any():
        raise TaskError(f"network {int(cyclic.argmax())} has a cycle")
    return edges
