"""Settings of a model, each with its source. Defaults are the paper's text; `original` the original code's values.

Every model has the settings of `ModelConfig`. Those of its parts come on top, flat, as in the table `[model]` of a TOML
file. So every model has a class of settings of its own: `ModelConfig(name="dvae-smp", rounds=4)` makes one of it.
"""

from __future__ import annotations

import dataclasses
import difflib
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal, TypeVar

from dvae.config import ChosenBySettings, check, check_types
from dvae.errors import ConfigError
from dvae.models.catalogue import canonical_name, part_names
from dvae.models.registry import AGGREGATIONS, DECODERS, ENCODERS, READOUTS, PartRegistry
from dvae.registry import suggestion

Preset = Literal["paper", "original"]  # a run knows a third, auto (dvae.runs.auto)
PRESETS: dict[str, dict[str, float]] = {
    "paper": {},
    "original": {"noise_scale": 0.01},
}
DEFAULT_NAME = "dvae"
MAX_WIDTH, MAX_DEPTH = 1_000_000, 1_000  # what a setting may ask for; memory ends long before
DEPTHS = ("layers", "rounds")


def preset_settings(name: str) -> dict[str, float]:
    """The settings of a model that a preset changes."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; {suggestion(name, ['auto', *PRESETS])}")
    return PRESETS[name]


SLOTS: dict[str, PartRegistry[Any]] = {"aggregation": AGGREGATIONS, "readout": READOUTS}  # settings that name parts
S = TypeVar("S")


@dataclass(frozen=True)
class ModelConfig(ChosenBySettings):
    """A model is its name, its settings and its task. None means: what the task suggests (`ModelHints`)."""

    name: str = DEFAULT_NAME  # as `dvae models` lists it, or ENCODER+DECODER
    hidden: int = 501  # paper, appendix D
    latent: int = 56  # paper, appendix D
    kl_weight: float = 0.005  # alpha in the paper, appendix D
    noise_scale: float = 1.0  # posterior deviations of noise in training; the original code uses 0.01
    features: Literal["one-hot", "learned", "given"] = "one-hot"  # what a model sees of a node's type
    feature_width: int = 16  # of learned features
    given_features: tuple[tuple[float, ...], ...] | None = None  # one vector per type, start and end first
    head: Literal["linear", "one-to-one"] | None = None  # how features are read off latents (`dvae.models.heads`)
    head_weight: float | None = None  # of their loss; None: 1 for bits; for other features 0.01, one-to-one 0.1
    targets: tuple[str, ...] | None = None  # numbers known of DAGs that latents must tell too, such as "score"
    target_weight: float | None = None  # of their loss; None: 1
    conditions: tuple[str, ...] | None = None  # properties of DAGs that decoding is given (`dvae.models.conditions`)

    settings_classes: ClassVar[tuple[type, ...]] = ()  # of the model's parts

    def __new__(cls, name: str = DEFAULT_NAME, *values: Any, **settings: Any) -> ModelConfig:
        chosen = cls.class_for({"name": name, **settings}) if cls is ModelConfig else cls
        made: ModelConfig = object.__new__(chosen)
        return made

    @classmethod
    def class_for(cls, mapping: Mapping[str, object]) -> type[Any]:
        """The class of the settings of the model that `mapping` names; raises where it has no such setting."""
        name = mapping.get("name", DEFAULT_NAME)
        if not isinstance(name, str):
            raise ConfigError(f"the name of a model is a string, not {name!r}")
        encoder, decoder = part_names(name)
        classes = [ENCODERS.get(encoder).settings, DECODERS.get(decoder).settings]
        slots = SLOTS.keys() & {field.name for settings in classes for field in dataclasses.fields(settings)}
        for slot in sorted(slots):
            given = mapping.get(slot)
            if isinstance(given, str) or callable(given):
                classes.append(SLOTS[slot].get(SLOTS[slot].canonical(given)).settings)
        # A part without settings adds nothing: naming it leaves the class what it was.
        made = _merged(tuple(dict.fromkeys(one for one in classes if dataclasses.fields(one))))
        known = [field.name for field in dataclasses.fields(made)]
        for key in mapping:
            if key not in known:
                raise ConfigError(f"the model {name!r} has no setting {key!r}; {_advice(key, known)}")
        return made

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", canonical_name(self.name))
        for slot, registry in SLOTS.items():
            if getattr(self, slot, None) is not None:
                object.__setattr__(self, slot, registry.canonical(getattr(self, slot)))
        check_types(self)
        named = {key: value for key, value in vars(self).items() if key in ("name", *SLOTS) and value is not None}
        check(
            type(self) is self.class_for(named),
            f"these are settings of another model than {self.name!r}: change a name with dvae.config.replace",
        )
        for setting, value in vars(self).items():
            most = MAX_DEPTH if setting in DEPTHS else MAX_WIDTH
            check(type(value) is not int or value <= most, f"{setting} must be at most {most:,}, not {_short(value)}")
        check(self.hidden >= 1, f"hidden must be at least 1, not {self.hidden}")
        check(self.latent >= 1, f"latent must be at least 1, not {self.latent}")
        check(self.kl_weight >= 0, f"kl_weight must not be negative: {self.kl_weight}")
        check(self.noise_scale >= 0, f"noise_scale must not be negative: {self.noise_scale}")
        check(self.feature_width >= 1, f"feature_width must be at least 1, not {self.feature_width}")
        check(
            (self.features == "given") == (self.given_features is not None),
            "given_features goes with features = 'given'",
        )
        for name, weight in (("head", self.head_weight), ("target", self.target_weight)):
            check(weight is None or weight > 0, f"{name}_weight must be positive: {weight}")
        check(self.head is not None or self.head_weight is None, "head_weight goes with a head: linear or one-to-one")
        check(self.targets is not None or self.target_weight is None, "target_weight goes with targets")
        check(self.targets is None or len(set(self.targets)) == len(self.targets) > 0, "targets are names, each once")
        wanted = self.conditions
        check(wanted is None or len(set(wanted)) == len(wanted) > 0, "conditions are names of properties, each once")
        for settings in self.settings_classes:
            self.part(settings)

    def part(self, settings: type[S]) -> S:
        """The settings of one part; those that this class does not have keep their defaults."""
        names = [field.name for field in dataclasses.fields(settings)]  # type: ignore[arg-type]
        return settings(**{name: getattr(self, name) for name in names if hasattr(self, name)})

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (vars(self),)  # the class of a model's settings has no name to be found by


def model_config(name: str = DEFAULT_NAME, **settings: Any) -> ModelConfig:
    """The settings of the model `name`; an aggregation or a readout may be given as its class."""
    return ModelConfig(name=name, **settings)


def _restored(settings: dict[str, Any]) -> ModelConfig:
    return model_config(**settings)


@cache
def _merged(classes: tuple[type, ...]) -> type[ModelConfig]:
    """`ModelConfig` and the fields of `classes`; what two of them share must be one and the same."""
    base = {field.name for field in dataclasses.fields(ModelConfig)}
    found: dict[str, tuple[type, object, object]] = {}
    fields: list[tuple[str, Any, Any]] = []
    for settings in classes:
        hints = typing.get_type_hints(settings)
        for field in dataclasses.fields(settings):
            where = f"the setting {field.name!r} of {settings.__module__}.{settings.__qualname__}"
            check(field.name not in base, f"{where} has the name of one that every model has: rename it")
            default = field.default if field.default is not dataclasses.MISSING else field.default_factory
            check(default is not dataclasses.MISSING, f"{where} has no default")
            kind = (hints[field.name], default)
            other, *before = found.setdefault(field.name, (settings, *kind))
            if tuple(before) != kind:
                raise ConfigError(f"{where} is another than that of {other.__qualname__}: rename one of them")
            if other is settings:
                fields.append((field.name, hints[field.name], _copied(field)))
    return dataclasses.make_dataclass(
        "ModelConfig", fields, bases=(ModelConfig,), frozen=True, namespace={"settings_classes": classes}
    )


def _copied(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return dataclasses.field(default=field.default)
    assert field.default_factory is not dataclasses.MISSING
    return dataclasses.field(default_factory=field.default_factory)


def _short(number: object) -> str:
    """A number that may be too long to read."""
    return f"about 2**{number.bit_length()}" if isinstance(number, int) and number.bit_length() > 64 else str(number)


def _advice(key: str, known: list[str]) -> str:
    close = difflib.get_close_matches(key, known, n=1)
    names = ", ".join(sorted(known))
    return f"did you mean {close[0]!r}? It has {names}" if close else f"it has {names}"
