"""Configurations: strict on the way in, lossless on the way out."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dvae import config as configs
from dvae.errors import ConfigError, FormatError, MissingError


@dataclasses.dataclass(frozen=True)
class Optimizer:
    learning_rate: float = 1e-4
    name: Literal["adam", "sgd"] = "adam"

    def __post_init__(self) -> None:
        configs.check(self.learning_rate > 0, f"learning_rate must be above 0, got {self.learning_rate}")


@dataclasses.dataclass(frozen=True)
class Training:
    epochs: int = 100
    shuffle: bool = True
    clip: float | None = None
    optimizer: Optimizer = Optimizer()
    milestones: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True)
class Run:
    name: str
    training: Training = Training()
    warmup: Optimizer | None = None
    stages: tuple[Optimizer, ...] = ()
    window: tuple[int, float] = (1, 0.5)


@dataclasses.dataclass(frozen=True)
class Limited:
    limit: int | None = 5


@dataclasses.dataclass(frozen=True)
class Noted:
    record: Mapping[str, object]


numbers = st.floats(allow_nan=False)
positive = st.floats(min_value=0, exclude_min=True, allow_nan=False)
optimizers = st.builds(Optimizer, positive, st.sampled_from(["adam", "sgd"]))
trainings = st.builds(
    Training,
    st.integers(),
    st.booleans(),
    st.none() | numbers,
    optimizers,
    st.lists(st.integers(), max_size=3).map(tuple),
)
texts = st.text(st.characters(exclude_categories=["Cs"]))
runs = st.builds(
    Run,
    texts,
    trainings,
    st.none() | optimizers,
    st.lists(optimizers, max_size=2).map(tuple),
    st.tuples(st.integers(), numbers),
)


@given(runs)
def test_every_configuration_survives_toml_and_json(run: Run) -> None:
    assert configs.from_mapping(Run, tomllib.loads(configs.to_toml(run))) == run
    assert configs.from_mapping(Run, json.loads(json.dumps(configs.to_mapping(run)))) == run


def test_toml_is_laid_out_for_a_reader() -> None:
    run = Run('a "b"\n', Training(clip=1.0, milestones=(1, 2)), stages=(Optimizer(),))
    assert configs.to_toml(run) == (
        'name = "a \\"b\\"\\n"\n'
        'stages = [{learning_rate = 0.0001, name = "adam"}]\n'
        "window = [1, 0.5]\n"
        "\n[training]\nepochs = 100\nshuffle = true\nclip = 1.0\nmilestones = [1, 2]\n"
        '\n[training.optimizer]\nlearning_rate = 0.0001\nname = "adam"\n'
    )


def test_a_free_form_mapping_is_taken_as_it_is() -> None:
    record = {"versions": {"torch": "2"}, "seed": None}
    assert configs.from_mapping(Noted, {"record": record}) == Noted(record)
    with pytest.raises(ConfigError, match=r"config\.record: expected a table, got the integer 3"):
        configs.from_mapping(Noted, {"record": 3})


def test_an_integer_is_a_number_and_becomes_a_float() -> None:
    clip = configs.from_mapping(Training, {"clip": 3}).clip
    assert clip == 3.0
    assert type(clip) is float


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"name": "r", "traning": {}}, "config: unknown setting 'traning'; did you mean 'training'?"),
        ({"name": "r", "training": {"epoch": 1}}, "config.training: unknown setting 'epoch'; did you mean"),
        ({"name": "r", "zzz": 1}, "the known ones are name, stages, training, warmup, window"),
        ({}, "config: the setting 'name' is missing"),
        ({"name": 3}, "config.name: expected a string, got the integer 3"),
        ({"name": "r", "training": 3}, "config.training: expected a table of settings, got the integer 3"),
        ({"name": "r", "training": {"epochs": True}}, "expected an integer, got the truth value True"),
        ({"name": "r", "training": {"epochs": 3.0}}, "expected an integer, got the number 3.0"),
        ({"name": "r", "training": {"epochs": None}}, "expected an integer, got nothing"),
        ({"name": "r", "training": {"shuffle": 1}}, "expected true or false, got the integer 1"),
        ({"name": "r", "training": {"clip": "x"}}, "training.clip: expected a number, got the string 'x'"),
        ({"name": "r", "training": {"clip": 10**400}}, "too large"),
        ({"name": "r", "training": {"milestones": [1, "2"]}}, "training.milestones[1]: expected an integer"),
        ({"name": "r", "training": {"milestones": 1}}, "expected a list, got the integer 1"),
        ({"name": "r", "window": [1]}, "config.window: expected 2 values, got 1"),
        ({"name": "r", "warmup": {"name": "adm"}}, "warmup.name: expected one of 'adam', 'sgd', got"),
        ({"name": "r", "warmup": {"learning_rate": 0}}, "config.warmup: learning_rate must be above 0"),
    ],
)
def test_a_wrong_setting_is_named_with_its_place(mapping: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configs.from_mapping(Run, mapping)
    assert message in str(caught.value)


def test_none_that_would_come_back_as_something_else_is_not_written() -> None:
    with pytest.raises(ConfigError, match="limit"):
        configs.to_mapping(Limited(None))
    assert configs.with_overrides(Limited(3), {"limit": None}) == Limited(None)


def test_overrides_reach_inside_and_leave_the_original_alone() -> None:
    run = Run("r")
    changed = configs.with_overrides(
        run, {"name": "s", "training.epochs": 3, "training.optimizer.name": "sgd", "warmup.learning_rate": 1}
    )
    assert changed == Run("s", Training(3, optimizer=Optimizer(name="sgd")), warmup=Optimizer(1.0))
    assert run == Run("r")
    assert configs.replace(run, **{"training.epochs": 3}) == Run("r", Training(3))


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"training.epoch": 3}, "config.training: unknown setting 'epoch'; did you mean 'epochs'?"),
        ({"training.epochs.x": 3}, "config.training.epochs: holds a single value"),
        (
            {"training": Training(), "training.epochs": 3},
            "config.training: changed both as a whole and in part",
        ),
        (
            {"training.optimizer.learning_rate": -1},
            "config.training.optimizer: learning_rate must be above 0",
        ),
        ({"training.epochs": "three"}, "config.training.epochs: expected an integer, got the string 'three'"),
    ],
)
def test_a_wrong_override_is_named_with_its_place(overrides: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configs.with_overrides(Run("r"), overrides)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.epochs=3", ("training.epochs", 3)),
        ("clip = 1e-3", ("clip", 0.001)),
        ("shuffle=true", ("shuffle", True)),
        ("name=asia", ("name", "asia")),
        ('name="3"', ("name", "3")),
        ("name=a=b", ("name", "a=b")),
        ("storage=sqlite:///a.db", ("storage", "sqlite:///a.db")),
        ("milestones=[1, 2]", ("milestones", [1, 2])),
        ("day=2026-01-01", ("day", "2026-01-01")),
        ("name=1\nvalue2 = 2", ("name", "1\nvalue2 = 2")),
        ("clip=", ("clip", None)),
        ("head=none", ("head", None)),
        ('name="none"', ("name", "none")),
    ],
)
def test_an_override_word_is_read_as_toml_else_as_a_string(text: str, expected: tuple[str, object]) -> None:
    key, value = configs.parse_override(text)
    assert (key, value) == expected
    assert type(value) is type(expected[1])


@pytest.mark.parametrize("text", ["training.epochs", "=3", "a..b=3", "a b=3"])
def test_an_override_word_without_a_key_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected key=value"):
        configs.parse_override(text)


def test_a_toml_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(configs.to_toml(Run("ä", Training(7))), encoding="utf-8")
    assert configs.read_toml(Run, path) == Run("ä", Training(7))


def test_errors_of_a_toml_file_name_the_file_and_the_line(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    with pytest.raises(MissingError, match=r"run\.toml: there is no such file"):
        configs.read_toml(Run, path)
    path.write_text('name = "r"\ntraining = = 3\n')
    with pytest.raises(FormatError, match=r"run\.toml:2: not TOML"):
        configs.read_toml(Run, path)
    path.write_text('name = "r"\n\nname')
    with pytest.raises(FormatError, match=r"run\.toml:3: not TOML"):
        configs.read_toml(Run, path)
    path.write_bytes(b'name = "r"\n# \xff\n')
    with pytest.raises(FormatError, match=r"run\.toml:2: not UTF-8"):
        configs.read_toml(Run, path)
    path.write_text('name = "r"\n[training]\nepoch = 3\n')
    with pytest.raises(ConfigError, match=r"run\.toml\.training: unknown setting 'epoch'"):
        configs.read_toml(Run, path)
    with pytest.raises(MissingError, match="cannot be read"):
        configs.read_toml(Run, tmp_path)
