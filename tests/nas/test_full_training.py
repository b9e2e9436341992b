from __future__ import annotations

import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dvae.config import replace
from dvae.data.images import Images
from dvae.errors import CheckpointError, ConfigError, PrunedError
from dvae.files import read_json
from dvae.nas import full_training
from dvae.nas.full_training import train_network
from dvae.nas.network import fixed_network
from dvae.nas.recipes import Recipe, get_recipe
from dvae.nas.scores import TrainedAccuracy
from dvae.training import checkpoint
from nas.examples import ctrl_c_at, some_architectures, stripes
from training.runs import same
from training.test_resume import Crash, crash_after

ARCHITECTURE = some_architectures(1, depth=3)[0]
RECIPE = replace(get_recipe("digits"), epochs=3, batch=16, **{"network.width": 4})


def test_a_network_learns_and_its_test_accuracy_is_told(tmp_path: Path) -> None:
    trained = train_network(ARCHITECTURE, stripes(), replace(RECIPE, epochs=8), folder=tmp_path)
    assert trained.images == "test"
    assert trained.accuracy > 0.8
    written = read_json(tmp_path / "result.json")
    assert isinstance(written, dict)
    assert written["accuracy"] == trained.accuracy
    assert written["parameters"] == trained.size.parameters
    assert written["dag"]["types"][0] == "input"


def test_mirror_images_have_a_say_where_classes_allow_it() -> None:
    """Who sees each image both ways cannot tell it from its mirror image."""
    plain = train_network(ARCHITECTURE, stripes(), RECIPE)
    assert plain.accuracy_with_mirrors is None
    upright = dataclasses.replace(stripes(), mirrored=True)
    both = train_network(ARCHITECTURE, upright, replace(RECIPE, epochs=8))
    turned = Images(np.ascontiguousarray(upright.test.pixels[:, :, ::-1]), upright.test.labels)
    other = train_network(ARCHITECTURE, dataclasses.replace(upright, test=turned), replace(RECIPE, epochs=8))
    assert both.accuracy_with_mirrors == other.accuracy_with_mirrors


def test_all_augmentations_at_once_train_and_repeat() -> None:
    everything = {"augmentation.mixing": 0.5, "augmentation.distortion": 0.5, "augmentation.cutout": 0.25}
    recipe = replace(RECIPE, label_smoothing=0.1, **everything)
    losses = [[row["loss"] for row in train_network(ARCHITECTURE, stripes(), recipe).history] for _ in range(2)]
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]


def test_training_goes_on_from_its_folder(tmp_path: Path) -> None:
    whole = train_network(ARCHITECTURE, stripes(), RECIPE, validation=24)

    def stop(epoch: int, accuracy: float) -> None:
        if epoch == 2:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full_training, "SECONDS_BETWEEN_SAVES", 0.0)
        with pytest.raises(KeyboardInterrupt):
            train_network(ARCHITECTURE, stripes(), RECIPE, validation=24, folder=tmp_path, report=stop)
        again = train_network(ARCHITECTURE, stripes(), RECIPE, validation=24, folder=tmp_path)
    assert [row["loss"] for row in again.history] == [row["loss"] for row in whole.history]
    assert again.accuracy == whole.accuracy
    once_more = train_network(ARCHITECTURE, stripes(), RECIPE, validation=24, folder=tmp_path)
    assert once_more.accuracy == whole.accuracy
    with pytest.raises(CheckpointError, match="images"):
        train_network(ARCHITECTURE, stripes(test=40), RECIPE, validation=24, folder=tmp_path)
    with pytest.raises(CheckpointError, match="architecture"):
        train_network(some_architectures(2, depth=3)[1], stripes(), RECIPE, validation=24, folder=tmp_path)


@pytest.mark.parametrize("saves", [1, 4, 6, 13])
def test_a_training_that_was_killed_inside_an_epoch_goes_on(
    saves: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batches, augmentation and dropout go on where they were; an epoch has six steps."""
    recipe = replace(RECIPE, **{"network.dropout": 0.3, "augmentation.mixing": 0.5, "augmentation.distortion": 0.5})
    whole = train_network(ARCHITECTURE, stripes(), recipe, folder=tmp_path / "whole")
    monkeypatch.setattr(full_training, "SECONDS_BETWEEN_SAVES", 0.0)
    with monkeypatch.context() as patch:
        crash_after(saves, patch)
        with pytest.raises(Crash):
            train_network(ARCHITECTURE, stripes(), recipe, folder=tmp_path / "parts")
    parts = train_network(ARCHITECTURE, stripes(), recipe, folder=tmp_path / "parts")
    assert [row["loss"] for row in parts.history] == [row["loss"] for row in whole.history]
    assert parts.accuracy == whole.accuracy
    one, two = (load_file(tmp_path / name / checkpoint.FILE) for name in ("whole", "parts"))
    assert same(one, two)


def test_ctrl_c_leaves_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = train_network(ARCHITECTURE, stripes(), RECIPE)
    with monkeypatch.context() as patch:
        ctrl_c_at(8, patch)
        with pytest.raises(KeyboardInterrupt):
            train_network(ARCHITECTURE, stripes(), RECIPE, folder=tmp_path)
    place = checkpoint.read(tmp_path / checkpoint.FILE)[1]["place"]
    assert (place["epoch"], place["step"]) == (1, 2)
    assert not (tmp_path / "result.json").exists()
    again = train_network(ARCHITECTURE, stripes(), RECIPE, folder=tmp_path)
    assert [row["loss"] for row in again.history] == [row["loss"] for row in whole.history]


def test_the_score_of_a_search_reports_and_can_be_pruned() -> None:
    score = TrainedAccuracy(RECIPE, data=stripes(), validation=24)
    seen: list[tuple[int, float]] = []
    accuracy = score(ARCHITECTURE.dag(), lambda step, value: seen.append((step, value)))
    assert [step for step, _ in seen] == [1, 2, 3]
    assert seen[-1][1] == accuracy
    assert score(ARCHITECTURE.dag(), None) == accuracy

    def prune(step: int, value: float) -> None:
        raise PrunedError

    with pytest.raises(PrunedError):
        score(ARCHITECTURE.dag(), prune)


def test_the_paper_s_recipe() -> None:
    paper = get_recipe("paper")
    assert (paper.epochs, paper.batch, paper.weight_decay) == (310, 100, 2e-4)
    assert (paper.network.width, paper.network.join, paper.network.dropout) == (96, "concat", 0.5)
    assert paper.network.separable == "plain"


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="no recipe 'slow'; there are paper, fast, digits"):
        get_recipe("slow")
    with pytest.raises(ConfigError, match="recipe: unknown setting 'epoch'; did you mean 'epochs'"):
        train_network(ARCHITECTURE, stripes(), RECIPE, epoch=3)
    with pytest.raises(ConfigError, match=r"recipe.epochs: expected an integer, got the string '3'"):
        train_network(ARCHITECTURE, stripes(), "digits", epochs="3")
    with pytest.raises(ConfigError, match="batch: expected an integer"):
        Recipe(batch="64")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="running"):
        Recipe(network=replace(RECIPE.network, statistics="batch"))


def test_every_network_of_many_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def count(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> object:
        made.append(graph)
        return graph.forward

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=count))
    narrow = replace(RECIPE.network, channels=1)
    for architecture in some_architectures(10, depth=2):
        full_training._compiled(fixed_network(architecture, narrow, seed=0))(torch.zeros(2, 1, 8, 8))
    assert len(made) == 10
