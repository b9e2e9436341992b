from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from dvae.dag import DagSet
from dvae.errors import ConfigError, FormatError
from dvae.evaluation import Evaluation, common, evaluate, mean_estimate, report
from dvae.files import read_json, write_json
from dvae.models import VAE, build
from dvae.tasks import EnasTask

TASK = EnasTask(2)
DATA = TASK.dataset(size=200)
SIZES = {"encodings": 2, "decodings": 3, "prior_latents": 30, "prior_decodings": 2}


@pytest.fixture(scope="module")
def vae() -> VAE:
    return build("dvae", TASK, hidden=8, latent=3, seed=0)


@pytest.fixture(scope="module")
def result(vae: VAE) -> Evaluation:
    return evaluate(vae, DATA, **SIZES)


def timeless(evaluation: Evaluation) -> Evaluation:
    return dataclasses.replace(evaluation, seconds=0.0, provenance={})


def test_every_number_is_reported_with_its_name(result: Evaluation) -> None:
    rows = dict(result.rows())
    assert rows["reconstruction, posterior"] == result.posterior.share
    assert rows["prior uniqueness"] == result.prior.uniqueness
    assert rows["edit distance, greedy"] == result.greedy.closeness.edits
    assert result.once is not None
    assert (result.once.latents, result.once.decodings) == (result.prior.latents * result.prior.decodings, 1)
    assert rows["prior uniqueness, decoded once"] == result.once.uniqueness
    assert len(rows) == 13
    assert (result.posterior.encodings, result.posterior.decodings) == (2, 3)
    assert (result.mean.decodings, result.greedy.decodings, result.greedy.mode) == (6, 1, "mean")
    assert (result.test_graphs, result.test_size, result.train_graphs) == (20, 20, 180)
    assert not result.subsampled
    assert "all 20 test graphs" in result.protocol


def test_samples_within_the_rules_are_said_to_be(vae: VAE, result: Evaluation) -> None:
    limits = {"test_limit": 2, "encodings": 1, "decodings": 1, "prior_latents": 3, "prior_decodings": 2}
    ruled = evaluate(vae, DATA, rules=True, progress=False, **limits)  # type: ignore[arg-type]
    rows = dict(ruled.rows())
    assert rows["prior validity, within the rules"] == ruled.prior.validity
    assert ruled.prior.validity.value == 1.0
    assert ruled.prior.rules
    assert ruled.once is not None
    assert ruled.once.rules
    assert "within the rules of the task" in ruled.protocol
    assert "no decoding rules" in result.protocol
    assert "prior validity" not in rows


def test_the_losses_are_those_of_the_test_graphs_at_their_means(vae: VAE, result: Evaluation) -> None:
    posterior = vae.encode(DATA.test.dags)
    assert result.nll == mean_estimate(vae.reconstruction_nll(DATA.test.dags, posterior.mean).tolist())
    assert result.kl == mean_estimate(posterior.kl().tolist())


def test_the_same_seed_gives_the_same_numbers(vae: VAE, result: Evaluation) -> None:
    assert timeless(evaluate(vae, DATA, **SIZES)) == timeless(result)
    assert evaluate(vae, DATA, seed=1, **SIZES).prior != result.prior


