"""Exact answers against the sum over everything that can happen."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from bayesnet.networks import mixed_network, random_network
from dvae.bayesnet import Inference, Network, NumberBelief, ProbabilityTable, StateShares, Variable, query
from dvae.bayesnet.network import Floats, LinearGaussian
from dvae.errors import TaskError


def brute_force(network: Network, evidence: dict[str, str]) -> tuple[dict[str, Floats], float]:
    """Marginals and the probability of the evidence, by going through all joint states."""
    sizes = network.sizes(network.names)
    marginals = {name: np.zeros(size) for name, size in zip(network.names, sizes, strict=True)}
    given = {name: network.code(name, state) for name, state in evidence.items()}
    for codes in product(*map(range, sizes)):
        state = dict(zip(network.names, codes, strict=True))
        if any(state[name] != code for name, code in given.items()):
            continue
        chance = 1.0
        for variable in network.variables:
            table = variable.parameters
            assert isinstance(table, ProbabilityTable)
            chance *= float(table.probabilities[tuple(state[name] for name in (*variable.parents, variable.name))])
        for name in network.names:
            marginals[name][state[name]] += chance
    total = float(next(iter(marginals.values())).sum())
    return {name: shares / total for name, shares in marginals.items()}, total


@pytest.mark.parametrize("seed", range(12))
def test_discrete_answers_are_the_sum_over_all_states(seed: int) -> None:
    network = random_network(seed, 7, edges=0.2 + 0.05 * seed)
    generator = np.random.default_rng(seed)
    seen = generator.choice(network.names, generator.integers(0, 4), replace=False)
    evidence = {str(name): str(generator.choice(network[str(name)].states or ())) for name in seen}
    truth, chance = brute_force(network, evidence)
    inference = Inference(network, evidence)
    everything = inference.beliefs()
    assert everything.keys() == set(network.names) - evidence.keys()
    for name, belief in everything.items():
        assert isinstance(belief, StateShares)
        assert belief.probabilities == pytest.approx(truth[name], abs=1e-12)
        single = query(network, name, evidence)
        assert isinstance(single, StateShares)
        assert single.probabilities == pytest.approx(truth[name], abs=1e-12)
    assert inference.log_evidence == pytest.approx(math.log(chance), abs=1e-10)


def test_joint_probabilities_have_an_axis_for_each_target() -> None:
    network = random_network(3, 5)
    joint = Inference(network, {"a": "s0"}).joint(["d", "b"])
    assert joint.shape == network.sizes(["d", "b"])
    single = query(network, "b", {"a": "s0"})
    assert isinstance(single, StateShares)
    assert joint.sum(0) == pytest.approx(single.probabilities)


def large_gaussian(seed: int = 0) -> Network:
    generator = np.random.default_rng(seed)
    variables: list[Variable] = []
    for place in range(6):
        above = [f"x{other}" for other in range(place) if generator.random() < 0.6]
        line = LinearGaussian(generator.normal(size=()), generator.normal(size=len(above)), generator.uniform(0.5, 2))
        variables.append(Variable(f"x{place}", None, tuple(above), line))
    return Network(tuple(variables))


def test_gaussian_answers_are_those_of_the_joint_gaussian() -> None:
    network = large_gaussian()
    size = len(network)
    weights, offsets, noise = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for place, variable in enumerate(network.variables):
        line = variable.parameters
        assert isinstance(line, LinearGaussian)
        offsets[place], noise[place] = float(line.intercept), float(line.deviation) ** 2
        for parent, slope in zip(variable.parents, line.coefficients, strict=True):
            weights[place, network.index_of[parent]] = slope
    spread = np.linalg.inv(np.eye(size) - weights)
    mean, covariance = spread @ offsets, spread @ np.diag(noise) @ spread.T
    seen, rest = [1, 4], [0, 2, 3, 5]
    values = np.array([0.3, -1.2])
    inside = np.linalg.inv(covariance[np.ix_(seen, seen)])
    gain = covariance[np.ix_(rest, seen)] @ inside
    wanted = mean[rest] + gain @ (values - mean[seen])
    spreads = covariance[np.ix_(rest, rest)] - gain @ covariance[np.ix_(seen, rest)]
    inference = Inference(network, {"x1": 0.3, "x4": "-1.2"})
    for place, number in enumerate(rest):
        belief = inference.belief(f"x{number}")
        assert isinstance(belief, NumberBelief)
        assert belief.mean == pytest.approx(wanted[place])
        assert belief.deviation == pytest.approx(math.sqrt(spreads[place, place]))
    error = values - mean[seen]
    log = -0.5 * (error @ inside @ error + np.linalg.slogdet(2 * np.pi * covariance[np.ix_(seen, seen)])[1])
    assert inference.log_evidence == pytest.approx(log)


def test_mixed_answers_are_those_of_many_weighted_samples() -> None:
    network = mixed_network()
    generator = np.random.default_rng(0)
    count = 400_000
    sex = (generator.random(count) < 0.4).astype(int)
    smoker = (generator.random(count) < np.array([0.3, 0.5])[sex]).astype(int)
    height = np.array([165.0, 178.0])[sex] + np.array([6.0, 7.0])[sex] * generator.normal(size=count)
    age = 40 + 12 * generator.normal(size=count)
    slopes = np.array([[0.8, 0.1], [1.0, 0.05]])[smoker]
    mean = np.array([70.0, 80.0])[smoker] + slopes[:, 0] * age + slopes[:, 1] * height
    deviation = np.array([8.0, 10.0])[smoker]
    weights = np.exp(-0.5 * ((140 - mean) / deviation) ** 2) / deviation
    inference = Inference(network, {"pressure": 140})
    beliefs = inference.beliefs()
    weights /= weights.sum()
    shares = beliefs["smoker"]
    assert isinstance(shares, StateShares)
    assert shares.probabilities[1] == pytest.approx(float(weights @ smoker), abs=0.01)
    for name, values in (("age", age), ("height", height)):
        belief = beliefs[name]
        assert isinstance(belief, NumberBelief)
        centre = float(weights @ values)
        assert belief.mean == pytest.approx(centre, abs=0.3)
        assert belief.deviation == pytest.approx(math.sqrt(float(weights @ (values - centre) ** 2)), abs=0.3)
    given = Inference(network, {"sex": "m", "smoker": "yes"}).belief("height")
    assert given == NumberBelief("height", 178.0, 7.0)


def test_evidence_that_cannot_happen_or_cannot_be_read_is_refused() -> None:
    yes_no = ("yes", "no")
    sure = Network(
        (
            Variable("a", yes_no, (), ProbabilityTable(np.array([1.0, 0.0]))),
            Variable("b", yes_no, ("a",), ProbabilityTable(np.array([[0.5, 0.5], [0.5, 0.5]]))),
        )
    )
    with pytest.raises(TaskError, match="cannot happen"):
        query(sure, "b", {"a": "no"})
    for evidence in ({"a": "no"}, {"a": "no", "b": "yes"}):
        with pytest.raises(TaskError, match="cannot happen"):
            Inference(sure, evidence).beliefs()
    with pytest.raises(TaskError, match="is given as evidence"):
        query(sure, "b", {"b": "no"})
    with pytest.raises(TaskError, match="no state 'maybe'"):
        query(sure, "b", {"a": "maybe"})
    with pytest.raises(TaskError, match="'old' is no number"):
        query(mixed_network(), "sex", {"age": "old"})
    with pytest.raises(TaskError, match="finite"):
        query(mixed_network(), "sex", {"age": float("nan")})
    with pytest.raises(TaskError, match="are not known; fit"):
        query(mixed_network().structure(), "sex")


def test_a_question_that_would_not_fit_into_memory_is_refused_before_it_is_tried() -> None:
    names = [f"p{place}" for place in range(30)]
    coins = [Variable(name, ("0", "1"), (), ProbabilityTable(np.array([0.5, 0.5]))) for name in names]
    pairs = [
        Variable(f"{one}{other}", ("0", "1"), (one, other), ProbabilityTable(np.full((2, 2, 2), 0.5)))
        for place, one in enumerate(names)
        for other in names[place + 1 :]
    ]
    network = Network((*coins, *pairs))
    assert isinstance(query(network, "p0"), StateShares)
    with pytest.raises(TaskError, match="too entangled"):
        query(network, "p0", {pair.name: "0" for pair in pairs})
