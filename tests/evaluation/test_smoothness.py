from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
import torch

from dvae.dag import Dag
from dvae.errors import ConfigError
from dvae.evaluation import Smoothness, edit_distance, smoothness
from dvae.models import VAE, build
from dvae.tasks import EnasTask
from dvae.training import fit

TASK = EnasTask(2)
DAGS = TASK.sample(40, seed=0)


def edges(dags: Sequence[Dag]) -> list[float]:
    return [float(len(dag.edges)) for dag in dags]


@pytest.fixture(scope="module")
def vae() -> VAE:
    model = build("dvae", TASK, hidden=16, latent=4, seed=0)
    fit(model, DAGS, epochs=30, batch_size=10, learning_rate=5e-3, device="cpu", progress=False)
    return model


@pytest.fixture(scope="module")
def result(vae: VAE) -> Smoothness:
    return smoothness(vae, DAGS, score=edges, starts=20, steps=5, step=0.1, seed=1)


def test_an_edit_is_a_changed_type_or_edge() -> None:
    one = Dag(("input", "conv3", "output"), ((0, 1), (1, 2)))
    assert edit_distance(one, one) == 0
    assert edit_distance(one, Dag(("input", "conv5", "output"), ((0, 1), (0, 2), (1, 2)))) == 2
    assert edit_distance(one, Dag(("input", "conv3", "conv3", "output"), ((0, 1), (1, 2)))) == 2


def test_networks_are_compared_by_variable_whatever_their_order() -> None:
    assert edit_distance(Dag(("A", "B", "C"), ((0, 1),)), Dag(("C", "A", "B"), ((1, 2),))) == 0
    assert edit_distance(Dag(("A", "B"), ((0, 1),)), Dag(("B", "A"), ((0, 1),))) == 2


def test_numbers_are_per_typical_distance_and_repeatable(vae: VAE, result: Smoothness) -> None:
    again = smoothness(vae, DAGS, score=edges, starts=20, steps=5, step=0.1, seed=1)
    assert again == result
    assert result.starts == 20
    assert 0 < result.changed.value <= 1
    assert result.edits.value >= result.changed.value / 0.1  # a change is at least one edit
    assert result.pair_edits > 0
    json.dumps(result.to_mapping(), allow_nan=False)


def test_a_space_that_decodes_to_one_dag_is_perfectly_smooth(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    one = TASK.batch(DAGS[:1])
    monkeypatch.setattr(vae, "decode_batch", lambda z, greedy: one.select(torch.zeros(len(z), dtype=torch.int64)))
    flat = smoothness(vae, DAGS, score=edges, starts=5, steps=3)
    assert (flat.edits.value, flat.changed.value, flat.valid.value) == (0, 0, 1)
    assert flat.score is not None
    assert flat.score.value == 0


def test_a_deviation_of_scores_halves_how_far_they_move(vae: VAE, result: Smoothness) -> None:
    half = smoothness(vae, DAGS, score=edges, deviation=2.0, starts=20, steps=5, step=0.1, seed=1)
    assert half.score is not None
    assert result.score is not None
    assert half.score.value == pytest.approx(result.score.value / 2)


@pytest.mark.parametrize("settings", [{"starts": 0}, {"step": 0.0}, {"deviation": 0.0}])
def test_senseless_settings_are_refused(vae: VAE, settings: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        smoothness(vae, DAGS, **settings)  # type: ignore[arg-type]
