"""Networks to pgmpy and back, where pgmpy is installed."""

from __future__ import annotations

import numpy as np
import pytest

from bayesnet.networks import mixed_network, random_network
from dvae.bayesnet import Network, from_pgmpy, to_pgmpy
from dvae.errors import MissingError, TaskError


def close(first: Network, second: Network) -> bool:
    return set(first.names) == set(second.names) and all(
        first[name].parents == second[name].parents
        and first[name].states == second[name].states
        and np.allclose(first[name].parameters.probabilities, second[name].parameters.probabilities)  # type: ignore[union-attr]
        for name in first.names
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(3))
def test_networks_go_to_pgmpy_and_come_back(seed: int) -> None:
    pytest.importorskip("pgmpy")
    network = random_network(seed)
    model = to_pgmpy(network)
    assert model.check_model()
    assert close(from_pgmpy(model), network)


def test_without_pgmpy_one_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pgmpy.models", None)
    monkeypatch.setitem(__import__("sys").modules, "pgmpy.factors.discrete", None)
    with pytest.raises(MissingError, match="pip install"):
        to_pgmpy(random_network(0))


@pytest.mark.filterwarnings("ignore")
def test_continuous_networks_are_refused() -> None:
    pytest.importorskip("pgmpy")
    with pytest.raises(TaskError, match="continuous"):
        to_pgmpy(mixed_network())
