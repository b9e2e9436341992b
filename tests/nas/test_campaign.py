"""Several trainings within a limit of time."""

from __future__ import annotations

import time
from pathlib import Path

from dvae.dag import Dag, ScoredDag
from dvae.data.images import load_digits
from dvae.nas import NetworkConfig, Size, Trained, TrainedDag, get_recipe
from dvae.nas.campaign import Campaign
from dvae.nas.dataset import best_networks
from dvae.tasks import EnasTask


def trained_in(*ends: float, evaluation: float = 0.0) -> Trained:
    """A training whose epochs ended after so many seconds."""
    history = tuple({"epoch": float(number), "seconds": end} for number, end in enumerate(ends, start=1))
    return Trained(0.5, "test", Size(1, 1), len(ends), ends[-1] + evaluation, "", history)


def campaign(*done: Trained, seconds: float, tmp_path: Path) -> Campaign:
    dag = EnasTask(3).sample(1, seed=0)[0]
    rows = [TrainedDag(dag, None, trained) for trained in done]
    ends = time.monotonic() + seconds
    return Campaign("digits", get_recipe("digits"), 9, load_digits(), tmp_path, ends, 0, "cpu", False, rows)


def test_time_is_expected_by_what_was_seen(tmp_path: Path) -> None:
    assert campaign(seconds=0, tmp_path=tmp_path).in_time(1_000)  # the first is always begun
    slow = trained_in(50.0, 60.0, 70.0)  # a start of 50 s, then 10 s an epoch
    fast = trained_in(20.0, 22.0, 24.0, evaluation=3.0)
    several = campaign(slow, fast, seconds=500, tmp_path=tmp_path)
    assert several.expected_seconds(1) == 20 + 3
    assert several.expected_seconds(11) == 20 + 3 + 10 * 10
    assert several.expected_seconds(0) == 0
    assert several.in_time(11)
    assert several.in_time(11, 21)
    assert not several.in_time(11, 41)
    interrupted = campaign(trained_in(20.0, 22.0, 44.0, 46.0, 48.0), seconds=1, tmp_path=tmp_path)
    assert interrupted.expected_seconds(3) == 20 + 2 * 2
    assert campaign(trained_in(4.0), seconds=1, tmp_path=tmp_path).expected_seconds(3) == 12


def test_of_architectures_that_build_the_same_network_the_best_is_trained() -> None:
    edges = tuple((node, node + 1) for node in range(3))
    items = [
        ScoredDag(Dag(("input", *operations, "output"), edges), score)
        for operations, score in [(("conv3", "max3"), 0.5), (("sep3", "max3"), 0.7), (("avg3", "max3"), 0.6)]
    ]
    assert best_networks(items, NetworkConfig(separable="plain")) == [items[1], items[2]]
    assert best_networks(items, NetworkConfig()) == [items[1], items[2], items[0]]
