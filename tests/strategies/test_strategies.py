"""Every strategy: valid DAGs, none twice, and better ones than chance finds where it learns."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

import dvae
from dvae import Dag
from dvae.dag import ScoredDag
from dvae.errors import DvaeError
from dvae.models.vae import VAE
from dvae.strategies import Archive, Evolution, RandomSearch, Strategy, TrustRegion, TrustRegionConfig
from dvae.strategies.registry import LATENTS_ONLY
from dvae.strategies.surrogate import POINTS_PER_FEATURE

TASK = dvae.tasks.get("asia")
TARGET = {("A", "T"), ("S", "L"), ("T", "E"), ("L", "E"), ("E", "X")}
needs_botorch = pytest.mark.skipif(
    importlib.util.find_spec("botorch") is None, reason="BoTorch is not installed (extra: search)"
)
SMALL = TrustRegionConfig(candidates=30, generations=2, points=60, centres=4)


def score(dag: Dag) -> float:
    """How much the network looks like the target; the best is 0."""
    edges = {(str(dag.types[u]), str(dag.types[v])) for u, v in dag.edges}
    return -float(len(edges ^ TARGET))


@pytest.fixture(scope="module")
def vae() -> VAE:
    model = dvae.models.build("dvae", TASK, hidden=32, latent=8, seed=0)
    dvae.fit(model, TASK.sample_batch(600, seed=0), epochs=12, batch_size=64, learning_rate=5e-3, progress=False)
    return model


MAKERS: dict[str, Callable[[VAE, int], Strategy]] = {
    "random": lambda vae, seed: RandomSearch(vae, Archive(TASK), seed=seed),
    "uniform": lambda vae, seed: RandomSearch(
        vae, Archive(TASK), seed=seed, box=(vae.latent_mean - vae.latent_std, vae.latent_mean + vae.latent_std)
    ),
    "evolution": lambda vae, seed: Evolution(None, Archive(TASK), seed=seed, population=20, tournament=5),
    "trust-region": lambda vae, seed: TrustRegion(vae, Archive(TASK), seed=seed, config=SMALL),
    "trust-region-latents": lambda vae, seed: TrustRegion(
        vae, Archive(TASK), seed=seed, config=replace(SMALL, edits=LATENTS_ONLY.edits, process=LATENTS_ONLY.process)
    ),
}
TRUST_REGIONS = [pytest.param(name, marks=needs_botorch) for name in ("trust-region", "trust-region-latents")]
every_strategy = pytest.mark.parametrize("name", ["random", "uniform", "evolution", *TRUST_REGIONS])


def searched(strategy: Strategy, rounds: int, each: int = 8) -> list[Dag]:
    warm = TASK.sample(40, seed=1)
    strategy.tell(ScoredDag(dag, score(dag)) for dag in warm)
    proposed = []
    for _ in range(rounds):
        dags = strategy.ask(each)
        assert len(dags) == each
        proposed += dags
        strategy.tell([ScoredDag(dag, score(dag)) for dag in dags])
    return proposed


@every_strategy
def test_proposals_are_valid_and_never_repeat(name: str, vae: VAE) -> None:
    proposed = searched(MAKERS[name](vae, 0), rounds=4)
    assert all(TASK.is_valid(dag) for dag in proposed)
    keys = {TASK.key(dag) for dag in proposed}
    assert len(keys) == len(proposed)
    assert not keys & {TASK.key(dag) for dag in TASK.sample(40, seed=1)}


@every_strategy
def test_a_seed_makes_a_search_repeatable(name: str, vae: VAE) -> None:
    assert searched(MAKERS[name](vae, 3), rounds=2) == searched(MAKERS[name](vae, 3), rounds=2)


@pytest.mark.parametrize("name", TRUST_REGIONS)
def test_a_search_restarted_after_every_round_goes_on_the_same(name: str, vae: VAE) -> None:
    """Also where the scores come to outnumber the features of the linear model, and the process changes its view."""
    whole = searched(MAKERS[name](vae, 0), rounds=5)
    assert 40 < POINTS_PER_FEATURE * vae.mean.weight.shape[1] < 40 + len(whole)
    known = [ScoredDag(dag, score(dag)) for dag in TASK.sample(40, seed=1)]
    state = MAKERS[name](vae, 0).state()
    for first in range(0, len(whole), 8):
        strategy = MAKERS[name](vae, 99)
        strategy.tell(known)
        strategy.restore(json.loads(json.dumps(state, allow_nan=False)))
        dags = strategy.ask(8)
        assert dags == whole[first : first + 8]
        new = [ScoredDag(dag, score(dag)) for dag in dags]
        strategy.tell(new)
        known, state = [*known, *new], strategy.state()


@pytest.mark.parametrize("name", ["evolution", pytest.param("trust-region", marks=needs_botorch)])
def test_a_search_that_learns_beats_chance(name: str, vae: VAE) -> None:
    found = max(score(dag) for dag in searched(MAKERS[name](vae, 0), rounds=8))
    chance = max(score(dag) for dag in searched(MAKERS["random"](vae, 0), rounds=8))
    assert found > chance


def test_a_failed_evaluation_is_remembered_but_has_no_score() -> None:
    archive = Archive(TASK)
    good, bad = TASK.sample(2, seed=0)
    assert len(archive.add([ScoredDag(good, -1.0), ScoredDag(bad, None)])) == 1
    assert archive.unknown([good, bad]) == []
    best = archive.best()
    assert best is not None
    assert best.dag == good


def test_strategies_that_need_scores_say_so(vae: VAE) -> None:
    with pytest.raises(DvaeError, match="scored DAGs"):
        Evolution(None, Archive(TASK)).ask(1)
    if importlib.util.find_spec("botorch") is not None:
        with pytest.raises(DvaeError, match="scored DAGs"):
            TrustRegion(vae, Archive(TASK)).ask(1)
