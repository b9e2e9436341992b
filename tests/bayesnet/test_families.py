"""Family scores of all kinds of columns against slow, obvious versions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dvae.bayesnet import DiscreteData, NetworkScores, Table, families
from dvae.bayesnet.counting import bits, grouped
from dvae.bayesnet.families import GAUSSIAN_SCORES, MIXED_SCORES
from dvae.bayesnet.gaussian import GaussianScoreName
from dvae.bayesnet.scores import SCORE_NAMES, ScoreName
from dvae.errors import TaskError


def numbers(rows: int = 60, size: int = 4, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(rows, size)) @ generator.normal(size=(size, size)) * [1, 100, 0.01, 3] + [
        5,
        -9,
        0,
        1e3,
    ]


def regression(values: np.ndarray, parents: np.ndarray) -> float:
    """The log-likelihood of a regression, deviation as in lm()."""
    design = np.column_stack([np.ones(len(values)), parents])
    residuals = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    deviation = math.sqrt(residuals @ residuals / (len(values) - design.shape[1]))
    return float(stats.norm.logpdf(residuals, scale=deviation).sum())


@pytest.mark.parametrize("name", ["loglik-g", "bic-g", "aic-g"])
def test_gaussian_scores_are_those_of_regressions(name: GaussianScoreName) -> None:
    values = numbers()
    scores = families(Table.of(values), name)
    for variable in range(4):
        for mask in range(16):
            if mask >> variable & 1:
                continue
            above = list(bits(mask))
            price = {"loglik-g": 0.0, "bic-g": math.log(60) / 2, "aic-g": 1.0}[name]
            wanted = regression(values[:, variable], values[:, above]) - price * (len(above) + 2)
            assert scores.local(variable, mask) == pytest.approx(wanted, abs=1e-7)


def marginal(values: np.ndarray, size: int) -> float:
    """BGe of some of `size` columns, row by row: each row's multivariate t density given the rows before it."""
    own = values.shape[1]
    mean, weight, freedom = values.mean(0), 1.0, 2.0 + own  # the prior's marginal over these columns
    scale = np.eye(own) * (size + 2 - size - 1) / 2
    total = 0.0
    for row in values:
        spread = scale * (weight + 1) / (weight * (freedom - own + 1))
        total += stats.multivariate_t.logpdf(row, mean, spread, freedom - own + 1)
        off = row - mean
        scale = scale + weight / (weight + 1) * np.outer(off, off)
        mean = (weight * mean + row) / (weight + 1)
        weight, freedom = weight + 1, freedom + 1
    return float(total)


def test_bge_is_the_marginal_likelihood_row_by_row() -> None:
    values = np.random.default_rng(1).normal(size=(25, 3)) @ np.array([[1, 0.5, 0], [0, 1, 2], [0, 0, 1]])
    scores = families(Table.of(values), "bge")
    for variable, mask in ((0, 0), (0, 6), (1, 1), (2, 3), (2, 2)):
        above = list(bits(mask))
        wanted = marginal(values[:, [*above, variable]], 3) - (marginal(values[:, above], 3) if above else 0.0)
        assert scores.local(variable, mask) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("name", ["bge"])
def test_equivalent_gaussian_networks_score_alike(name: str) -> None:
    scores = families(Table.of(numbers()), name)
    forward, backward = scores.local(0, 0) + scores.local(1, 1), scores.local(1, 0) + scores.local(0, 2)
    assert forward == pytest.approx(backward, abs=1e-6)


def test_a_variable_that_others_determine_has_no_density() -> None:
    values = numbers()
    copy = np.column_stack([values[:, 0], values[:, 1], values[:, 0] + values[:, 1]])
    scores = families(Table.of(copy))
    assert scores.local(2, 0b11) == -math.inf
    assert math.isfinite(scores.local(2, 0b01))


def mixed(rows: int = 90, seed: int = 0) -> Table:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(2, size=rows), generator.integers(3, size=rows)
    x = generator.normal(size=rows) + first
    y = np.where(first, 2, -1) * x + second + generator.normal(size=rows)
    return Table.of({"p": first, "x": x, "q": second, "y": y, "r": first ^ (generator.random(rows) < 0.2)})


