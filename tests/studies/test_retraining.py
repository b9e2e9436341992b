"""Weighted retraining: what a search is interrupted in, it goes on with, and comes to the same weights."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
import torch

import dvae
from dvae import Dag
from dvae.dag import ScoredDag
from dvae.errors import ConfigError, StudyError
from dvae.models import VAE
from dvae.runs.retraining import retrained_folder, trainer
from dvae.strategies import GradientAscent, GradientConfig, PaperSearch, PaperSearchConfig
from dvae.studies import Retraining, Study, model_fingerprint
from dvae.studies.retraining import RECORD, rank_weights
from dvae.training import TrainingConfig

TASK = dvae.tasks.get("asia")
DAGS = TASK.sample(60, seed=1)
BUDGET, BATCH, EVERY = 18, 3, 6
QUICK_PAPER = partial(
    PaperSearch, config=PaperSearchConfig(inducing=8, epochs=2, decodings=20, raw_samples=8, restarts=1, iterations=3)
)
QUICK_GRADIENT = partial(GradientAscent, config=GradientConfig(hidden=8, epochs=2, starts=4, steps=4))
SLOWER = (("evolution",), (QUICK_GRADIENT,))
strategies = pytest.mark.parametrize(
    "strategy",
    ["random", "latent-evolution", *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOWER)],
)


class Crash(BaseException):
    """Stands for a process that is killed."""


def score(dag: Dag) -> float:
    return -float(len(dag.edges))


@pytest.fixture(scope="module")
def vae() -> VAE:
    model = dvae.models.build("dvae", TASK, hidden=16, latent=4, seed=0)
    dvae.fit(model, DAGS, epochs=8, batch_size=32, learning_rate=5e-3, progress=False)
    return model


class Trainer:
    """Trains for real, counts, and is killed in the middle of the training with the number `dies_at`."""

    def __init__(self, dies_at: int | None = None) -> None:
        self.train, self.dies_at = trainer(TrainingConfig(batch_size=32, learning_rate=5e-3), "cpu"), dies_at
        self.seeds: list[int] = []

    def __call__(self, vae: VAE, dags: Sequence[Dag], seed: int) -> None:
        self.seeds.append(seed)
        self.train(vae, dags, seed)
        if len(self.seeds) == self.dies_at:
            raise Crash


def searched(
    vae: VAE, storage: str | None, folder: Path | None, train: Trainer, *, strategy: object = "random",
    dies_after: int | None = None, **changes: float,
) -> Study:  # fmt: skip
    calls = Counter[str]()

    def scored(dag: Dag) -> float:
        calls["score"] += 1
        if calls["score"] == dies_after:
            raise Crash
        return score(dag)

    plan = Retraining(**{"every": EVERY, "train": train, "dags": DAGS, "folder": folder, **changes})  # type: ignore[arg-type]
    known = [ScoredDag(dag, score(dag)) for dag in DAGS[:10]]
    return dvae.search(
        vae, score=scored, strategy=strategy, warm=known, budget=BUDGET, batch=BATCH, initial=2, storage=storage,
        retrain=plan, seed=3, about={"score": "edges"},
    )  # fmt: skip


def killed(vae: VAE, storage: str, *arguments: object, **options: object) -> None:
    """A search that dies; the trial it was at is free again, as it is after the grace period."""
    with pytest.raises(Crash):
        searched(vae, storage, *arguments, **options)  # type: ignore[arg-type]
    opened = Study.open(storage)
    for trial in opened.trials:
        if trial.state == "running":
            opened.ledger.release(trial.number)
    opened.close()


def tried(study: Study) -> list[tuple[Dag, float | None]]:
    return [(trial.dag, trial.score) for trial in study.trials]


@strategies
def test_a_model_is_retrained_during_any_strategy(vae: VAE, strategy: object, tmp_path: Path) -> None:
    before, train = model_fingerprint(vae), Trainer()
    study = searched(vae, None, tmp_path / "kept", train, strategy=strategy)
    assert len(study.trials) == BUDGET
    assert len(train.seeds) == len(set(train.seeds)) == 2  # after 6 and 12; after 18 nothing is left to search
    assert model_fingerprint(vae) == before  # the caller's model stays as it is
    kept = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert kept == ["trial-000006", "trial-000012"]
    again = dvae.load(tmp_path / "kept" / "trial-000012", device="cpu")
    assert model_fingerprint(again) != before
    assert len(TASK.keys_of(again.sample(3, seed=0, valid=True))) == 3


@strategies
@pytest.mark.parametrize("moment", ["second training", "after the first", "before the first"])
def test_a_search_that_is_killed_goes_on_the_same(vae: VAE, strategy: object, moment: str, tmp_path: Path) -> None:
    whole = searched(vae, None, None, Trainer(), strategy=strategy)
    address, folder = f"dvae:///{tmp_path / 'studies.db'}", tmp_path / "kept"
    dying = Trainer(dies_at=2 if moment == "second training" else None)
    score_dies = {"second training": None, "after the first": 8, "before the first": 2}[moment]
    killed(vae, address, folder, dying, strategy=strategy, dies_after=score_dies)
    train = Trainer()
    resumed = searched(vae, address, folder, train, strategy=strategy)
    assert tried(resumed) == tried(whole)
    kept = {"second training": 1, "after the first": 1, "before the first": 0}[moment]
    assert len(train.seeds) == 2 - kept  # what was kept is not trained again


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("botorch") is None, reason="BoTorch is not installed (extra: search)")
def test_the_papers_strategy_forgets_points_of_the_old_space(tmp_path: Path) -> None:
    model = dvae.models.build("dvae", TASK, hidden=16, latent=4, seed=0)
    dvae.fit(model, TASK.sample(400, seed=0), epochs=25, batch_size=32, learning_rate=5e-3, progress=False)
    whole = searched(model, None, None, Trainer(), strategy=QUICK_PAPER)
    address = f"dvae:///{tmp_path / 'studies.db'}"
    killed(model, address, tmp_path, Trainer(), strategy=QUICK_PAPER, dies_after=8)
    assert tried(searched(model, address, tmp_path, Trainer(), strategy=QUICK_PAPER)) == tried(whole)


def test_lost_weights_are_trained_again_to_the_same(vae: VAE, tmp_path: Path) -> None:
    address, folder = f"dvae:///{tmp_path / 'studies.db'}", tmp_path / "kept"
    killed(vae, address, folder, Trainer(), dies_after=14)
    for path in folder.rglob(RECORD):
        path.unlink()  # as if killed before the record was written
    train = Trainer()
    assert tried(searched(vae, address, folder, train)) == tried(searched(vae, None, None, Trainer()))
    assert len(train.seeds) == 2


def test_weights_of_another_search_are_not_taken(vae: VAE, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    searched(vae, None, folder, Trainer())
    train = Trainer()
    searched(vae, None, folder, train, strategy="evolution")  # the same name, other DAGs
    assert len(train.seeds) == 2


@pytest.mark.parametrize("change", [{"every": 3}, {"weight": 0.5}, {"epochs": 2}])
def test_a_study_goes_on_with_the_retraining_it_was_begun_with(
    vae: VAE, change: dict[str, float], tmp_path: Path
) -> None:
    address = f"dvae:///{tmp_path / 'studies.db'}"
    killed(vae, address, None, Trainer(), dies_after=2)
    with pytest.raises(StudyError, match="retrain"):
        searched(vae, address, None, Trainer(), **change)


def test_a_study_without_retraining_does_not_begin_to(vae: VAE, tmp_path: Path) -> None:
    address = f"dvae:///{tmp_path / 'studies.db'}"
    dvae.search(vae, score=score, strategy="random", budget=3, batch=3, initial=2, storage=address)
    plan = Retraining(1, Trainer())
    with pytest.raises(StudyError, match="retrain"):
        dvae.search(vae, score=score, strategy="random", budget=3, batch=3, initial=2, storage=address, retrain=plan)


def test_weights_fall_with_the_rank() -> None:
    weights = rank_weights([0.1, None, 0.9, 0.5, None], 0.2)  # k N = 1
    assert weights.tolist() == pytest.approx([1 / 3, 1 / 5, 1, 1 / 2, 1 / 5])
    assert rank_weights([], 0.1).tolist() == []


def test_the_best_are_drawn_most_and_unscored_ones_still(vae: VAE) -> None:
    known = [ScoredDag(dag, float(number)) for number, dag in enumerate(DAGS[:20])]
    plan = Retraining(10, Trainer(), DAGS, weight=1e-2, epochs=200)
    drawn = Counter(TASK.keys_of(plan.drawn(vae, known, seed=0)))
    keys = TASK.keys_of(DAGS)
    distinct = len(set(keys))
    assert drawn.total() == 200 * distinct
    best, rest = keys[19], [key for key in set(keys) if key not in set(keys[:20])]
    expected = rank_weights([float(number) for number in range(20)] + [None] * (distinct - 20), 1e-2)
    share = float(expected.max() / expected.sum())
    assert drawn[best] / drawn.total() == pytest.approx(share, rel=0.1)
    assert all(drawn[key] > 0 for key in rest)
    assert plan.drawn(vae, known, seed=1) != plan.drawn(vae, known, seed=0)


@pytest.mark.parametrize("bad", [{"every": 0}, {"weight": 0.0}, {"weight": float("inf")}, {"epochs": 0}])
def test_settings_that_mean_nothing_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Retraining(**{"every": 5, "train": Trainer(), **bad})  # type: ignore[arg-type]


def test_an_interrupted_training_is_not_taken_for_a_whole_one(vae: VAE, monkeypatch: pytest.MonkeyPatch) -> None:
    from dvae.runs import retraining
    from dvae.training import FitResult

    monkeypatch.setattr(retraining, "train", lambda *_, **__: FitResult("interrupted", 0, 0.0, (), 0.0))
    with pytest.raises(KeyboardInterrupt):
        trainer(TrainingConfig())(vae, DAGS, 0)


def test_studies_have_folders_of_their_own(tmp_path: Path) -> None:
    names = ["asia-random-0", "bn:A,B-random-0", "bn_A_B-random-0", "x/../../y", "a" * 300]
    folders = [retrained_folder(tmp_path, name) for name in names]
    assert len(set(folders)) == len(names)
    assert all(folder.parent == tmp_path / "retrained" and len(folder.name) < 100 for folder in folders)


def test_a_run_retrains_its_model(tmp_path: Path) -> None:
    run = dvae.Run.create(tmp_path / "run", "asia", preset="paper", size=40, hidden=8, latent=3, epochs=1, batch_size=8)
    run.fit(progress=False, device="cpu")
    before = model_fingerprint(run.model("cpu"))
    study = run.search(
        strategy="random", budget=6, batch=3, initial=2, retrain=3, retrain_weight=0.1, name="s", device="cpu"
    )
    assert study.description["retrain"]["every"] == 3
    record = dvae.load(tmp_path / "run" / "retrained" / "s" / "trial-000003", device="cpu")
    assert model_fingerprint(record) != before == model_fingerprint(run.model("cpu"))
    assert torch.isfinite(record.latent_std).all()