def test_a_subsample_says_that_it_is_one(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    small = evaluate(vae, DATA, test_limit=7, seed=2, **SIZES)
    assert (small.test_graphs, small.test_size, small.subsampled) == (7, 20, True)
    assert "a random 7 of 20 test graphs (seed 2)" in small.protocol
    monkeypatch.setattr(report, "CPU_TEST_LIMIT", 5)
    assert evaluate(vae, DATA, **SIZES).test_graphs == 5
    assert evaluate(vae, DATA, test_limit=20, **SIZES).test_graphs == 20


def test_a_subsample_is_drawn_from_the_whole_test_set() -> None:
    drawn = {dag for seed in range(30) for dag in report._chosen(DATA.test.dags, 5, seed)}
    assert drawn == set(DATA.test.dags)
    assert all(len(report._chosen(DATA.test.dags, 5, seed)) == 5 for seed in range(3))


def test_the_mapping_goes_through_json_with_its_provenance(result: Evaluation, tmp_path: Path) -> None:
    write_json(tmp_path / "evaluation.json", result.to_mapping())
    read = read_json(tmp_path / "evaluation.json")
    assert read == result.to_mapping()
    assert isinstance(read, dict)
    assert read["posterior"]["share"]["value"] == result.posterior.share.value
    assert read["provenance"]["config"]["hidden"] == 8
    assert read["subsampled"] is False
    assert read["protocol"] == result.protocol


def test_a_limit_below_one_is_refused(vae: VAE) -> None:
    with pytest.raises(ConfigError, match="test_limit"):
        evaluate(vae, DATA, test_limit=0)


def test_a_mapping_is_read_back_as_the_value(result: Evaluation) -> None:
    read = Evaluation.from_mapping(result.to_mapping())
    bare = {name: dataclasses.replace(getattr(result, name), per_graph=()) for name in ("posterior", "mean", "greedy")}
    assert read == dataclasses.replace(result, **bare)
    assert read.protocol == result.protocol
    broken = result.to_mapping() | {"nll": 3}
    with pytest.raises(FormatError, match=r"evaluation\.nll"):
        Evaluation.from_mapping(broken)


def test_an_evaluation_of_version_0_1_0_is_read(result: Evaluation) -> None:
    old = result.to_mapping()
    del old["budget"], old["own_test"], old["once"], old["greedy"]["closeness"]
    read = Evaluation.from_mapping(old)
    assert read.greedy.closeness is None
    assert len(read.rows()) == 8
    assert "edit distance" in result.protocol
    without = dataclasses.replace(result, once=None).protocol
    assert "decoded once" in result.protocol
    assert read.protocol == without.replace(report.MATCHING, "")


def test_test_graphs_of_ones_own_take_the_place_of_the_data_sets(vae: VAE) -> None:
    own = TASK.sample(12, seed=5)
    for given in (own, DagSet.of(own)):
        measured = evaluate(vae, DATA, test=given, **SIZES)
        assert (measured.test_graphs, measured.test_size, measured.train_graphs) == (12, 12, 180)
        assert "all 12 test graphs of your own" in measured.protocol
        assert measured.nll == mean_estimate(vae.reconstruction_nll(own, vae.encode(own).mean).tolist())
    with pytest.raises(ConfigError, match="no test graph"):
        evaluate(vae, DATA, test=[])


def test_with_no_time_the_least_is_measured_and_said(vae: VAE) -> None:
    measured = evaluate(vae, DATA, seconds=1e-9, **SIZES)
    counts = [part.share.count for part in (measured.posterior, measured.mean, measured.greedy)]
    assert counts == [common.MIN_GRAPHS] * 3
    assert (measured.nll.count, measured.prior.latents) == (common.MIN_GRAPHS, common.MIN_LATENTS)
    assert (measured.test_graphs, measured.subsampled) == (10, True)
    assert "posterior 10, mean 10, greedy 10, likelihood 10" in measured.protocol
    assert "Prior: 10 latents" in measured.protocol
    with pytest.raises(ConfigError, match="seconds"):
        evaluate(vae, DATA, seconds=0)


def test_with_time_enough_everything_is_measured(vae: VAE, result: Evaluation) -> None:
    measured = evaluate(vae, DATA, seconds=600, **SIZES)
    assert (measured.test_graphs, measured.prior.latents, measured.budget) == (20, 30, 600)
    assert measured.greedy.share.value == result.greedy.share.value
    assert measured.nll.value == pytest.approx(result.nll.value)


def test_blocks_take_as_much_as_fits_in_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(common.time, "monotonic", lambda: now)
    taken = []
    for part in common.blocks(1000, 64, 100.0, 10):
        taken.append(part.stop - part.start)
        now += part.stop - part.start  # a second per item
    assert taken == [4, 8, 16, 32, 40]
    assert [part.stop for part in common.blocks(100, 64, None, 10)] == [64, 100]
