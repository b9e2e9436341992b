"""Decode-and-score as a function of BoTorch."""

from __future__ import annotations

import pytest
import torch

from adapters.examples import edges, small_model
from dvae.errors import ConfigError, TaskError
from dvae.tasks import get

pytest.importorskip("botorch", reason="botorch is not installed")

from dvae.botorch import CodeScore, LatentScore


def test_a_point_has_the_score_of_its_dag() -> None:
    function = LatentScore(small_model())
    start = small_model().task.sample(4, seed=1)
    points = function.points(start)
    assert points.shape == (4, 6)
    values = function(points)
    expected = [small_model().task.score(dag) for dag in function.dags(points) if dag is not None]
    assert values.tolist() == pytest.approx(expected)
    assert function(points.reshape(2, 2, 6)).shape == (2, 2)
    assert LatentScore(small_model(), negate=True)(points).tolist() == (-values).tolist()


def test_equal_dags_are_scored_once() -> None:
    asked = []
    function = LatentScore(small_model(), lambda dag: asked.append(dag) or edges(dag))  # type: ignore[func-returns-value]
    points = function.points(small_model().task.sample(3, seed=1))
    function(torch.cat([points, points]))
    assert len(asked) == function.evaluations <= 3


def test_noise_and_bounds() -> None:
    function = LatentScore(small_model(), edges, noise_std=1.0, box=2.0)
    middle = function.bounds.mean(0, keepdim=True)
    assert torch.allclose(middle.float(), small_model().latent_mean, atol=1e-5)
    assert function(middle) != function(middle)
    assert function(middle, noise=False) == function(middle, noise=False)
    with pytest.raises(ConfigError, match="box must be positive"):
        LatentScore(small_model(), edges, box=0.0)


def test_it_is_optimised_as_any_other() -> None:
    from botorch.acquisition import LogExpectedImprovement
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize
    from botorch.optim import optimize_acqf

    function = LatentScore(small_model(), edges)
    points = function.points(small_model().task.sample(8, seed=0))
    values = torch.linspace(-1.5, 1.5, 8).double()[:, None]  # an untrained decoder gives all the same DAG
    values = values / values.std()
    model = SingleTaskGP(points, values, input_transform=Normalize(function.dim, bounds=function.bounds))
    best = float(values.max())
    chosen, _ = optimize_acqf(
        LogExpectedImprovement(model, best),
        function.bounds,
        q=1,
        num_restarts=1,
        raw_samples=16,
        options={"maxiter": 5},
    )
    assert torch.isfinite(function(chosen)).all()


def test_categories_stand_for_dags(shared_data: object) -> None:
    task = get("nasbench201")
    function = CodeScore(task)
    dags = task.sample(5, seed=0)
    points = function.points(dags)
    assert function.dags(points) == dags
    assert function(points).tolist() == pytest.approx(task.scores(dags))
    assert function.num_states == 5
    assert function.categorical_inds == list(range(6))
    assert function.optimal_value == pytest.approx(94.3733, abs=1e-4)
    assert function.initial_solution(3).shape == (3, 6)
    with pytest.raises(TaskError, match="enas6 has no score of its own"):
        CodeScore(get("enas6"))
    with pytest.raises(TaskError, match="are no sequences"):
        CodeScore(get("circuits"), edges)
