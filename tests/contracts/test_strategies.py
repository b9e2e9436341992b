"""What every registered strategy promises, on DAGs of one size and of many."""

from __future__ import annotations

import importlib.util
import itertools
import json
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

import dvae
from dvae.dag import Dag, ScoredDag
from dvae.models import VAE
from dvae.strategies import (
    STRATEGIES,
    Archive,
    PaperSearch,
    PaperSearchConfig,
    Strategy,
    StrategyEntry,
    TrustRegion,
    TrustRegionConfig,
)
from dvae.strategies.registry import LATENTS_ONLY
from dvae.tasks import GenericTask, Task
from dvae.tasks.graph_rules import GraphRules

NEEDS_BOTORCH = ("trust-region", "trust-region-latents", "paper")
QUICK = {"candidates": 20, "generations": 1, "points": 40}
SMALL = {  # what would take seconds with the settings of real searches
    "paper": partial(
        PaperSearch,
        config=PaperSearchConfig(inducing=8, epochs=2, decodings=20, raw_samples=8, restarts=1, iterations=3),
    ),
    "trust-region": partial(TrustRegion, config=TrustRegionConfig(**QUICK)),
    "trust-region-latents": partial(
        TrustRegion, config=TrustRegionConfig(**QUICK, edits=LATENTS_ONLY.edits, process=LATENTS_ONLY.process)
    ),
}


def every_strategy() -> list[object]:
    has_botorch = importlib.util.find_spec("botorch") is not None
    skipped = pytest.mark.skipif(not has_botorch, reason="BoTorch is not installed (extra: search)")
    return [pytest.param(name, marks=[skipped] if name in NEEDS_BOTORCH else []) for name in STRATEGIES.names()]


strategies = pytest.mark.parametrize("name", every_strategy())
tasks = pytest.mark.parametrize("task_name", ["sizes", "asia", "ruled"])


def small_dags() -> list[Dag]:
    """Of one to four nodes."""
    return [
        Dag(tuple(types), tuple(edge for edge, drawn in zip(pairs, bits, strict=True) if drawn))
        for count in range(1, 5)
        for number, types in enumerate(itertools.product("ab", repeat=count))
        for pairs in [list(itertools.combinations(range(count), 2))]
        for bits in [[(number + place) % 3 > 0 for place in range(len(pairs))]]
    ]


def ruled_dags() -> list[Dag]:
    """All have one sink, of the one type that may be one, among nodes of that type and others."""
    return [
        Dag(("a", *middle, "o"), ((0, 1), (0, 2), (1, 2), *((node, 3) for node in ends)))
        for middle in itertools.product("abo", repeat=2)
        for ends in ((2,), (1, 2))
    ]


SIZES: Task = GenericTask.infer("sizes", small_dags())
RULED: Task = GenericTask.infer("ruled", ruled_dags(), GraphRules.infer(ruled_dags()))


@pytest.fixture(scope="module")
def models() -> dict[str, VAE]:
    asia = dvae.tasks.get("asia")
    made = {}
    own = [(SIZES, small_dags(), 60, 1e-2), (RULED, ruled_dags(), 60, 1e-2)]
    for task, dags, epochs, rate in (*own, (asia, asia.sample(400, seed=0), 12, 5e-3)):
        vae = dvae.models.build("dvae", task, hidden=16, latent=4, seed=0)
        dvae.fit(vae, dags, epochs=epochs, batch_size=32, learning_rate=rate, progress=False)
        made[task.name] = vae
    return made


def entry_of(name: str) -> StrategyEntry:
    return STRATEGIES.resolve(SMALL[name])[1] if name in SMALL else STRATEGIES.get(name)


def strategy_of(name: str, vae: VAE, seed: int = 0) -> Strategy:
    return entry_of(name).make(vae, Archive(vae.task), seed=seed)


def score(dag: Dag) -> float:
    return float(len(dag.edges)) + 0.1 * len(dag)


def known(vae: VAE, count: int = 12) -> list[ScoredDag]:
    held = {"sizes": small_dags, "ruled": ruled_dags}.get(vae.task.name)
    dags = vae.task.sample(count, seed=1) if held is None else held()[:count]
    return [ScoredDag(dag, score(dag)) for dag in dags]


@strategies
@tasks
def test_what_is_asked_for_is_valid_new_and_different(name: str, task_name: str, models: dict[str, VAE]) -> None:
    vae = models[task_name]
    strategy = strategy_of(name, vae)
    strategy.tell(known(vae))
    asked = []
    for _ in range(2):
        dags = strategy.ask(3)
        assert 1 <= len(dags) <= 3
        asked += dags
        strategy.tell([ScoredDag(dags[0], None), *(ScoredDag(dag, score(dag)) for dag in dags[1:])])
    assert all(vae.task.is_valid(dag) for dag in asked)
    keys = vae.task.keys_of(asked)
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(vae.task.keys_of([item.dag for item in known(vae)]))


@strategies
def test_a_state_is_plain_and_goes_on_the_same(name: str, models: dict[str, VAE]) -> None:
    vae = models["asia"]
    whole = strategy_of(name, vae, seed=3)
    told = known(vae)
    whole.tell(told)
    first = whole.ask(2)
    scored = [ScoredDag(dag, score(dag)) for dag in first]
    whole.tell(scored)
    state = json.loads(json.dumps(whole.state(), allow_nan=False))
    other = strategy_of(name, vae, seed=99)
    other.tell(told)
    other.tell(scored)
    other.restore(state)
    assert other.ask(2) == whole.ask(2)


@strategies
def test_dags_of_one_node_are_dags(name: str, models: dict[str, VAE]) -> None:
    strategy = strategy_of(name, models["sizes"])
    strategy.tell([ScoredDag(Dag(("a",)), 1.0), ScoredDag(Dag(("b",)), 0.0)])
    assert strategy.ask(2)


@strategies
def test_the_driver_minimises(name: str, models: dict[str, VAE]) -> None:
    """A strategy is told the negative of a score to be minimised, and what it is told first is what is known."""
    vae = models["asia"]
    told: list[ScoredDag] = []

    def spied(model: VAE, archive: Archive, *, seed: int) -> Any:
        made: Any = entry_of(name).make(model, archive, seed=seed)
        tell = made.tell

        def noted(items: Iterable[ScoredDag]) -> None:
            told.extend(items := list(items))
            tell(items)

        made.tell = noted
        return made

    warm = known(vae)
    study = dvae.search(vae, score=score, strategy=spied, warm=warm, budget=4, batch=2, initial=2, minimize=True)
    assert [item.score for item in told[: len(warm)]] == [-(item.score or 0.0) for item in warm]
    finished = [trial for trial in study.trials if trial.round == 0]
    assert [item.score for item in told[len(warm) :]] == [-(trial.score or 0.0) for trial in finished]
    assert study.best_score == min(trial.score for trial in study.trials if trial.score is not None)


@strategies
def test_a_strategy_has_a_description(name: str) -> None:
    entry = STRATEGIES.get(name)
    assert len(entry.description) > 10
    assert "\n" not in entry.description
