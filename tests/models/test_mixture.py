"""The mixture of latents and conditions: what it finds, what it draws, and files that have none."""

import hashlib
import math
from pathlib import Path

import pytest
import torch
from scipy.stats import multivariate_normal
from torch import Tensor

import dvae
from dvae.dag import random_dags
from dvae.errors import CheckpointError, DvaeError
from dvae.evaluation.generation import generate
from dvae.models.conditions import Conditions
from dvae.models.mixture import COMPONENTS, MAX_WIDTH, Mixture, _log_densities
from dvae.models.storage import load_distinct_state
from dvae.models.tensor_file import read_tensors, write_tensors
from dvae.studies.identity import model_fingerprint
from dvae.tasks import GenericTask


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def two_clusters(count: int = 600) -> Tensor:
    """Points (z, c): around (-5, 0) z falls with c, around (5, 10) it rises."""
    generator = seeded(1)
    c = torch.randn(2, count, generator=generator, dtype=torch.float64)
    noise = 0.1 * torch.randn(2, count, generator=generator, dtype=torch.float64)
    left, right = torch.stack([-5 - c[0] + noise[0], c[0]], 1), torch.stack([5 + c[1] + noise[1], 10 + c[1]], 1)
    return torch.cat([left, right])


def fitted(points: Tensor) -> Mixture:
    mixture = Mixture(points.shape[1])
    mixture.fit(points)
    return mixture


def test_densities_are_those_of_scipy() -> None:
    points = torch.randn(7, 3, generator=seeded(), dtype=torch.float64)
    root = torch.randn(2, 3, 3, generator=seeded(1), dtype=torch.float64)
    covariances, means = root @ root.mT + torch.eye(3), torch.randn(2, 3, generator=seeded(2), dtype=torch.float64)
    found = _log_densities(points, means, torch.linalg.cholesky(covariances))
    for place in range(2):
        expected = multivariate_normal(means[place].numpy(), covariances[place].numpy()).logpdf(points.numpy())
        assert found[:, place].tolist() == pytest.approx(expected)


def test_weights_and_moments_are_those_of_the_points() -> None:
    points = two_clusters()
    mixture = fitted(points)
    weights, means, spread = mixture.weights.double(), mixture.means.double(), mixture.covariances.double()
    assert float(weights.sum()) == pytest.approx(1, abs=1e-5)
    mean = weights @ means
    assert mean.tolist() == pytest.approx(points.mean(0).tolist(), abs=1e-3)
    second = (weights[:, None, None] * (spread + means[:, :, None] * means[:, None])).sum(0) - mean[:, None] * mean
    covariance = torch.cov(points.T)
    assert second.flatten().tolist() == pytest.approx(covariance.flatten().tolist(), rel=5e-3)


@pytest.mark.parametrize(("asked", "expected"), [(1.0, -6.0), (-1.0, -4.0), (10.0, 5.0), (11.5, 6.5)])
def test_draws_follow_the_cluster_that_the_condition_belongs_to(asked: float, expected: float) -> None:
    noise = torch.randn(400, 1, generator=seeded(2))
    drawn = fitted(two_clusters()).draw(noise, torch.tensor([asked]), seeded(3))
    assert float(drawn.mean()) == pytest.approx(expected, abs=0.2)
    assert float(drawn.std()) < 1.2  # one Gaussian of all points has more than three


def test_an_open_condition_leaves_all_points_possible() -> None:
    points = two_clusters()
    noise = torch.randn(2000, 1, generator=seeded(2))
    drawn = fitted(points).draw(noise, torch.tensor([math.nan]), seeded(3))
    assert float((drawn < 0).double().mean()) == pytest.approx(0.5, abs=0.05)
    assert float(drawn.std()) == pytest.approx(float(points[:, 0].std()), rel=0.05)


def test_a_row_for_each_latent_is_as_good_as_one_for_all() -> None:
    mixture, noise = fitted(two_clusters()), torch.randn(9, 1, generator=seeded(2))
    one = mixture.draw(noise, torch.tensor([1.0]), seeded(3))
    assert torch.equal(one, mixture.draw(noise, torch.ones(9, 1), seeded(3)))
    assert torch.equal(one, mixture.draw(noise, torch.tensor([1.0]), seeded(3)))


def test_few_points_make_few_components_or_none() -> None:
    points = two_clusters()
    assert int((fitted(points[::100]).weights > 0).sum()) == 2  # 12 points of two numbers
    assert not fitted(points[:11]).fitted
    assert int((fitted(points).weights > 0).sum()) == COMPONENTS


def test_components_are_as_many_as_the_points_that_are_looked_at_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dvae.models.mixture.MAX_POINTS", 30)
    first, second = fitted(two_clusters()), fitted(two_clusters())
    assert int((first.weights > 0).sum()) == 5  # six points each
    assert torch.equal(first.covariances, second.covariances)


def test_one_of_two_conditions_may_be_given() -> None:
    """z = a + 2 b: with b alone, z is spread as a is."""
    numbers = torch.randn(3000, 2, generator=seeded(4), dtype=torch.float64)
    points = torch.cat([numbers @ torch.tensor([[1.0], [2.0]], dtype=torch.float64), numbers], 1)
    mixture, noise = fitted(points), torch.randn(3000, 1, generator=seeded(5))
    for given, mean, spread in (([math.nan, 1.0], 2.0, 1.0), ([1.0, math.nan], 1.0, 2.0), ([1.0, 1.0], 3.0, 0.0)):
        drawn = mixture.draw(noise, torch.tensor(given), seeded(6))
        assert float(drawn.mean()) == pytest.approx(mean, abs=0.15)
        assert float(drawn.std()) == pytest.approx(spread, abs=0.15)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_finds_the_same_components_and_draws_the_same_latents() -> None:
    points, noise = two_clusters(), torch.randn(50, 1, generator=seeded(2))
    here, there = fitted(points), Mixture(2).cuda()
    there.fit(points.cuda())
    assert there.means.cpu().flatten().tolist() == pytest.approx(here.means.flatten().tolist(), abs=1e-2)
    drawn = there.draw(noise.cuda(), torch.tensor([1.0]).cuda(), seeded(3))
    assert drawn.is_cuda
    assert drawn.cpu().flatten().tolist() == pytest.approx(
        here.draw(noise, torch.tensor([1.0]), seeded(3)).flatten().tolist(), abs=0.1
    )


