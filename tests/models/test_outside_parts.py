"""Parts from someone's own package: built, trained, saved and loaded like the built-in ones."""

from __future__ import annotations

import importlib
import itertools
import shutil
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

import dvae
from contracts.model_examples import EXACT, OWN_DAGS, check_gradients, graphs_of, losses, task_of
from dvae.errors import ConfigError, MissingError
from dvae.models import ENCODERS, VAE, build, model_config
from dvae.models.aggregation import GatedSum
from dvae.models.decoders.dvae import DvaeDecoder
from dvae.models.encoders.dvae import DvaeEncoder

SOURCE = Path(__file__).with_name("outside.py")
NUMBERS = itertools.count()


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of a package that dvae has never heard of."""
    package = f"someones_package_{next(NUMBERS)}"
    folder = tmp_path / "site" / package
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    shutil.copy(SOURCE, folder / "parts.py")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return importlib.import_module(f"{package}.parts")


# What differs from a built-in model: settings as words, settings as objects, the settings of the part itself
CASES: dict[str, tuple[str, dict[str, str], dict[str, object]]] = {
    "encoder": ("{}:CountEncoder+dvae", {"encoder": "CountEncoder"}, {"slope": 0.2}),
    "decoder": ("dvae+{}:IndependentDecoder", {"decoder": "IndependentDecoder"}, {"depth": 2}),
    "both": (
        "{}:CountEncoder+{}:IndependentDecoder",
        {"encoder": "CountEncoder", "decoder": "IndependentDecoder"},
        {"slope": 0.3, "depth": 2},
    ),
    "aggregation": ("dvae", {"aggregation": "MeanlessAggregation"}, {"decay": 0.9, "bidirectional": True}),
    "aggregation in rounds": ("dvae-smp", {"aggregation": "MeanlessAggregation"}, {"decay": 0.9, "rounds": 2}),
    "readout": ("dvae", {"readout": "GatedReadout"}, {"bidirectional": True}),
    "plain readout": ("dvae", {"readout": "last_state"}, {}),
    "all": (
        "{}:CountEncoder+dvae",
        {"encoder": "CountEncoder", "aggregation": "MeanlessAggregation"},
        {"slope": 0.3, "decay": 0.8},
    ),
}
every_case = pytest.mark.parametrize("case", CASES)


def by_name(case: str, outside: ModuleType, **sizes: object) -> VAE:
    name, parts, settings = CASES[case]
    slots = {key: f"{outside.__name__}:{value}" for key, value in parts.items() if key in ("aggregation", "readout")}
    name = name.replace("{}", outside.__name__)
    return build(name, task_of("own"), seed=0, **{"hidden": 6, "latent": 3, **settings, **slots, **sizes})


def by_object(case: str, outside: ModuleType) -> VAE:
    name, parts, settings = CASES[case]
    objects = {key: getattr(outside, value) for key, value in parts.items()}
    name = "dvae" if "{}" in name else name
    return build(name, task_of("own"), seed=0, hidden=6, latent=3, **settings, **objects)


@every_case
def test_names_and_objects_make_the_same_model(case: str, outside: ModuleType) -> None:
    named, given = by_name(case, outside), by_object(case, outside)
    assert named.config == given.config
    for key, value in CASES[case][2].items():
        assert getattr(given.config, key) == value
    for one, other in zip(named.state_dict().values(), given.state_dict().values(), strict=True):
        assert torch.equal(one, other)


@every_case
def test_gradients_are_right_and_no_graph_feels_the_others(case: str, outside: ModuleType) -> None:
    vae, batch = by_name(case, outside).double(), graphs_of(task_of("own"))
    check_gradients(vae, lambda: losses(vae, batch).sum())
    torch.testing.assert_close(losses(vae, batch), torch.cat([losses(vae, part) for part in batch.split(1)]), **EXACT)


@every_case
def test_training_lowers_the_loss_and_what_is_saved_comes_back(case: str, outside: ModuleType, tmp_path: Path) -> None:
    vae, run = by_name(case, outside, hidden=16, noise_scale=0.0), tmp_path / "run"
    result = dvae.fit(vae, OWN_DAGS * 2, run=run, epochs=15, batch_size=10, learning_rate=1e-2, progress=False)
    assert result.history[-1]["nll"] < 0.9 * result.history[0]["nll"]
    again, batch = dvae.load(run), graphs_of(vae.task)
    assert again.config == vae.config
    assert outside.__name__ in (run / "model.toml").read_text()
    assert torch.equal(losses(again.double(), batch), losses(vae.double(), batch))
    z = torch.zeros(4, 3)
    assert again.decode(z, seed=1, valid=True) == vae.decode(z, seed=1, valid=True)


@every_case
def test_loading_without_the_package_names_it(case: str, outside: ModuleType, tmp_path: Path) -> None:
    by_name(case, outside).save(tmp_path)
    path, package = tmp_path / "model.toml", outside.__name__.partition(".")[0]
    path.write_text(path.read_text().replace(package, "gone_package"))
    with pytest.raises(MissingError, match="needs the package 'gone_package', which is not installed here"):
        dvae.load(tmp_path)


def test_a_part_declared_by_an_installed_package_is_saved_by_its_path(
    outside: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = f"{outside.__name__}:CountEncoder"
    point = EntryPoint(name="count", value=path, group="dvae.encoders")
    monkeypatch.setattr("dvae.registry.entry_points", lambda group: [point] if group == point.group else [])
    assert ENCODERS.names()[-1] == "count"
    vae = build("count+svae", task_of("own"), hidden=6, latent=3, slope=0.3, seed=0)
    assert vae.config.name == f"{path}+svae"
    assert vae.config == model_config(f"{path}+svae", hidden=6, latent=3, slope=0.3)
    vae.save(tmp_path)
    monkeypatch.undo()
    monkeypatch.syspath_prepend(str(Path(str(outside.__file__)).parents[1]))
    assert dvae.load(tmp_path).config == vae.config


def test_an_aggregation_is_built_once_for_encoder_and_decoder(outside: ModuleType) -> None:
    vae = by_name("aggregation", outside)
    assert isinstance(vae.encoder, DvaeEncoder)
    assert isinstance(vae.decoder, DvaeDecoder)
    assert vae.encoder.aggregation is vae.decoder.aggregation
    assert vae.encoder.backward_aggregation is not vae.encoder.aggregation


def test_what_does_not_say_that_its_shapes_are_static_is_not_captured(outside: ModuleType) -> None:
    assert build("dvae", task_of("own"), hidden=6, latent=3).static_shapes
    for case in CASES:
        assert not by_name(case, outside).static_shapes, case


def test_a_built_in_class_is_known_by_its_name() -> None:
    vae = build("svae", task_of("own"), encoder=DvaeEncoder, aggregation=GatedSum, hidden=6, latent=3)
    assert vae.config == model_config("dvae+svae", aggregation="gated-sum", hidden=6, latent=3)


def test_an_object_of_a_class_is_refused(outside: ModuleType) -> None:
    readout = outside.GatedReadout(SimpleNamespace(hidden=6), None)
    with pytest.raises(ConfigError, match=r"readout: expected a name, package\.module:name or a class"):
        build("dvae", task_of("own"), readout=readout)


WRONG = {
    "{}:NoEncoder+dvae": "built a NoEncoder without 'width'; see dvae.models.parts",
    "{}:NOT_A_CLASS+dvae": "is not a class such as dvae.models.parts describes, but 3",
    "{}:Missing+dvae": "has no 'Missing'",
    "{}:CountEncoder": "there is no model",
    "{}:CountEncoder+": "there is no decoder ''",
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_a_part_is_refused(name: str, outside: ModuleType) -> None:
    with pytest.raises(ConfigError) as caught:
        build(name.replace("{}", outside.__name__), task_of("own"), hidden=6, latent=3)
    assert WRONG[name] in str(caught.value)


def test_a_part_that_cannot_be_found_again_is_refused(outside: ModuleType) -> None:
    class Local(outside.CountEncoder):  # type: ignore[name-defined, misc]
        """Defined inside a function."""

    with pytest.raises(ConfigError, match="can only be saved if it is defined at the top of a module"):
        build("dvae", task_of("own"), encoder=Local)


@dataclass(frozen=True)
class OtherDepth:
    depth: int = 7  # the decoder has another default


@dataclass(frozen=True)
class OtherHidden:
    hidden: int = 7


@dataclass(frozen=True)
class NoDefault:
    slope: float


@dataclass
class NotFrozen:
    slope: float = 0.1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (OtherDepth, "the setting 'depth' of .*IndependentDecoder.Settings is another than that of OtherDepth"),
        (OtherHidden, "'hidden' of .*OtherHidden has the name of one that every model has: rename it"),
        (NoDefault, "'slope' of .*NoDefault has no default"),
        (NotFrozen, "are not a frozen dataclass"),
    ],
)
def test_settings_that_cannot_stand_beside_the_others_are_refused(
    settings: type, words: str, outside: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside.CountEncoder, "Settings", settings)
    with pytest.raises(ConfigError, match=words):
        build("svae", task_of("own"), encoder=outside.CountEncoder, decoder=outside.IndependentDecoder)