@pytest.mark.parametrize("name", MIXED_SCORES)
def test_mixed_scores_are_regressions_by_configuration(name: str) -> None:
    table = mixed()
    scores = families(table, name)
    price = {"loglik-cg": 0.0, "bic-cg": math.log(90) / 2, "aic-cg": 1.0}[name]
    p, x, q, y, _ = (column.values for column in table.columns)
    for parents, cells, continuous in (
        ((), 1, []),
        ((0,), 2, []),
        ((0, 1), 2, [x]),
        ((0, 1, 2), 6, [x]),
        ((1,), 1, [x]),
    ):
        groups = np.zeros(90, dtype=int)
        for place in parents:
            if place != 1:
                groups = groups * 3 + (p, None, q)[place]
        wanted = sum(
            regression(
                y[groups == group],
                np.array([each[groups == group] for each in continuous]).reshape(len(continuous), -1).T
                if continuous
                else np.empty((int((groups == group).sum()), 0)),
            )
            for group in np.unique(groups)
        ) - price * cells * (len(continuous) + 2)
        assert scores.local(3, sum(1 << place for place in parents)) == pytest.approx(wanted, abs=1e-7)
    assert scores.local(0, 0b10) == -math.inf
    discrete = NetworkScores(Table.of({"p": p, "q": q}).discrete_data)
    assert scores.local(0, 0b100) == pytest.approx(discrete.local(name.removesuffix("-cg"), "p", ["q"]), abs=1e-9)  # type: ignore[arg-type]


def test_a_configuration_with_too_few_rows_is_not_taken() -> None:
    table = Table.of({"p": ["a"] * 18 + ["b"] * 2, "x": np.random.default_rng(0).normal(size=20)}, discrete=["p"])
    assert families(table).local(1, 0b1) > -math.inf  # two rows give one deviation
    table = Table.of({"p": ["a"] * 19 + ["b"], "x": np.random.default_rng(0).normal(size=20)}, discrete=["p"])
    assert families(table).local(1, 0b1) == -math.inf


def all_kinds() -> list[tuple[Table, str]]:
    generator = np.random.default_rng(2)
    words = Table.of({f"v{place}": generator.integers(2 + place % 2, size=40) for place in range(5)})
    return [
        *((words, name) for name in SCORE_NAMES),
        *((Table.of(numbers()), name) for name in GAUSSIAN_SCORES),
        (mixed(), "bic-cg"),
    ]


@pytest.mark.parametrize(("table", "name"), all_kinds(), ids=lambda value: value if isinstance(value, str) else "")
def test_additions_and_tables_say_the_same_as_single_families(table: Table, name: str) -> None:
    scores, alone = families(table, name), families(table, name)
    size = len(table.names)
    tables = scores.tables(size - 1)
    for variable in range(size):
        for mask in range(2**size):
            if mask >> variable & 1:
                continue
            squeezed = mask & ((1 << variable) - 1) | mask >> variable + 1 << variable
            assert tables[variable][squeezed] == pytest.approx(alone.local(variable, mask), abs=1e-8)
            added = scores.additions(variable, mask)
            for other in range(size):
                if other != variable and not mask >> other & 1 and scores.possible[other, variable]:
                    assert added[other] == pytest.approx(alone.local(variable, mask | 1 << other), abs=1e-8)


@pytest.mark.parametrize("name", SCORE_NAMES)
def test_equal_rows_are_counted_once_and_count_as_often(name: ScoreName) -> None:
    codes = np.random.default_rng(0).integers(2, size=(300, 4)).astype(np.int8)
    rows, weights = grouped(codes, [2] * 4)
    assert weights is not None
    assert len(rows) <= 16
    assert weights.sum() == 300
    few = np.random.default_rng(0).integers(9, size=(50, 6))
    assert grouped(few, [9] * 6)[1] is None
    data = DiscreteData(tuple("abcd"), codes, (("0", "1"),) * 4)
    scores = NetworkScores(data)
    for mask in (0b0010, 0b1110):
        cells = [codes[:, place] for place in bits(mask)]
        wanted = _slow(name, codes[:, 0], cells)
        assert scores.local_of(name, 0, mask) == pytest.approx(wanted, abs=1e-8)


def _slow(name: ScoreName, values: np.ndarray, parents: list[np.ndarray]) -> float:
    total, configurations = 0.0, 2 ** len(parents)
    for number in range(configurations):
        inside = np.ones(len(values), dtype=bool)
        for place, parent in enumerate(parents):
            inside &= parent == (number >> place & 1)
        counts = np.bincount(values[inside], minlength=2)
        if name in ("loglik", "bic", "aic"):
            total += sum(count * math.log(count / counts.sum()) for count in counts if count)
        elif name == "k2":
            total += math.lgamma(2) - math.lgamma(counts.sum() + 2) + sum(math.lgamma(count + 1) for count in counts)
        else:
            prior = 1 / (2 * configurations)
            total += math.lgamma(2 * prior) - math.lgamma(2 * prior + counts.sum())
            total += sum(math.lgamma(prior + count) - math.lgamma(prior) for count in counts)
    return total - {"bic": math.log(len(values)) / 2, "aic": 1.0}.get(name, 0.0) * configurations


def test_a_score_must_fit_the_columns() -> None:
    with pytest.raises(TaskError, match="'bic' is not for continuous columns; choose auto"):
        families(Table.of(numbers()), "bic")
    with pytest.raises(TaskError, match="no score 'bics'; did you mean 'bic'"):
        families(Table.of(numbers()), "bics")
