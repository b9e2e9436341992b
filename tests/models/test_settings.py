"""Settings of models: each model has those of its parts and no others, in Python and in TOML alike."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch

from dvae.config import from_mapping, read_toml, replace, to_mapping, to_toml, with_overrides
from dvae.errors import ConfigError, MissingError
from dvae.models import MODELS, ModelConfig, build, model_config
from dvae.runs import RunConfig
from dvae.tasks import EnasTask
from models.examples import generic_task

PARTS_OF = {
    "dvae": {"aggregation", "bidirectional", "readout", "edge_width"},
    "dvae-smp": {"aggregation", "bidirectional", "readout", "edge_width", "rounds"},
    "gcn": {"rounds", "original", "aggregation", "edge_width"},
    "deepgmg": {"rounds"},
    "svae": {"edge_width"},
    "graphrnn": {"edge_width"},
    "dvae-fast": {"aggregation", "bidirectional", "readout", "edge_width"},
    "dagnn": {"layers", "bidirectional", "aggregation", "edge_width"},
    "pace": {"layers", "attention_width", "dropout", "edge_width", "node_order"},
    "layerwise": {"layers", "token_width", "place_latents", "edge_width"},
    "svae+dvae": {"aggregation", "edge_width"},
}


def names(config: ModelConfig) -> set[str]:
    return {field.name for field in dataclasses.fields(config)}


@pytest.mark.parametrize("name", PARTS_OF)
def test_a_model_has_the_settings_of_its_parts_and_no_others(name: str) -> None:
    base = {field.name for field in dataclasses.fields(ModelConfig)}
    assert names(model_config(name)) == base | PARTS_OF[name]
    assert PARTS_OF.keys() >= MODELS.keys()


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("svae", {"rounds": 7}, "the model 'svae' has no setting 'rounds'; it has conditions, edge_width, feature_width, "),
    ("dvae", {"dropout": 0.1}, "the model 'dvae' has no setting 'dropout'"),
    ("dvae", {"hiden": 128}, "the model 'dvae' has no setting 'hiden'; did you mean 'hidden'? It has"),
    ("dvae", {"hidden": "128"}, "hidden: expected an integer, got the string '128'"),
    ("dvae", {"hidden": True}, "hidden: expected an integer, got the truth value True"),
    ("dvae-smp", {"rounds": 2.5}, "rounds: expected an integer, got the number 2.5"),
    ("dvae-smp", {"rounds": 0}, "rounds must be at least 1, not 0"),
    ("pace", {"layers": 0}, "layers must be at least 1, not 0"),
    ("pace", {"attention_width": 12}, "attention_width must be a multiple of 8"),
    ("pace", {"dropout": 1.0}, "dropout must be at least 0 and below 1"),
    ("layerwise", {"token_width": 6}, "token_width must be a multiple of 4, the number of heads, not 6"),
    ("layerwise", {"place_latents": 0}, "place_latents must be at least 1, not 0"),
    ("pace", {"edge_width": 0}, "edge_width must be at least 1, not 0"),
    ("dvae", {"aggregation": "gated-summ"}, "there is no aggregation 'gated-summ'; did you mean 'gated-sum'?"),
    ("dvae", {"readout": "start"}, "there is no readout 'start'; there are end, sum, both, or package.module:name"),
    ("svea", {}, "there is no model 'svea'; did you mean 'svae'?"),
    ("gcn9+dvae", {}, "there is no encoder 'gcn9'; did you mean 'gcn'?"),
    ("gcn+dvae9", {}, "there is no decoder 'dvae9'; did you mean 'dvae'?"),
]


@pytest.mark.parametrize(("name", "settings", "words"), WRONG)
def test_a_wrong_setting_is_refused_in_python_and_toml_alike(
    name: str, settings: dict[str, Any], words: str, tmp_path: Path
) -> None:
    lines = [f'name = "{name}"', *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    (tmp_path / "run.toml").write_text("[model]\n" + "\n".join(lines) + "\n")
    for attempt in (
        lambda: build(name, EnasTask(3), **settings),
        lambda: ModelConfig(name=name, **settings),
        lambda: model_config(name, **settings),
        lambda: read_toml(RunConfig, tmp_path / "run.toml"),
        lambda: with_overrides(RunConfig(), {f"model.{key}": v for key, v in {"name": name, **settings}.items()}),
    ):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert words in str(caught.value)


def _toml(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def test_an_error_in_a_file_names_its_place(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[model]\nname = "svae"\nrounds = 7\n')
    with pytest.raises(ConfigError, match=r"run\.toml\.model: the model 'svae' has no setting 'rounds'"):
        read_toml(RunConfig, tmp_path / "run.toml")


@pytest.mark.parametrize("given", [3, True, ["end"]])
def test_a_part_that_is_neither_named_nor_a_class_is_refused(given: object) -> None:
    with pytest.raises(ConfigError, match=r"expected a name, package\.module:name or a class"):
        model_config(readout=given)
    with pytest.raises(ConfigError, match="readout: expected a string"):
        from_mapping(ModelConfig, {"readout": given})


def test_a_part_of_a_package_that_is_not_there_names_the_package() -> None:
    for settings in (
        {"name": "no_such.parts:E+dvae"},
        {"name": "dvae+no_such.parts:D"},
        {"readout": "no_such.parts:R"},
    ):
        with pytest.raises(MissingError, match="needs the package 'no_such', which is not installed"):
            model_config(**settings)


def test_another_name_takes_along_what_was_set() -> None:
    smp = model_config("dvae-smp", hidden=8, rounds=4)
    gcn = replace(smp, name="gcn")
    assert gcn == model_config("gcn", hidden=8, rounds=4)
    assert replace(model_config("dvae", hidden=8), name="svae") == model_config("svae", hidden=8)
    assert replace(model_config(), name="pace", dropout=0.1) == model_config("pace", dropout=0.1)
    with pytest.raises(ConfigError, match="the model 'svae' has no setting 'rounds'"):
        replace(smp, name="svae")
    run = with_overrides(RunConfig(model=model_config(hidden=8)), {"model.name": "dagnn", "model.layers": 3})
    assert run.model == model_config("dagnn", hidden=8, layers=3)


def test_a_name_cannot_be_changed_behind_the_back_of_its_settings() -> None:
    with pytest.raises(ConfigError, match=r"settings of another model than 'svae': change a name with dvae\.config"):
        dataclasses.replace(model_config("dvae"), name="svae")


@pytest.mark.parametrize("name", PARTS_OF)
def test_settings_survive_toml_copies_and_pickles(name: str, tmp_path: Path) -> None:
    config = model_config(name, hidden=8, kl_weight=1)
    assert config.kl_weight == 1.0
    assert type(config.kl_weight) is float
    (tmp_path / "model.toml").write_text(to_toml(config))
    assert read_toml(ModelConfig, tmp_path / "model.toml") == config
    assert from_mapping(ModelConfig, to_mapping(config)) == config
    for again in (copy.deepcopy(config), copy.copy(config), pickle.loads(pickle.dumps(config))):
        assert again == config
        assert hash(again) == hash(config)


def test_a_config_of_one_model_serves_another_that_has_its_settings() -> None:
    config = model_config("dvae", hidden=6, latent=2, readout="sum")
    vae = build("dvae-smp", generic_task(), config=config, rounds=2, seed=0)
    assert vae.config == model_config("dvae-smp", hidden=6, latent=2, readout="sum", rounds=2)


def test_an_encoder_or_a_decoder_takes_the_place_of_the_named_one() -> None:
    named = build("gcn+svae", generic_task(), hidden=6, latent=2, seed=0)
    replaced = build("gcn", generic_task(), decoder="svae", hidden=6, latent=2, seed=0)
    assert replaced.config == named.config
    for one, other in zip(named.parameters(), replaced.parameters(), strict=True):
        assert torch.equal(one, other)
