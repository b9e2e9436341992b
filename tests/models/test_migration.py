"""Models and settings that version 0.1.0 wrote: one class of settings for all models, all of them in every file."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
import torch

import dvae
from dvae import Run
from dvae.config import to_mapping
from dvae.errors import CheckpointError, ConfigError
from dvae.models import MODELS, build, model_config
from dvae.models.migration import ALWAYS_WRITTEN, current, format_1
from dvae.tasks import EnasTask, RawTask

BASE = {"hidden": 8, "latent": 4, "kl_weight": 0.005, "noise_scale": 1.0, "features": "one-hot", "feature_width": 16}
OLD_RUNS = Path(__file__).parents[1] / "fixtures" / "run-0.1.0.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    with tarfile.open(OLD_RUNS) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.mark.parametrize("name", [*MODELS, "svae+dvae"])
def test_settings_of_format_1_become_those_of_the_model(name: str) -> None:
    """What 0.1.0 wrote for any model, and the other way round: keys made of it stay what they were."""
    written = {"name": name, **BASE, **ALWAYS_WRITTEN}
    ours = to_mapping(model_config(name, hidden=8, latent=4))
    assert current({"model": written, "size": 3}) == {"model": ours, "size": 3}
    assert format_1({"recipes": [{"model": ours}]}) == {"recipes": [{"model": written}]}
    assert current({"model": ours}) == {"model": ours}


def test_settings_that_the_model_never_used_are_dropped_and_others_kept() -> None:
    written = {"name": "svae", **BASE, **ALWAYS_WRITTEN, "rounds": 7, "edge_width": 5, "widht": 3}
    assert current({"model": written})["model"] == {"name": "svae", **BASE, "edge_width": 5, "widht": 3}


def test_a_table_called_model_that_is_none_is_left_alone() -> None:
    assert current({"model": {"kind": "train", "dropout": 1}}) == {"model": {"kind": "train", "dropout": 1}}


@pytest.mark.parametrize("name", ["asia", "generic"])
def test_a_model_of_version_0_1_0_loads(name: str, old: Path) -> None:
    assert "attention_width" in (old / name / "model.toml").read_text()
    vae = dvae.load(old / name)
    assert vae.config == model_config("dvae", hidden=8, latent=4)
    assert len(vae.sample(3, seed=0)) == 3
    assert Run.open(old / name).config.model == vae.config


def test_training_of_version_0_1_0_goes_on(old: Path) -> None:
    """The checkpoint holds the settings of its model, to be compared with today's."""
    result = Run.open(old / "asia").fit(resume=True, epochs=2, device="cpu", progress=False)
    assert (result.epochs, len(result.history)) == (2, 2)


def test_hints_of_version_0_1_0_load() -> None:
    """They had neither DAGNN's directions nor a node order."""
    spec = RawTask(5, 6, EnasTask.hints).spec()
    del spec["hints"]["dagnn_bidirectional"], spec["hints"]["node_order"]
    assert RawTask.from_spec(spec).hints == EnasTask.hints


def saved(folder: Path, **settings: object) -> Path:
    build("svae", EnasTask(3), hidden=8, latent=4, seed=0, **settings).save(folder)
    return folder / "model.toml"


def test_a_saved_model_says_its_format(tmp_path: Path) -> None:
    text = saved(tmp_path).read_text()
    assert text.startswith('format = 2\nname = "svae"\n')
    assert "dropout" not in text


def test_only_format_1_may_hold_what_the_model_lacks(tmp_path: Path) -> None:
    path = saved(tmp_path)
    weights = dvae.load(tmp_path).state_dict()
    path.write_text(path.read_text() + "rounds = 7\n")
    with pytest.raises(ConfigError, match="the model 'svae' has no setting 'rounds'"):
        dvae.load(tmp_path)
    path.write_text(path.read_text().removeprefix("format = 2\n"))
    for name, tensor in dvae.load(tmp_path).state_dict().items():
        assert torch.equal(tensor, weights[name])


@pytest.mark.parametrize("number", ["3", '"2"', "0", "true"])
def test_a_format_that_this_version_does_not_know_is_refused(number: str, tmp_path: Path) -> None:
    path = saved(tmp_path)
    path.write_text(path.read_text().replace("format = 2", f"format = {number}"))
    with pytest.raises(CheckpointError, match=r"model\.toml has format .* reads 1 to 2: use a newer dvae"):
        dvae.load(tmp_path)
