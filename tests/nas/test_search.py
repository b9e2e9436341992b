"""A latent space searched with shared weights: whole rounds, within budget and time."""

from __future__ import annotations

import pytest

from dvae.dag import Dag, ScoredDag
from dvae.errors import TaskError
from dvae.models import VAE, build
from dvae.nas.scores import SharedWeightAccuracy
from dvae.nas.search import is_network, search_architectures
from dvae.nas.supernet_config import SupernetConfig
from dvae.nas.supernet_training import train_supernet
from dvae.tasks import EnasTask
from nas.examples import TINY, stripes


@pytest.fixture(scope="module")
def score(tmp_path_factory: pytest.TempPathFactory) -> SharedWeightAccuracy:
    folder = tmp_path_factory.mktemp("nas") / "net"
    train_supernet(
        SupernetConfig(depth=3, data="stripes", validation=32, epochs=1, batch=16, network=TINY), folder, data=stripes()
    )
    return SharedWeightAccuracy(folder, data=stripes())


@pytest.fixture(scope="module")
def vae() -> VAE:
    return build("dvae", EnasTask(3), hidden=10, latent=4, seed=0)


def test_rounds_are_scored_together_and_kept(vae: VAE, score: SharedWeightAccuracy) -> None:
    warm = [ScoredDag(dag, score(dag)) for dag in dict.fromkeys(EnasTask(3).sample(20, seed=0))]
    rounds: list[int] = []
    found = search_architectures(
        vae, score, warm, strategy="evolution", budget=10, each=4, seed=0, progress=False,
        keep=lambda so_far: rounds.append(len(so_far)),
    )  # fmt: skip
    assert rounds[-1] == len(found) <= 10
    assert len(rounds) == 3
    assert [item.score for item in found] == score.many([item.dag for item in found])
    assert {item.dag for item in found}.isdisjoint(item.dag for item in warm)


def test_time_begins_no_round_and_another_space_is_refused(vae: VAE, score: SharedWeightAccuracy) -> None:
    options = {"strategy": "random", "budget": 10, "each": 4, "seed": 0, "progress": False}
    assert search_architectures(vae, score, [], seconds=0.0, **options) == []
    other = build("dvae", EnasTask(2), hidden=6, latent=3, seed=0)
    with pytest.raises(TaskError, match="the model is of enas2, the shared weights are of enas3"):
        search_architectures(other, score, [], **options)


def test_shallower_architectures_are_passed_over() -> None:
    (dag,) = EnasTask(3).sample(1, seed=0)
    assert is_network(dag, 3)
    assert not is_network(dag, 4)
    assert not is_network(Dag(("input", "output"), ((0, 1),)), 3)