def test_points_that_are_all_the_same_do_no_harm() -> None:
    mixture = fitted(torch.ones(300, 2))
    drawn = mixture.draw(torch.randn(5, 1, generator=seeded()), torch.tensor([1.0]), seeded())
    assert drawn.isfinite().all()


def known_dags() -> list[dvae.Dag]:
    """DAGs whose property is the number of their edges."""
    return [
        dvae.Dag(dag.types, dag.edges, properties={"edges": float(len(dag.edges))})
        for nodes in range(3, 9) for dag in random_dags(20, nodes, seed=nodes)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def conditional() -> dvae.VAE:
    dags = known_dags()
    task = GenericTask.infer("small", dags)
    vae = dvae.models.build("dvae", task, hidden=8, latent=4, conditions=("edges",), seed=0)
    dvae.fit(vae, dags, epochs=1, progress=False)
    return vae


def test_training_fits_the_mixture_and_files_keep_it(conditional: dvae.VAE, tmp_path: Path) -> None:
    assert conditional.conditions is not None
    assert conditional.conditions.mixture is not None
    assert conditional.conditions.mixture.fitted
    conditional.save(tmp_path)
    again = dvae.load(tmp_path)
    first, second = (vae.prior(6, seed=1, given={"edges": 5}) for vae in (conditional, again))
    assert torch.equal(first, second)
    assert not torch.equal(first, again.prior(6, seed=2, given={"edges": 5}))


def test_a_file_of_an_earlier_version_draws_from_one_gaussian(conditional: dvae.VAE, tmp_path: Path) -> None:
    conditional.save(tmp_path)
    path = tmp_path / "model.safetensors"
    write_tensors(path, {name: part for name, part in read_tensors(path).items() if ".mixture." not in name})
    again = dvae.load(tmp_path)
    assert again.conditions is not None
    assert again.conditions.mixture is not None
    assert not again.conditions.mixture.fitted
    assert len(again.sample(3, seed=0, given={"edges": 5})) == 3


def test_a_file_with_a_part_of_the_mixture_is_refused(conditional: dvae.VAE, tmp_path: Path) -> None:
    conditional.save(tmp_path)
    path = tmp_path / "model.safetensors"
    write_tensors(path, {name: part for name, part in read_tensors(path).items() if "covariances" not in name})
    with pytest.raises(CheckpointError, match=r"lacks conditions\.mixture\.covariances"):
        dvae.load(tmp_path)


def test_weights_without_a_mixture_do_not_keep_that_of_others(conditional: dvae.VAE, tmp_path: Path) -> None:
    conditional.save(tmp_path)
    again = dvae.load(tmp_path)
    state = {name: part for name, part in read_tensors(tmp_path / "model.safetensors").items() if "mixture" not in name}
    load_distinct_state(again, state, "a file")
    assert again.conditions is not None
    assert again.conditions.mixture is not None
    assert not again.conditions.mixture.fitted


def test_an_empty_mixture_leaves_the_fingerprint_as_it_was(conditional: dvae.VAE, tmp_path: Path) -> None:
    """A study of an earlier version knows its model again."""
    conditional.save(tmp_path)
    again = dvae.load(tmp_path)
    assert again.conditions is not None
    assert again.conditions.mixture is not None
    fitted_print = model_fingerprint(again)
    again.conditions.mixture.forget()
    digest = hashlib.sha256()
    for key, value in sorted(again.state_dict().items()):
        if "mixture" not in key:
            digest.update(key.encode() + value.contiguous().numpy().tobytes())
    assert model_fingerprint(again) == digest.hexdigest()[:16] != fitted_print


def test_generated_dags_follow_the_seed(conditional: dvae.VAE) -> None:
    first, second, other = (
        conditional.task.unbatch(generate(conditional, "edges", [4.0, 6.0, 8.0], seed=seed)) for seed in (1, 1, 2)
    )
    assert first == second != other


def test_a_condition_beyond_all_numbers_is_refused(conditional: dvae.VAE) -> None:
    with pytest.raises(DvaeError, match="too large for this model"):
        conditional.prior(2, given={"edges": 1e39})


def test_a_quick_look_at_the_latents_forgets_the_mixture(conditional: dvae.VAE, tmp_path: Path) -> None:
    conditional.save(tmp_path)
    again = dvae.load(tmp_path)
    again.calibrate(again.task.batch(known_dags()), thorough=False)
    assert again.conditions is not None
    assert again.conditions.mixture is not None
    assert not again.conditions.mixture.fitted


def test_very_wide_latents_have_one_gaussian() -> None:
    dag = dvae.Dag(("a", "b"), ((0, 1),), properties={"size": 1.0})
    known = GenericTask.infer("one", [dag]).schema.properties
    assert Conditions(("size",), known, MAX_WIDTH).mixture is None
    assert Conditions(("size",), known, MAX_WIDTH - 1).mixture is not None
