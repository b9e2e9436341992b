"""Samples, predictions and comparisons of networks."""

from __future__ import annotations

import numpy as np
import pytest

from bayesnet.networks import mixed_network, random_network
from dvae.bayesnet import (
    Inference,
    Network,
    NumberBelief,
    ProbabilityTable,
    StateShares,
    accuracy,
    compare,
    fit,
    predict,
    row_log_likelihoods,
    sample,
)
from dvae.errors import TaskError


def columns(network: Network, count: int, seed: int) -> dict[str, list[object]]:
    rows = sample(network, count, seed)
    return {name: rows.labels(network, name) for name in network.names}


def test_samples_have_the_frequencies_of_the_network() -> None:
    network = random_network(2, 5)
    again = fit(network.structure(), columns(network, 40_000, 0), prior=0)
    for name, belief in Inference(again).beliefs().items():
        truth = Inference(network).belief(name)
        assert isinstance(belief, StateShares)
        assert isinstance(truth, StateShares)
        assert belief.probabilities == pytest.approx(truth.probabilities, abs=0.02)
    assert columns(network, 20, 1) == columns(network, 20, 1) != columns(network, 20, 2)
    with pytest.raises(TaskError, match="at least one"):
        sample(network, 0)


def test_mixed_samples_lead_back_to_the_lines() -> None:
    network = mixed_network()
    again = fit(network.structure(), columns(network, 20_000, 0))
    for evidence in ({}, {"sex": "m"}, {"age": 60.0, "smoker": "yes"}):
        found, truth = (Inference(each, evidence).belief("pressure") for each in (again, network))
        assert isinstance(found, NumberBelief)
        assert isinstance(truth, NumberBelief)
        assert found.mean == pytest.approx(truth.mean, abs=1)
        assert found.deviation == pytest.approx(truth.deviation, rel=0.05)


@pytest.mark.parametrize("column", ["a", "c", "f"])
def test_predictions_are_the_answers_of_inference_row_by_row(column: str) -> None:
    network = random_network(5)
    table = columns(network, 12, 3)
    table["b"][2] = table["d"][2] = table["d"][3] = None
    found = predict(network, table, column)
    assert found.probabilities is not None
    for row in range(12):
        known = {name: str(v[row]) for name, v in table.items() if name != column and v[row] is not None}
        truth = Inference(network, known).belief(column)
        assert isinstance(truth, StateShares)
        assert found.probabilities[row] == pytest.approx(truth.probabilities)
        assert found.values[row] == truth.best
    without = predict(network, {name: v for name, v in table.items() if name != column}, column)
    assert without.probabilities == pytest.approx(found.probabilities)


@pytest.mark.parametrize("column", ["age", "height", "pressure", "smoker"])
def test_predictions_of_mixed_networks_are_the_answers_of_inference(column: str) -> None:
    network = mixed_network()
    table = columns(network, 8, 3)
    table["sex"][1] = table["age"][2] = None
    found = predict(network, table, column)
    for row in range(8):
        known = {name: v[row] for name, v in table.items() if name != column and v[row] is not None}
        truth = Inference(network, known).belief(column)  # type: ignore[arg-type]
        if isinstance(truth, StateShares):
            assert found.probabilities is not None
            assert found.probabilities[row] == pytest.approx(truth.probabilities)
        else:
            assert found.mean is not None
            assert found.deviation is not None
            assert (found.mean[row], found.deviation[row]) == pytest.approx((truth.mean, truth.deviation))
    table["age"][2] = 40.0
    measured = accuracy(network, table, found)
    assert measured["rows"] == 8
    assert measured.keys() >= ({"accuracy"} if column == "smoker" else {"root_mean_squared_error"})


def test_missing_values_are_summed_out_of_the_log_likelihood() -> None:
    network = random_network(1, 5)
    table = columns(network, 6, 0)
    whole = row_log_likelihoods(network, table)
    table["c"][4] = None
    logs = row_log_likelihoods(network, table)
    assert logs[:4] == pytest.approx(whole[:4])
    filled = [
        row_log_likelihoods(network, {name: [v[4]] if name != "c" else [state] for name, v in table.items()})[0]
        for state in network["c"].states or ()
    ]
    assert logs[4] == pytest.approx(np.logaddexp.reduce(filled))


def test_of_two_networks_the_true_one_explains_new_rows_better() -> None:
    network = random_network(4, 6, edges=0.7)
    table = columns(network, 2_000, 0)
    empty = fit(network.with_parents(dict.fromkeys(network.names, ())), table)
    true = fit(network, table)
    found = compare(empty, true, columns(network, 2_000, 1))
    assert found.distance == len(found.only_second) == len(network.edges)
    assert not found.shared
    assert found.difference is not None
    assert found.difference.value > found.difference.half_width > 0
    assert found.difference.rows == 2_000
    same = compare(true, true)
    assert same.equivalent
    assert same.difference is None


def test_a_network_that_calls_a_row_impossible_has_no_finite_mean() -> None:
    network = random_network(4, 2)
    sure = Network(
        tuple(
            type(v)(v.name, v.states, (), ProbabilityTable(np.eye(len(v.states or ()))[0])) for v in network.variables
        )
    )
    found = compare(network, sure, columns(network, 50, 0))
    assert found.second is not None
    assert found.second.value == -np.inf
