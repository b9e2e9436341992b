from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dvae.errors import ConfigError
from dvae.evaluation import Estimate, clustered_proportion, mean_estimate, wilson


def covers(estimate: Estimate, truth: float) -> bool:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low <= truth <= estimate.high


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.27753), (10, 10, 0.72247, 1.0), (8, 10, 0.49016, 0.94333), (81, 263, 0.25526, 0.36621)],
)
def test_wilson_gives_the_published_intervals(successes: int, trials: int, low: float, high: float) -> None:
    estimate = wilson(successes, trials)
    assert (estimate.value, estimate.count) == (successes / trials, trials)
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-4)


def test_a_clustered_share_is_the_mean_of_the_graphs_with_the_t_interval_of_scipy() -> None:
    shares = [0.9, 1.0, 0.7, 0.8, 1.0, 0.75]
    estimate = clustered_proportion(shares)
    expected = stats.t.interval(0.95, len(shares) - 1, np.mean(shares), stats.sem(shares))
    assert estimate.value == pytest.approx(np.mean(shares))
    assert estimate.low == pytest.approx(expected[0])
    assert estimate.high == pytest.approx(min(1.0, expected[1]))
    assert estimate.count == len(shares)


def test_an_interval_stays_between_0_and_1() -> None:
    assert clustered_proportion([0.0, 0.2, 0.1]).low == 0.0
    assert clustered_proportion([1.0, 0.8, 0.9]).high == 1.0


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 40])
def test_graphs_that_all_agree_count_once_each(share: float, count: int) -> None:
    assert clustered_proportion([share] * count) == wilson(share * count, count)


def test_intervals_cover_the_truth_as_often_as_they_say_where_decodings_alone_would_not() -> None:
    random = np.random.default_rng(0)
    graphs, decodings, rounds, truth = 100, 100, 1000, 0.8
    shares = random.binomial(decodings, random.beta(0.8, 0.2, (rounds, graphs))) / decodings
    clustered = np.mean([covers(clustered_proportion(row), truth) for row in shares])
    naive = np.mean([covers(wilson(row.sum() * decodings, graphs * decodings), truth) for row in shares])
    assert 0.92 <= clustered <= 0.97
    assert naive < 0.4


def test_sizes_give_the_share_of_all_observations_and_still_cover_it() -> None:
    assert clustered_proportion([1.0, 0.0], sizes=[3, 1]).value == 0.75
    assert clustered_proportion([1.0, 0.0, 0.3], sizes=[3, 1, 0]) == clustered_proportion([1.0, 0.0], [3, 1])
    random = np.random.default_rng(1)
    # Large clusters succeed more often, so the mean of the clusters' shares would be wrong.
    sizes = random.integers(1, 11, (1000, 200))
    chance = np.clip(random.normal(0.3 + 0.05 * sizes, 0.1), 0, 1)
    truth = float((sizes * chance).sum() / sizes.sum())
    successes = random.binomial(sizes, chance)
    covered = [
        covers(clustered_proportion(row / size, size), truth) for row, size in zip(successes, sizes, strict=True)
    ]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_equal_sizes_change_nothing() -> None:
    shares = [0.1, 0.5, 0.3, 0.9]
    plain, sized = clustered_proportion(shares), clustered_proportion(shares, [7] * 4)
    assert (sized.low, sized.high) == pytest.approx((plain.low, plain.high))


def test_a_mean_has_the_t_interval_and_a_single_number_none() -> None:
    numbers = [3.0, 4.0, 8.0]
    estimate = mean_estimate(numbers)
    assert (estimate.low, estimate.high) == pytest.approx(stats.t.interval(0.95, 2, 5.0, stats.sem(numbers)))
    assert mean_estimate([2.0]) == Estimate(2.0, None, None, 1)


def test_impossible_counts_and_shares_are_refused() -> None:
    for call in (
        lambda: wilson(1, 0),
        lambda: wilson(3, 2),
        lambda: clustered_proportion([]),
        lambda: clustered_proportion([0.5], [0]),
        lambda: clustered_proportion([1.5]),
        lambda: clustered_proportion([0.5], [1, 2]),
        lambda: clustered_proportion([0.5, 0.6], confidence=95),
        lambda: mean_estimate([]),
        lambda: Estimate(0.5, 0.6, 0.7, 3),
        lambda: Estimate(0.5, 0.4, None, 3),
    ):
        with pytest.raises(ConfigError):
            call()
