"""The parts a model can be made of, by name: built-in ones and those of other packages (`parts` says how they look)."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from dvae.errors import ConfigError
from dvae.models.parts import Aggregation, Decoder, Encoder, Plan, Readout
from dvae.models.settings import NoSettings
from dvae.registry import Registry

T = TypeVar("T")


@dataclass(frozen=True)
class Part(Generic[T]):
    """A kind of encoder, decoder, aggregation or readout: how it is built and what is known of it."""

    name: str
    builder: Callable[[Plan, Any], T]
    settings: type  # a frozen dataclass
    needs: tuple[str, ...]  # what a part that was built must have
    aggregates: bool = False
    order_free: bool | None = None
    reference: str = ""
    description: str = ""

    def build(self, plan: Plan, settings: object) -> T:
        """A part with fresh weights."""
        built = self.builder(plan, settings)
        lacking = next((name for name in self.needs if not hasattr(built, name)), None)
        if lacking is not None:
            raise ConfigError(f"{self.name} built a {type(built).__name__} without {lacking!r}; see dvae.models.parts")
        return built


class PartRegistry(Registry[Part[T]]):
    """Parts of one kind; what is registered, declared or named is a class, as `dvae.models.parts` describes it."""

    def __init__(self, noun: str, group: str, needs: tuple[str, ...], *, plain: bool = False) -> None:
        super().__init__(noun, group, self._part)
        self.needs, self.plain = needs, plain

    def canonical(self, given: Any) -> str:
        """The name to be saved: a built-in one, or the `package.module:name` of what was named or given."""
        if isinstance(given, str):
            self.get(given)
            if given in self._own or ":" in given:
                return given
            point = self._points()[given]
            return f"{point.module}:{point.attr}"
        if not hasattr(given, "__qualname__"):
            raise ConfigError(f"{self.noun}: expected a name, package.module:name or a class, got {given!r}")
        name, part = self.resolve(given)
        if "<" in name:
            raise ConfigError(f"the {self.noun} {name!r} can only be saved if it is defined at the top of a module")
        for own, known in self._own.items():
            if known.builder == part.builder:
                return own
        self._outside[name] = part  # the object itself, also where its module was changed and run again
        return name

    def _part(self, name: str, thing: Any) -> Part[T]:
        what = f"the {self.noun} {name!r}"
        if isinstance(thing, type):
            build = getattr(thing, "build", None)
            builder: Callable[[Plan, Any], T] = build if inspect.ismethod(build) else thing
        elif self.plain and callable(thing) and hasattr(thing, "blocks"):
            builder = _as_it_is(thing)
        else:
            raise ConfigError(f"{what} is not a class such as dvae.models.parts describes, but {thing!r}")
        settings = getattr(thing, "Settings", NoSettings)
        if not dataclasses.is_dataclass(settings) or not settings.__dataclass_params__.frozen:  # type: ignore[attr-defined]
            raise ConfigError(f"the Settings of {what} are not a frozen dataclass")
        return Part(
            what,
            builder,
            settings,
            self.needs,
            aggregates=bool(getattr(thing, "aggregates", False)),
            order_free=getattr(thing, "order_free", None),
            reference=str(getattr(thing, "reference", "")),
            description=(thing.__doc__ or "").strip().partition("\n")[0],
        )


def _as_it_is(thing: Any) -> Callable[[Plan, Any], Any]:
    return lambda plan, settings: thing


ENCODERS: PartRegistry[Encoder] = PartRegistry("encoder", "dvae.encoders", ("width", "blocks", "__call__"))
DECODERS: PartRegistry[Decoder] = PartRegistry(
    "decoder", "dvae.decoders", ("nll", "sample", "rows_at_once", "static_shapes")
)
AGGREGATIONS: PartRegistry[Aggregation] = PartRegistry(
    "aggregation", "dvae.aggregations", ("message", "propagate", "propagate_both", "propagate_in_rounds")
)
READOUTS: PartRegistry[Readout] = PartRegistry("readout", "dvae.readouts", ("blocks", "__call__"), plain=True)
