"""Strategies from outside: by class, by `package.module:name`, and what is said of those that are none."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import dvae
from dvae.dag import Dag, ScoredDag
from dvae.errors import ConfigError, MissingError
from dvae.models import VAE
from dvae.strategies import STRATEGIES, Archive, Evolution, make_strategy
from dvae.studies import named_score

TASK = dvae.tasks.get("asia")
OUTSIDE = '''
"""A strategy in somebody's own package."""

class Shuffled:
    """Random networks of the task, one after another."""

    needs_start = False

    def __init__(self, vae, archive, *, seed):
        self.archive, self.seed, self.asked = archive, seed, 0

    def ask(self, count):
        found = []
        while len(found) < count:
            self.asked += 1
            found += self.archive.take(self.archive.task.sample(1, seed=1000 * self.seed + self.asked), 1)
        return found

    def tell(self, evaluations):
        pass  # the search keeps the archive

    def state(self):
        return {"asked": self.asked}

    def restore(self, state):
        self.asked = state["asked"]
'''


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "outside_strategies_of_tests.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    return "outside_strategies_of_tests:Shuffled"


@pytest.fixture(scope="module")
def vae() -> VAE:
    return dvae.models.build("dvae", TASK, hidden=8, latent=3, seed=0)


def edges_of(dag: Dag) -> float:
    return -float(len(dag.edges))


def test_a_strategy_from_outside_searches_and_is_resumed(outside: str, vae: VAE, tmp_path: Path) -> None:
    kind = STRATEGIES.get(outside).maker
    options: dict[str, Any] = {"score": edges_of, "batch": 4, "seed": 2}
    whole = dvae.search(vae, TASK, strategy=kind, budget=12, **options)
    storage = f"dvae:///{tmp_path / 'study.db'}"
    dvae.search(vae, TASK, strategy=outside, budget=8, storage=storage, **options)
    study = dvae.search(vae, TASK, strategy=kind, budget=12, storage=storage, **options)  # the same, by its class
    assert [trial.dag for trial in study.trials] == [trial.dag for trial in whole.trials]
    assert study.description["strategy"] == outside
    assert STRATEGIES.get(outside).description == "Random networks of the task, one after another."


def test_installed_packages_offer_strategies_and_scores(outside: str, tmp_path: Path) -> None:
    """By entry points, as a package declares them in its pyproject.toml."""
    about = tmp_path / "outside_of_tests-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-of-tests\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[dvae.strategies]\nshuffled = {outside}\n[dvae.scores]\nsize = builtins:len\n"
    )
    importlib.invalidate_caches()
    assert "shuffled" in STRATEGIES.names()
    assert STRATEGIES.get("shuffled").maker.__name__ == "Shuffled"
    assert named_score("size")(TASK.sample(1, seed=0)[0]) == 8


def test_a_strategy_from_outside_may_need_a_start(vae: VAE) -> None:
    class Needy(Evolution):
        """Evolution in small."""

        description = "small"

        def __init__(self, vae: VAE, archive: Archive, *, seed: int) -> None:
            super().__init__(vae, archive, seed=seed, population=4, tournament=2)

    study = dvae.search(vae, TASK, score=edges_of, strategy=Needy, budget=12, batch=4, initial=4)
    assert [trial.state for trial in study.trials] == ["complete"] * 12


def test_a_strategy_with_settings_is_a_partial(vae: VAE) -> None:
    small = partial(Evolution, population=4, tournament=2)
    _, entry = STRATEGIES.resolve(small)
    assert entry.needs_start
    assert entry.description == Evolution.description
    made = make_strategy(small, vae, Archive(TASK), seed=1)
    assert isinstance(made, Evolution)
    assert made.population == 4


def test_what_is_no_strategy_is_refused(vae: VAE, tmp_path: Path) -> None:
    storage = f"dvae:///{tmp_path / 'study.db'}"

    class Half:
        def __init__(self, vae: VAE, archive: Archive, *, seed: int) -> None:
            pass

        def ask(self, count: int) -> list[Dag]:
            return []

        def tell(self, evaluations: Iterable[ScoredDag]) -> None:
            pass

    cases: list[tuple[Any, type[Exception], str]] = [
        ("evolutoin", ConfigError, "did you mean 'evolution'"),
        ("no_such_package.mine:Strategy", MissingError, "needs the package 'no_such_package'"),
        ("math:pi", ConfigError, "is float, not a class"),
        (Half, ConfigError, "has no method state or restore"),
    ]
    for strategy, error, words in cases:
        with pytest.raises(error, match=words):
            dvae.search(vae, TASK, score=edges_of, strategy=strategy, storage=storage)
    assert list(tmp_path.iterdir()) == []  # nothing is begun


def test_a_missing_package_is_named_before_anything_begins(
    vae: VAE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botorch", None)
    with pytest.raises(MissingError, match=r"the strategy trust-region needs the package botorch.*evolution"):
        dvae.search(vae, TASK, score=edges_of, storage=f"dvae:///{tmp_path / 'study.db'}")
    assert list(tmp_path.iterdir()) == []
