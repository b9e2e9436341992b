"""A stage is its settings: equal ones are made once, others anew; a killed or late one goes on."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from dvae.errors import ConfigError, DvaeError, FormatError, MissingError, StorageError, TaskError
from dvae.models import VAE, ModelConfig
from dvae.paper import (
    OutOfTime,
    Source,
    Stage,
    StageStore,
    measurements,
    preset,
    run_stages,
    searches,
    stage_store,
    stages_of,
)
from dvae.paper.latent_figures import straight_network
from dvae.paper.runner import failures
from dvae.paper.searches import SearchResult, SearchTrial
from dvae.paper.sources import oracle_of
from dvae.paper.stage import with_needs
from dvae.paper.training import ModelRecipe, Train
from dvae.tasks import EnasSurrogateTask, EnasTask, get
from dvae.training import TrainingConfig

from .conftest import made_up_architectures

SOURCE = Source("asia", size=60)
RECIPE = ModelRecipe("dvae", ModelConfig(hidden=8, latent=3), TrainingConfig(epochs=3, batch_size=16))
TRAIN = Train(SOURCE, RECIPE, 0)


@dataclass(frozen=True)
class Note(Stage[Mapping[str, Any]]):
    kind: ClassVar[str] = "note"
    word: str
    before: tuple[str, ...] = ()
    problem: str = ""
    seed: int = 0

    @property
    def title(self) -> str:
        return f"note {self.word}"

    @property
    def slug(self) -> str:
        return self.word

    @property
    def seed_of_model(self) -> int:
        return self.seed

    def needs(self) -> tuple[Stage[Any], ...]:
        return tuple(Note(word) for word in self.before)

    def run(self, store: StageStore) -> Mapping[str, Any]:
        (store.folder(self) / "file.txt").write_text(self.word)
        if self.problem:
            raise DvaeError(self.problem)
        return {"word": self.word, "number": float("nan")}

    def read(self, result: Mapping[str, Any], where: str) -> Mapping[str, Any]:
        return result


def quiet(sentence: str) -> None:
    pass


def test_equal_settings_have_one_key_and_any_change_another() -> None:
    assert TRAIN.key == Train(Source("asia", size=60), RECIPE, 0).key
    others = [
        dataclasses.replace(TRAIN, seed=1),
        dataclasses.replace(TRAIN, source=Source("asia", size=61)),
        dataclasses.replace(TRAIN, recipe=dataclasses.replace(RECIPE, name="other")),
        dataclasses.replace(TRAIN, recipe=ModelRecipe("dvae", ModelConfig(hidden=9, latent=3), RECIPE.training)),
    ]
    assert len({TRAIN.key, *(stage.key for stage in others)}) == 5


def test_a_stage_comes_after_what_it_needs_and_once() -> None:
    order = with_needs([Note("c", ("a", "b")), Note("late", seed=1), Note("d", ("a",))])
    assert [stage.slug for stage in order] == ["a", "b", "c", "d", "late"]


def test_a_result_is_made_once_and_kept_with_its_origin(tmp_path: Path) -> None:
    shop = StageStore(tmp_path)
    stage = Note("a")
    assert shop.make(stage) == {"word": "a", "number": None}
    record = shop.record(stage)
    assert record is not None
    assert record["provenance"]["versions"]["torch"] == torch.__version__
    assert run_stages([stage], StageStore(tmp_path), quiet).found == 1


def test_what_a_killed_stage_left_is_thrown_away(tmp_path: Path) -> None:
    shop = StageStore(tmp_path)
    stage = Note("a")
    (shop.folder(stage)).mkdir(parents=True)
    (shop.folder(stage) / "half.txt").write_text("half")
    assert not shop.is_done(stage)
    shop.make(stage)
    assert sorted(path.name for path in shop.folder(stage).iterdir()) == ["file.txt", "result.json"]


def test_a_file_that_is_no_result_is_named(tmp_path: Path) -> None:
    shop = StageStore(tmp_path)
    shop.make(Note("a"))
    (shop.folder(Note("a")) / "result.json").write_text("[]")
    with pytest.raises(FormatError, match="remove it"):
        shop.result(Note("a"))
    (shop.folder(TRAIN)).mkdir(parents=True)
    (shop.folder(TRAIN) / "result.json").write_text('{"result": {"ended": 3}}')
    with pytest.raises(FormatError, match=r"result\.ended: expected a string.*remove it"):
        shop.result(TRAIN)


def test_a_failure_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    bad, shop = Note("bad", problem="no such thing"), StageStore(tmp_path)
    said: list[str] = []
    outcome = run_stages([bad, Note("good")], shop, said.append)
    assert outcome.failed == {"note bad": "no such thing"}
    assert (outcome.made, outcome.waiting) == (1, 0)
    assert not shop.folder(bad).exists()
    assert failures(shop) == outcome.failed
    assert any("no such thing" in line for line in said)
    run_stages([dataclasses.replace(bad, problem="")], shop, quiet)
    assert failures(shop) == {}


def test_a_full_disk_is_no_failure_of_a_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Note, store: StageStore) -> Mapping[str, Any]:
        raise StorageError("x.json: cannot be written: no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Note, "run", full)
        with pytest.raises(StorageError, match="no space"):
            run_stages([Note("a"), Note("b")], StageStore(tmp_path), quiet)
    assert run_stages([Note("a"), Note("b")], StageStore(tmp_path), quiet).made == 2


def test_no_stage_begins_when_the_time_is_up(tmp_path: Path) -> None:
    outcome = run_stages([Note("a"), Note("b")], StageStore(tmp_path, seconds=0), quiet)
    assert (outcome.ended, outcome.made, outcome.waiting) == ("time", 0, 2)


def test_two_processes_do_not_work_in_one_folder(tmp_path: Path) -> None:
    def again(sentence: str) -> None:
        with pytest.raises(ConfigError, match="another process"):
            run_stages([Note("b")], StageStore(tmp_path), quiet)

    assert run_stages([Note("a")], StageStore(tmp_path), again).made == 1
    assert run_stages([Note("b")], StageStore(tmp_path), quiet).made == 1


def test_training_that_runs_out_of_time_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_store, "MIN_SECONDS", -60.0)
    whole = StageStore(tmp_path / "whole", progress=False)
    whole.make(TRAIN)
    parts = 0
    while not StageStore(tmp_path / "parts").is_done(TRAIN):
        parts += 1
        try:
            StageStore(tmp_path / "parts", progress=False, seconds=0.0 if parts < 3 else None).make(TRAIN)
        except OutOfTime:
            assert (StageStore(tmp_path / "parts").work_folder(TRAIN) / "checkpoint.safetensors").is_file()
    assert parts == 3
    done = StageStore(tmp_path / "parts")
    assert not done.work_folder(TRAIN).exists()
    first, second = whole.model(TRAIN).state_dict(), done.model(TRAIN).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    result = done.result(TRAIN)
    assert result is not None
    assert (result.epochs, result.graphs, len(result.history)) == (3, 54, 3)


@pytest.mark.parametrize("strategy", ["random", "evolution", "trust-region"])
def test_a_search_that_runs_out_of_time_goes_on_where_it_was(strategy: str, tmp_path: Path) -> None:
    def search(folder: str, most: int) -> SearchResult | None:
        """Stops, as for want of time, before round `most`."""
        shop = StageStore(tmp_path / folder, progress=False)
        shop.model(TRAIN)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(searches, "_check_time", lambda shop, rounds: _stop(len(rounds) >= most))
            try:
                shop.make(SearchTrial(TRAIN, SOURCE, strategy, 0, 3, 4, 20))
            except OutOfTime:
                return None
        return shop.result(SearchTrial(TRAIN, SOURCE, strategy, 0, 3, 4, 20))

    assert search("parts", 1) is None
    assert search("parts", 2) is None
    whole, parts = search("whole", 9), search("parts", 9)
    assert whole is not None
    assert parts is not None
    assert whole.top == parts.top
    assert [one.scores for one in whole.rounds] == [one.scores for one in parts.rounds]


def _stop(now: bool) -> None:
    if now:
        raise OutOfTime("late")


def test_kept_weights_are_half_as_large_and_load_in_single_precision(tmp_path: Path) -> None:
    shop = StageStore(tmp_path, progress=False)
    vae = shop.model(TRAIN)
    size = (shop.folder(TRAIN) / "model.safetensors").stat().st_size
    assert {parameter.dtype for parameter in vae.parameters()} == {torch.float32}
    assert size < 3.5 * sum(parameter.numel() for parameter in vae.parameters())


@pytest.mark.parametrize(("device", "expected"), [("cpu", "highest"), ("cuda", "high")])
def test_models_are_measured_with_the_products_they_were_trained_with(
    device: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, seen = StageStore(tmp_path, progress=False), []
    store.make(TRAIN)

    def looked_at(*_: object, **__: object) -> None:
        seen.append(torch.get_float32_matmul_precision())
        raise DvaeError("enough")

    monkeypatch.setattr(measurements, "evaluate", looked_at)
    monkeypatch.setattr(VAE, "device", torch.device(device))
    with pytest.raises(DvaeError, match="enough"):
        measurements.Evaluate(TRAIN).run(store)
    assert seen == [expected]
    assert torch.get_float32_matmul_precision() == "highest"


def test_a_file_that_changed_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    source = made_up_architectures(tmp_path)
    assert len(source.dataset(tmp_path)) == 80
    made_up_architectures(tmp_path, 81)
    with pytest.raises(FormatError, match="start another run"):
        source.dataset(tmp_path)
    with pytest.raises(MissingError, match="is gone"):
        source.dataset(tmp_path / "elsewhere")


def test_the_surrogate_learns_the_scores_it_was_given(tmp_path: Path) -> None:
    data = made_up_architectures(tmp_path, 400).dataset(tmp_path)
    oracle = oracle_of(EnasTask(6), data)
    assert oracle.name == "surrogate accuracy"
    assert oracle.held_out is not None
    assert 0.8 < oracle.held_out <= 1
    assert oracle.score(data.test.dags) == oracle_of(EnasTask(6), data).score(data.test.dags)
    networks = Source("asia", size=20)
    assert oracle_of(networks.load_task(), networks.dataset(tmp_path)).facts == {"score": "BIC", "held_out": None}


@pytest.mark.slow
@pytest.mark.shared
def test_on_the_papers_architectures_it_is_the_surrogate_of_the_task(shared_data: Path, tmp_path: Path) -> None:
    source, surrogate = Source("enas6"), EnasSurrogateTask()
    oracle = oracle_of(source.load_task(), source.dataset(tmp_path))
    dags = EnasTask(6).sample(50, seed=1)
    assert oracle.score(dags) == pytest.approx(surrogate.scores(dags))
    assert oracle.held_out == pytest.approx(surrogate.held_out.r)


@pytest.mark.parametrize("name", ["paper", "quick", "tiny"])
def test_every_preset_has_a_plan_for_every_target(name: str) -> None:
    settings = preset(name, Source("enas6"), Source("asia"))
    every = stages_of("all", settings)
    assert len({stage.key for stage in every}) == len(every) > 30
    for target in ("table1", "table2", "table3", "bo-enas", "bo-bn", "figures"):
        assert set(stages_of(target, settings)) <= set(every)


def test_the_paper_preset_is_the_papers_protocol() -> None:
    settings = preset("paper", Source("enas6"), Source("asia"))
    dvae = settings.enas.recipe("dvae")
    assert (dvae.model.hidden, dvae.model.latent, dvae.training.epochs) == (501, 56, None)
    assert settings.enas.recipe("deepgmg").training.epochs == 30
    assert (settings.enas.search.rounds, settings.enas.search.batch, settings.enas.search.trials) == (10, 50, 10)
    assert settings.enas.evaluation.prior_latents == 1000
    assert settings.note == ""
    assert settings.enas.recipe("dvae-original").model.noise_scale == 0.01
    assert settings.enas.recipe("dvae-sum").model.readout == "sum"


def test_straight_axes_are_the_preset_auto_of_a_gpu() -> None:
    settings = preset("paper", Source("enas6"), Source("asia"))
    for experiment in (settings.enas, settings.bn):
        recipe, auto = experiment.recipe("dvae-axes"), get(experiment.source.task).recipe("cuda")
        assert (recipe.model.head, recipe.model.hidden) == ("one-to-one", auto["model.hidden"])
        assert recipe.model.head_weight == auto.get("model.head_weight")
        assert recipe.model.kl_weight == auto.get("model.kl_weight", ModelConfig().kl_weight)
        for name in ("epochs", "batch_size", "warmup"):
            assert getattr(recipe.training, name) == auto[f"training.{name}"]


def test_the_quick_preset_keeps_what_makes_a_variant_one() -> None:
    settings = preset("quick", Source("enas6"), Source("asia"))
    assert settings.enas.recipe("dvae-original").model.noise_scale == 0.01
    assert settings.enas.recipe("pace").model.latent == settings.enas.recipe("dvae").model.latent == 24
    assert settings.enas.recipe("dvae-axes").model.head == "linear"  # there are too few latents for one each
    assert settings.enas.recipe("deepgmg").model.hidden == 32
    assert "small run" in settings.note


def test_straight_networks_belong_to_architectures() -> None:
    assert straight_network(EnasTask(3)).types == ("input", "conv3", "conv3", "conv3", "output")
    with pytest.raises(TaskError, match="asia has no straight networks"):
        straight_network(get("asia"))


def test_parts_together_are_all_stages_and_none_is_made_twice() -> None:
    settings = preset("paper", Source("enas6"), Source("asia"), seeds=1)
    for target in ("all", "table2", "table3", "figures"):
        parts = [stages_of(target, settings, part=(number, 4)) for number in (1, 2, 3, 4)]
        together = [stage for part in parts for stage in part]
        assert set(together) == set(stages_of(target, settings))
        assert len(together) == len(set(together))


def test_searches_are_dealt_out_trial_by_trial() -> None:
    settings = preset("paper", Source("enas6"), Source("asia"))
    parts = [set(stages_of("bo-bn", settings, part=(number, 3))) for number in (1, 2, 3)]
    assert set().union(*parts) == set(stages_of("bo-bn", settings))
    for one, other in itertools.combinations(parts, 2):
        assert {stage.kind for stage in one & other} == {"train"}


def test_a_part_that_is_not_there_is_refused() -> None:
    settings = preset("tiny", Source("enas6"), Source("asia"))
    with pytest.raises(ConfigError, match="no part 4 of 3"):
        stages_of("bo-bn", settings, part=(4, 3))
    with pytest.raises(ConfigError, match="4 parts at most"):
        stages_of("table3", settings, part=(20, 20))


def test_only_some_models_are_chosen_with_what_they_need() -> None:
    settings = preset("tiny", Source("enas6"), Source("asia"))
    chosen = stages_of("table1", settings, ["svae"])
    assert {stage.slug.split("-")[1] for stage in chosen} == {"svae"}
    assert {stage.kind for stage in stages_of("table2", settings, ["baselines"])} == {"baselines"}
    assert {stage.slug for stage in stages_of("table1", settings, ["enas6/svae"])} == {"enas6-svae-0"}
    with pytest.raises(ConfigError, match="choose among dvae, svae"):
        stages_of("table1", settings, ["gpt"])
    with pytest.raises(ConfigError, match="table1"):
        stages_of("table9", settings)
    with pytest.raises(ConfigError, match="quick"):
        preset("huge", Source("enas6"), Source("asia"))
